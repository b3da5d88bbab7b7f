"""The dialogue browser's data: an index of all dialogues, and the dialogues themselves as compact JSON."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pytest_llmkg.analysis.dialogue import headline
from pytest_llmkg.reporting.formats import visible
from pytest_llmkg.reporting.mistakes import kind_names
from pytest_llmkg.reporting.sources import Key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.records import Answer, FailedCall, TaskInfo, Transcript
    from pytest_llmkg.reporting.dialogues import CaseView, CutText, DialogueView, TurnView
    from pytest_llmkg.reporting.views import Report

__all__ = ["OUTCOMES", "compact", "dialogue_index", "packed", "packed_case", "script_safe"]

OUTCOMES = {"scored": "s", "unparsable": "u", "no_answer": "n", "error": "e"}
"""One letter for each outcome, in the index."""


def script_safe(text: str) -> str:
    """JSON text that may stand in a script element: without ``<``, ``>``, ``&`` and ``'``, which only strings hold."""
    for char in "<>&'":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def compact(value: object) -> str:
    """``value`` as JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def packed_case(view: CaseView) -> str:
    """A case as ``[id, references, fields]``."""
    references, fields = ([[name, *_cut(text)] for name, text in rows] for rows in (view.references, view.fields))
    return compact([view.id, references, fields])


def packed(view: DialogueView) -> str:
    """``view`` as JSON. Texts of others are values only, never names, so that none can be taken for a property."""
    data: dict[str, Any] = {
        "l": view.label,
        "c": view.case,
        "m": view.model,
        "i": view.iteration,
        "o": view.outcome,
        "b": view.started,
        "d": round(view.seconds, 2),
        "t": [_turn(turn) for turn in view.turns],
    }
    optional: dict[str, Any] = {
        "e": view.error,
        "a": view.scores,
        "r": view.reference_name,
        "u": None if view.unevaluated is None else _cut(view.unevaluated),
        "x": [_call(call) for call in view.failed_calls],
    }
    return compact(data | {key: value for key, value in optional.items() if value})


def _turn(view: TurnView) -> dict[str, Any]:
    answer = view.details
    data: dict[str, Any] = {
        "p": [[role, *_cut(text)] for role, text in view.messages],
        "a": _cut(view.answer),
        "o": view.outcome,
        "s": view.scores,
        "d": round(answer.seconds, 2),
    }
    optional: dict[str, Any] = {
        "g": None if view.reasoning is None else _cut(view.reasoning),
        "x": None if view.extracted is None else _cut(view.extracted),
        "i": [[name, *_cut(text)] for name, text in view.info],
        "n": view.notes,
        "k": [[name, *_cut(text)] for name, text in view.told],
        "h": view.feedback,
        "q": _facts(answer),
        "w": [_call(call) for call in answer.failed_calls],
    }
    return data | {key: value for key, value in optional.items() if value}


def _cut(text: CutText) -> list[Any]:
    return [text.text] if text.length is None else [text.text, text.length]


def _facts(answer: Answer) -> list[list[str]]:
    """What is known of a call beside its texts, as pairs."""
    usage = answer.usage
    found = {
        "served by": answer.served_model,
        "stopped": answer.stop_reason,
        "tokens in": usage.input_tokens,
        "of these cached": usage.cached_tokens,
        "tokens out": usage.output_tokens,
        "of these reasoning": usage.reasoning_tokens,
        "cost": None if usage.cost is None else f"${usage.cost:.6f}",
        "settings refused": ", ".join(answer.dropped) or None,
        "from cache": "yes" if answer.from_cache else None,
    }
    known = [[name, visible(str(value))] for name, value in found.items() if value is not None]
    return known + [[f"{visible(stage)} (seconds)", f"{seconds:.2f}"] for stage, seconds in answer.stages.items()]


def _call(call: FailedCall) -> list[Any]:
    return [visible(call.error), call.status, round(call.seconds, 2)]


def dialogue_index(report: Report) -> dict[str, Any]:
    """All dialogues in columns: one entry in ``groups`` for each model and label that have any, in report order."""
    models = {view.row.model: place for place, view in enumerate(report.models)}
    labels = {view.label: place for place, view in enumerate(report.labels)}
    cases: dict[str, int] = {}
    infos = {info.name: info for info in report.tasks}
    kinds = kind_names(report)
    held = [(key, list(found)) for key, found in groupby(report.transcripts, key=lambda t: (t.model, t.label))]
    groups = [
        {"m": models[model], "l": labels[label], **_columns(found, infos, cases), **_kinds(found, report, kinds)}
        for (model, label), found in held
    ]
    return {
        "models": [visible(name) for name in models],
        "labels": [[visible(view.label), visible(view.headline), visible(view.task)] for view in report.labels],
        "groups": groups,
        "cases": list(cases),
        **({"kinds": list(kinds)} if kinds else {}),
    }


def _kinds(found: Sequence[Transcript], report: Report, names: Sequence[str]) -> dict[str, list[int]]:
    """By dialogue the kinds of errors of its final answer, as a sum of 2 to the power of each one's place."""
    of = report.mistakes.kinds
    kinds = [of.get(Key(t.label, t.case, t.model, t.iteration), ()) for t in found]
    column = [sum(1 << names.index(name) for name in one) for one in kinds]
    return {"r": column} if any(column) else {}


def _columns(
    found: Sequence[Transcript], infos: Mapping[str, TaskInfo], cases: dict[str, int]
) -> dict[str, list[Any] | str]:
    scores = [headline(t, infos[t.task]) if t.task in infos else None for t in found]
    return {
        "c": [cases.setdefault(visible(t.case), len(cases)) for t in found],
        "i": [t.iteration for t in found],
        "o": "".join(OUTCOMES[t.outcome] for t in found),
        "s": [None if score is None else round(score, 4) for score in scores],
        "t": [len(t.turns) for t in found],
        "d": [round(t.seconds, 1) for t in found],
        "k": [_tokens(t) for t in found],
        "x": [len(t.failed_calls) + sum(len(turn.answer.failed_calls) for turn in t.turns) for t in found],
    }


def _tokens(transcript: Transcript) -> int | None:
    known = [n for turn in transcript.turns if (n := turn.answer.usage.output_tokens) is not None]
    return sum(known) if known else None
