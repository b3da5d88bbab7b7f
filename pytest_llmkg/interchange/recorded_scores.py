"""Records of LLM-KG-Bench as transcripts with the scores that they hold, without scoring anything again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_llmkg.interchange import GENERATOR
from pytest_llmkg.interchange.layout_3 import CONVERTERS
from pytest_llmkg.plain import Json
from pytest_llmkg.records import Answer, Evaluation, Number, Outcome, Prompt, ScoreSet, Transcript, Turn

__all__ = ["RecordedScores", "recorded_scores"]

# Tasks of 2023 that this project calls otherwise.
_RENAMED = {"SyntheticDatasetGeneration": "TurtleSampleGeneration"}
_DURATION = re.compile(r"(?:(\d{1,5}) days?, )?(\d{1,2}):(\d{2}):(\d{2}(?:\.\d+)?)")
_RULES = "published"
# No score is near it; means of larger whole numbers would leave the range of floats.
_TOO_LARGE = 10**100

Record = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class RecordedScores:
    """What a result file holds.

    Attributes:
        transcripts: its dialogues in order; those without any score ended as an error.
        skipped: how many records could not be read, by reason.
    """

    transcripts: tuple[Transcript, ...]
    skipped: Mapping[str, int]


def recorded_scores(records: Iterable[Record]) -> RecordedScores:
    """The dialogues of ``records`` with their recorded scores.

    The k-th record of a model, label and case is iteration k. A case is named by its ``uid`` or ``taskUid``, else by
    its label (those tasks have one case for each label). Outcomes are ``no_answer`` for blank answers, else
    ``scored``: records do not tell which answers could not be read. Never raises for what a record holds.
    """
    transcripts: list[Transcript] = []
    skipped, seen = Counter[str](), Counter[tuple[str, str, str]]()
    for record in records:
        info = _table(record, "taskInfo")
        task = info.get("taskId")
        if not isinstance(task, str) or not task:
            skipped["which do not name their task"] += 1
            continue
        label, model, case = str(info.get("taskLabel") or task), _model(record), _case(record)
        seen[model, label, case or label] += 1
        transcripts.append(_transcript(record, model, label, case or label, seen[model, label, case or label]))
    return RecordedScores(tuple(transcripts), dict(skipped))


def _transcript(record: Record, model: str, label: str, case: str, iteration: int) -> Transcript:
    turns = _turns(record)
    return Transcript(
        case=case,
        label=label,
        task=_task(_table(record, "taskInfo")),
        model=model,
        iteration=iteration,
        turns=turns,
        started=str(record.get("startTime") or ""),
        seconds=_seconds(record.get("duration")),
        error=None if turns else "the record holds no scores",
    )


def _task(info: Record) -> str:
    task = str(info["taskId"])
    if str(info.get("generator") or "").startswith(GENERATOR):
        return task
    return CONVERTERS[task][0] if task in CONVERTERS else _RENAMED.get(task, task)


def _model(record: Record) -> str:
    """The recorded model id without the parts that it repeats (``connector--name--name``)."""
    return "--".join(dict.fromkeys(str(record.get("modelId") or "unknown").split("--")))


def _case(record: Record) -> str | None:
    data = _table(record, "taskData")
    name = data.get("uid") or data.get("taskUid")
    return str(name) if name else None


def _turns(record: Record) -> tuple[Turn, ...]:
    """One turn for each set of recorded scores, with the prompt and answer that belong to it."""
    scores, info = _table(record, "scores"), _table(record, "info")
    numbered = [str(number) for number in range(len(scores)) if isinstance(scores.get(str(number)), dict)]
    sets = [_numbers(_table(scores, number)) for number in numbered] if numbered else [_numbers(scores)]
    infos = [_table(info, number) for number in numbered] if numbered else [info]
    if not any(sets):
        return ()
    signature = _signature(_table(record, "taskInfo"))
    prompts, answers = _texts(record, "prompt"), _texts(record, "response")
    found = []
    for number, (values, details) in enumerate(zip(sets, infos, strict=True)):
        answer = answers[number] if number < len(answers) else None
        outcome: Outcome = "no_answer" if answer is not None and not answer.strip() else "scored"
        prompt = Prompt.user(prompts[number]) if number < len(prompts) else Prompt(())
        evaluation = Evaluation(outcome, (ScoreSet(signature, values),), details)
        found.append(Turn(prompt, Answer(answer or ""), evaluation))
    return tuple(found)


def _signature(info: Record) -> str:
    parts = {"task": info.get("taskId"), "version": info.get("version"), "rules": _RULES, "engines": "recorded"}
    return "|".join(f"{key}:{str(value).replace('|', ' ')}" for key, value in parts.items())


def _numbers(values: Record) -> dict[str, Number]:
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _TOO_LARGE
    }


def _texts(record: Record, role: str) -> list[str]:
    entries = record.get("interactions")
    return [
        str(entry[2])
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, list) and len(entry) > 2 and entry[0] == role
    ]


def _seconds(duration: Json) -> float:
    match = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    if match is None:
        return 0.0
    days, hours, minutes, seconds = match.groups()
    return int(days or 0) * 86400 + int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def _table(record: Record, name: str) -> dict[str, Json]:
    value = record.get(name)
    return value if isinstance(value, dict) else {}
