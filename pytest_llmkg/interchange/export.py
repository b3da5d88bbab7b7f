"""This program's dialogues as records in the layout of LLM-KG-Bench 3."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest_llmkg
from pytest_llmkg.interchange import GENERATOR
from pytest_llmkg.plain import Json, to_plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.records import Case, TaskInfo, Transcript

__all__ = ["exported_record"]


def exported_record(
    transcript: Transcript, case: Case, task: TaskInfo, scores: Mapping[str, Json], info: Mapping[str, Json]
) -> dict[str, Json]:
    """One record: what was asked and answered, and how it was scored.

    ``taskInfo.generator`` tells readers that the task is this program's: its cases, prompts and versions are not those
    of LLM-KG-Bench. ``taskData`` is the whole case, so that ``llmkg rescore`` can score the record again. Times of
    single messages are worked out from the start and the seconds of the answers.
    """
    data: dict[str, Json] = {"uid": case.id, **{name: to_plain(value) for name, value in case.data.items()}}
    interactions = _interactions(transcript)
    parameters = {"graphFormat": data["format"]} if "format" in data else {}
    return {
        "startTime": _moment(_start(transcript)),
        "reevalOriginalTime": None,
        "modelId": transcript.model,
        "taskInfo": {
            "taskId": task.name,
            "taskLabel": transcript.label,
            "version": task.version,
            "taskParameter": parameters,
            "gitCommit": None,
            "generator": f"{GENERATOR} {pytest_llmkg.__version__}",
            "condensedTaskData": data,
        },
        "taskSizeInfo": {
            "targetSize": None,
            "estimatedSize": None,
            "actualSize": sum(len(str(text)) for _, _, text in interactions),
        },
        "scores": dict(scores),
        "info": dict(info),
        "taskData": data,
        "interactions": [[role, time, text] for role, time, text in interactions],
        "duration": str(timedelta(seconds=transcript.seconds)),
    }


def _interactions(transcript: Transcript) -> list[tuple[str, str, str]]:
    """Role, time and text; several messages of one turn are one prompt, since the layout has one for each answer."""
    found, now = [], _start(transcript)
    for turn in transcript.turns:
        found.append(("prompt", _moment(now), "\n\n".join(message.text for message in turn.prompt.messages)))
        now += timedelta(seconds=turn.answer.seconds)
        found.append(("response", _moment(now), turn.answer.text))
    return found


def _start(transcript: Transcript) -> datetime:
    try:
        started = datetime.fromisoformat(transcript.started)
    except ValueError:
        started = datetime.fromtimestamp(0, UTC)
    return started.astimezone(UTC).replace(tzinfo=None) if started.tzinfo else started


def _moment(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")
