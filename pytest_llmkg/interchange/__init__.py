"""LLM-KG-Bench result records in and out.

Layout 3 of those files is a list of records, each with ``taskInfo``, ``taskData``, ``interactions``, ``scores`` and
``info``. Files of this program in that layout (``llmkg export``) say so in ``taskInfo`` and hold the whole case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pytest_llmkg.contracts import GraphText
from pytest_llmkg.interchange.layout_3 import CONVERTERS, MissingGraphError, Source
from pytest_llmkg.interchange.layouts_2023 import NOT_COMPUTED, case_of_2023
from pytest_llmkg.plain import Json
from pytest_llmkg.records import Case

__all__ = ["GENERATOR", "Reading", "RecordedDialogue", "differences", "recorded_dialogue", "with_scores"]

GENERATOR = "pytest-llmkg"
"""What ``taskInfo.generator`` begins with in files that this program wrote."""

_BLANK_NODE = re.compile(r"_:\w+")
_KIND_SHOWN = 120
# Words near the start of a hint that tell its kind, in published runs and in ours.
_KINDS = {
    "syntax": ("syntax error", "cannot be parsed", "does not parse", "holds no fenced code block"),
    "content": ("not the expected", "does not state the facts"),
    "format": ("formatting", "more of the text than"),
    "empty": ("empty result", "finds nothing"),
}

Record = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Reading:
    """How records are read.

    Attributes:
        graphs: graphs that no record holds, by the name at the end of the task id (``Beastiary``).
        keep_timeouts: take a recorded time-out as the result of its query instead of running it.
    """

    graphs: Mapping[str, GraphText] = field(default_factory=dict)
    keep_timeouts: bool = True


@dataclass(frozen=True, slots=True)
class RecordedDialogue:
    """A record as a case of this project's task; ``skipped`` says why it is none.

    Attributes:
        label: the task variant.
        case: what was asked.
        answers: the answers, in order.
        hints: the kind of hint that followed each answer; empty when its text tells none, None at the end.
        skipped: why the record cannot be scored.
        not_computed: recorded scores for which the record lacks the means.
        own: whether this program wrote the record.
    """

    label: str
    case: Case | None
    answers: tuple[str, ...] = ()
    hints: tuple[str | None, ...] = ()
    skipped: str | None = None
    not_computed: tuple[str, ...] = ()
    own: bool = False


def recorded_dialogue(record: Record, reading: Reading | None = None) -> RecordedDialogue:
    """``record`` as a case of one of this project's tasks, or the reason why it is skipped."""
    try:
        info = _table(record, "taskInfo")
        if "taskLabel" not in info and "taskId" in info:
            return _dialogue_of_2023(record, _text(info, "taskId"))
        label, task, version = (_text(info, key) for key in ("taskLabel", "taskId", "version"))
        messages = [_message(entry) for entry in _list(record, "interactions")]
        own = str(info.get("generator", "")).startswith(GENERATOR)
        if not own and task not in CONVERTERS:
            return RecordedDialogue(label, None, skipped=f"task {task!r} is not known")
        if not own and version not in CONVERTERS[task][1]:
            return RecordedDialogue(label, None, skipped=f"version {version!r} of task {task!r} is not known")
        answers = tuple(text for role, text in messages if role == "response")
        if not answers:
            return RecordedDialogue(label, None, skipped="the record holds no answer")
        case = _own_case(record, task, label) if own else _case(record, task, label, reading or Reading())
        return RecordedDialogue(label, case, answers, _hints(messages, len(answers)), own=own)
    except MissingGraphError as error:
        return RecordedDialogue(label, None, skipped=str(error))
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        shown = record.get("taskInfo")
        label = str(shown.get("taskLabel")) if isinstance(shown, dict) else "?"
        return RecordedDialogue(label, None, skipped=f"the record is not complete: {error!r}")


def _case(record: Record, task: str, label: str, reading: Reading) -> Case:
    data, info = _table(record, "taskData"), record.get("info")
    turns = list(info.values()) if isinstance(info, dict) else []
    prompt = _message(_list(record, "interactions")[0])[1]
    tables = [turn for turn in turns if isinstance(turn, dict)]
    name, _, convert = CONVERTERS[task]
    fields = convert(Source(data, tables, prompt, reading.graphs, reading.keep_timeouts))
    identifier = data.get("uid") or data.get("taskUid") or label
    return Case(str(identifier), name, label, fields)


def _own_case(record: Record, task: str, label: str) -> Case:
    data = dict(_table(record, "taskData"))
    identifier = data.pop("uid")
    return Case(str(identifier), task, label, data)


def _dialogue_of_2023(record: Record, label: str) -> RecordedDialogue:
    try:
        case, answer = case_of_2023(record)
    except ValueError as error:
        return RecordedDialogue(label, None, skipped=str(error))
    return RecordedDialogue(label, case, (answer,), (None,), not_computed=tuple(NOT_COMPUTED.get(label, ())))


def _message(entry: Json) -> tuple[str, str]:
    """Role and text of an interaction, which is a list of role, time and text."""
    if not isinstance(entry, list) or len(entry) < 3 or not isinstance(entry[2], str):
        raise TypeError("an interaction is no list of role, time and text")
    return str(entry[0]), entry[2]


def _hints(messages: list[tuple[str, str]], answers: int) -> tuple[str | None, ...]:
    prompts = [text for role, text in messages if role == "prompt"][1:]
    kinds = [_kind(text[:_KIND_SHOWN]) for text in prompts[:answers]]
    return (*kinds, *[None] * (answers - len(kinds)))


def _kind(hint: str) -> str:
    return next((kind for kind, marks in _KINDS.items() if any(mark in hint for mark in marks)), "")


def with_scores(record: Record, scores: Mapping[str, Json], info: Mapping[str, Json]) -> dict[str, Json]:
    """``record`` with other scores and info; all else, and the order of its fields, stays as it is."""
    return {**record, "scores": dict(scores), "info": dict(info)}


def differences(recorded: Json, recomputed: Json, tolerance: float = 1e-9) -> tuple[int, list[str]]:
    """How many values of ``recorded`` are met, and the paths of those that are not (also of superfluous ones).

    A list counts as one value. The order of ``answerSet`` is arbitrary in the files and does not count, nor do order
    and blank node labels of ``parsableTriples``.
    """
    if isinstance(recorded, dict) and isinstance(recomputed, dict):
        met, missed = 0, [f".{key}" for key in recomputed if key not in recorded]
        for key, value in recorded.items():
            if key not in recomputed:
                missed.append(f".{key}")
                continue
            order = _ORDERS.get(key, _as_is)
            more, below = differences(order(value), order(recomputed[key]), tolerance)
            met, missed = met + more, missed + [f".{key}{path}" for path in below]
        return met, missed
    if recorded == recomputed or _are_near(recorded, recomputed, tolerance):
        return 1, []
    return 0, [f"={recorded!r:.60}!={recomputed!r:.60}"]


def _are_near(one: Json, other: Json, tolerance: float) -> bool:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return False
    try:
        return abs(one - other) <= tolerance
    except OverflowError:  # a whole number of hundreds of digits against a float
        return False


def _as_is(value: Json) -> Json:
    return value


def _sorted(value: Json) -> Json:
    return sorted(value, key=str) if isinstance(value, list) else value


def _rows(value: Json) -> Json:
    return [*sorted(_BLANK_NODE.sub("_:", value).split("\n"))] if isinstance(value, str) else value


_ORDERS: Mapping[str, Callable[[Json], Json]] = {"answerSet": _sorted, "parsableTriples": _rows}


def _table(record: Record, key: str) -> Mapping[str, Json]:
    value = record[key]
    if not isinstance(value, dict):
        raise TypeError(f"{key} is no table")
    return value


def _list(record: Record, key: str) -> list[Json]:
    value = record[key]
    if not isinstance(value, list):
        raise TypeError(f"{key} is no list")
    return value


def _text(record: Record, key: str) -> str:
    value = record[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is no text")
    return value
