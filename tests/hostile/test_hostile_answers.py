"""Every hostile answer through every task, the run file, rescoring and all reports."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.contracts import GraphText
from pytest_llmkg.plain import to_plain
from pytest_llmkg.rescore import rescore_transcript
from pytest_llmkg.store import FILE_NAME, RunWriter, read_run
from tests.builders import make_header
from tests.hostile.answers import ANSWERS, Hostile
from tests.hostile.checks import bad_scores, check_reports, check_run_file
from tests.hostile.conftest import LIMITS, Workshop
from tests.hostile.watching import peak_of

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.records import Transcript
    from pytest_llmkg.store import Run

OUTCOMES = {"scored", "unparsable", "no_answer"}
# Calls of the sandbox in one turn, at most; each may use up its limit. A machine may be busy besides.
CALLS = 6
BUSY_SECONDS = 120
# What this process may take on top of what it held before the first answer, in bytes: answers have up to 4 MB each,
# and every turn of every dialogue of a group is held until its reports are written.
OWN_MEMORY = 1024**3
# A worker's libraries, and what the limit of its address space leaves out.
WORKER_MEMORY = LIMITS.memory_bytes + 300 * 1024**2

posix = pytest.mark.skipif(os.name != "posix", reason="needs named pipes")


def test_the_corpus_is_large_and_says_what_each_answer_attacks() -> None:
    assert len(ANSWERS) >= 60
    assert len({answer.name for answer in ANSWERS}) == len(ANSWERS)
    assert all("\n" not in answer.attacks and answer.attacks.strip() for answer in ANSWERS)
    texts = {answer.build("http://127.0.0.1:9/") for answer in ANSWERS}
    assert len(texts) == len(ANSWERS), "no two are the same"


def test_all_tasks_are_there(workshop: Workshop) -> None:
    assert {case.task for case in workshop.cases} == set(workshop.tasks.names())


def test_the_watch_would_see_an_attempt(workshop: Workshop) -> None:
    assert workshop.kg.check_query("ASK {}").form == "ASK"
    assert workshop.notes.read() == []
    assert workshop.listener.counted() == 0
    with workshop.guard.on(), pytest.raises(PermissionError):
        workshop.listener.counted()
    assert workshop.guard.attempts.pop().startswith("socket.")


def groups() -> list[tuple[Hostile, ...]]:
    """All answers: long ones alone, the others by ten, which share one run file and one set of reports."""
    alone = [answer for answer in ANSWERS if re.match("size-|.*(million|huge)", answer.name)]
    others = [answer for answer in ANSWERS if answer not in alone]
    return [(answer,) for answer in alone] + [tuple(others[at : at + 10]) for at in range(0, len(others), 10)]


def test_every_answer_is_in_one_group() -> None:
    assert sorted(answer.name for group in groups() for answer in group) == sorted(answer.name for answer in ANSWERS)


@pytest.mark.parametrize("group", groups(), ids=lambda group: group[0].name)
def test_an_answer_through_everything(group: tuple[Hostile, ...], workshop: Workshop, tmp_path: Path) -> None:
    transcripts: list[Transcript] = []
    with workshop.guard.on():
        for answer in group:
            text, begun = answer.build(workshop.listener.url), time.monotonic()
            held = workshop.dialogues(text, answer.name)
            check_dialogues(held, time.monotonic() - begun)
            transcripts += held
            assert workshop.guard.attempts == [], answer.name
            assert workshop.notes.read() == [], answer.name
        run = stored(workshop, transcripts, tmp_path)
        assert [to_plain(t) for t in run.transcripts] == [to_plain(t) for t in transcripts]
        assert changed(run.transcripts, rescored(workshop, run)) == []
        check_reports(run)
    assert workshop.guard.attempts == []
    assert workshop.notes.read() == []
    assert workshop.listener.counted() == 0
    assert workshop.memory.peak < WORKER_MEMORY
    assert peak_of() - workshop.peak_before < OWN_MEMORY


def check_dialogues(transcripts: tuple[Transcript, ...], took: float) -> None:
    assert [t.error for t in transcripts if t.error is not None] == []
    assert {turn.evaluation.outcome for t in transcripts for turn in t.turns} <= OUTCOMES
    assert [line for t in transcripts for line in bad_scores(t)] == []
    turns = sum(len(t.turns) for t in transcripts)
    assert took < turns * CALLS * (LIMITS.parse_seconds + LIMITS.query_seconds) + BUSY_SECONDS


def stored(workshop: Workshop, transcripts: list[Transcript], directory: Path) -> Run:
    models = dict.fromkeys(transcript.model for transcript in transcripts)
    header = make_header(*models, tasks=tuple(workshop.tasks.get(name).info for name in workshop.tasks.names()))
    with RunWriter(directory / FILE_NAME) as writer:
        writer.header(header)
        for case in workshop.cases:
            writer.case(case)
        for transcript in transcripts:
            writer.transcript(transcript)
    check_run_file(directory / FILE_NAME, len(transcripts))
    return read_run(directory)


def rescored(workshop: Workshop, run: Run) -> list[Transcript]:
    cases = {(case.label, case.id): case for case in workshop.cases}
    return [
        rescore_transcript(workshop.tasks.get(t.task), cases[t.label, t.case], t, workshop.kg) for t in run.transcripts
    ]


def changed(before: tuple[Transcript, ...], after: list[Transcript]) -> list[str]:
    return [
        f"{old.model}: {old.label} turn {number}: {name}"
        for old, new in zip(before, after, strict=True)
        for number, (one, other) in enumerate(zip(old.turns, new.turns, strict=True))
        for name, same in (
            ("scores", one.evaluation.score_sets == other.evaluation.score_sets),
            ("outcome", one.evaluation.outcome == other.evaluation.outcome),
            ("info", one.evaluation.info == other.evaluation.info),
            ("feedback", one.feedback == other.feedback),
        )
        if not same
    ]


def test_afterwards_the_sandboxes_still_work(workshop: Workshop) -> None:
    graph = GraphText("<a:a> <a:b> 1 .", "turtle")
    assert workshop.kg.run_query(graph, "ASK { ?s ?p 1 }", {}).boolean is True
    assert dataclasses.asdict(workshop.kg.check_rdf(graph))["error"] is None
