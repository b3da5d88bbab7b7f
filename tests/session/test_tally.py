"""Counts for the progress lines, beside a recount from all transcripts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.records import Answer, FailedCall, ModelSpec, Transcript, Usage
from pytest_llmkg.session.tally import Count, Tally
from pytest_llmkg.store import FILE_NAME, RunIndex, RunWriter, index_run
from tests.builders import DIALOGUE, FLAT, make_header, make_transcript, make_turn

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.suite import Suite

MODELS = ("m", "n")


def new_tally() -> Tally:
    tasks = [SimpleNamespace(info=FLAT), SimpleNamespace(info=DIALOGUE)]
    suite = SimpleNamespace(tasks=tasks, models=[ModelSpec(name, name, "test") for name in MODELS])
    return Tally(cast("Suite", suite))


tokens = st.none() | st.integers(0, 1000)
usages = st.builds(Usage, tokens, tokens, st.none() | st.floats(0, 2))
calls = st.lists(st.builds(FailedCall, st.just("503"), usage=usages), max_size=2).map(tuple)
answers = st.builds(Answer, st.just("a"), usage=usages, failed_calls=calls, from_cache=st.booleans())
scores = st.floats(0, 1)


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    info = draw(st.sampled_from([FLAT, DIALOGUE]))
    names = st.just("f1") if info is FLAT else st.sampled_from(["combined", "answerParse"])
    turns = tuple(
        replace(make_turn(draw(st.dictionaries(names, scores, max_size=2))), answer=draw(answers))
        for _ in range(draw(st.integers(1, info.max_turns)))
    )
    made = make_transcript(
        *turns,
        info=info,
        model=draw(st.sampled_from(MODELS)),
        case=draw(st.sampled_from(["c1", "c2"])),
        iteration=draw(st.integers(1, 2)),
        error=draw(st.none() | st.just("broke off")),
    )
    if made.error is None:
        return made
    rest = draw(st.none() | answers)
    return replace(made, turns=turns[: draw(st.integers(0, 1))], unevaluated=rest, failed_calls=draw(calls))


def headline_by_hand(transcript: Transcript) -> float | None:
    """``f1`` of the only turn, or the best ``combined`` of all turns, where a turn without it counts as 0."""
    name = "f1" if transcript.task == FLAT.name else "combined"
    found = [turn.evaluation.score_sets[0].values for turn in transcript.turns]
    if transcript.error is not None or not any(name in values for values in found):
        return None
    return max(float(values.get(name, 0)) for values in found)


def recount(model: str, seen: list[Transcript]) -> dict[str, object]:
    mine = [one for one in seen if one.model == model]
    last = {(one.label, one.case, one.iteration): one for one in mine}.values()
    headlines = [headline_by_hand(one) for one in last]
    used: list[Usage] = []
    for one in mine:
        got = [turn.answer for turn in one.turns] + ([one.unevaluated] if one.unevaluated else [])
        used += [answer.usage for answer in got if not answer.from_cache]
        used += [call.usage for call in (*one.failed_calls, *(c for answer in got for c in answer.failed_calls))]
    costs = [usage.cost for usage in used if usage.cost is not None]
    for one in mine:
        got = [turn.answer for turn in one.turns] + ([one.unevaluated] if one.unevaluated else [])
        called = one.failed_calls or any(answer.failed_calls or not answer.from_cache for answer in got)
        costs += [0.0] if got and not called else []
    return {
        "ended": len(last),
        "errors": sum(one.error is not None for one in last),
        "scored": sum(value is not None for value in headlines),
        "total": pytest.approx(sum(value for value in headlines if value is not None), abs=1e-9),
        "tokens": sum((usage.input_tokens or 0) + (usage.output_tokens or 0) for usage in used),
        "cost": pytest.approx(sum(costs)) if costs else None,
    }


def counted(count: Count) -> dict[str, object]:
    return {name: getattr(count, name) for name in ("ended", "errors", "scored", "total", "tokens", "cost")}


@settings(max_examples=50)
@given(st.lists(transcripts(), max_size=10))
def test_the_tally_is_the_recount_of_all_transcripts(seen: list[Transcript]) -> None:
    """Of several attempts at a dialogue the last one counts, but all were paid for."""
    tally = new_tally()
    for number, one in enumerate(seen, 1):
        tally.add(one)
        for model in MODELS:
            assert counted(tally.of(model)) == recount(model, seen[:number])


def test_a_second_attempt_takes_the_place_of_the_first() -> None:
    tally = new_tally()
    usage = Usage(10, 5, 0.25)
    tally.add(make_transcript(make_turn({"f1": 0.0}, usage=usage), error="503"))
    assert tally.of("m") == Count(ended=1, errors=1, tokens=15, cost=0.25)
    assert tally.of("m").mean is None
    tally.add(make_transcript(make_turn({"f1": 0.5}, usage=usage)))
    assert tally.of("m") == Count(ended=1, scored=1, total=0.5, tokens=30, cost=0.5)
    tally.add(make_transcript(make_turn({"f1": 1.0}), iteration=2))
    assert tally.of("m") == Count(ended=2, scored=2, total=1.5, tokens=30, cost=0.5)
    assert tally.of("m").mean == 0.75


def test_a_price_of_zero_is_known_and_an_unknown_price_is_none() -> None:
    tally = new_tally()
    tally.add(make_transcript(make_turn({"f1": 1.0}, usage=Usage(1, 1))))
    assert tally.of("m").cost is None
    tally.add(make_transcript(make_turn({"f1": 1.0}, usage=Usage(1, 1, 0.0)), case="c2"))
    assert tally.of("m").cost == 0.0


def test_answers_from_the_cache_cost_nothing_which_is_known() -> None:
    tally, turn = new_tally(), make_turn({"f1": 1.0}, usage=Usage(1, 1))
    tally.add(make_transcript(replace(turn, answer=replace(turn.answer, from_cache=True))))
    assert tally.of("m").cost == 0.0
    assert tally.of("m").tokens == 0


def write_run(path: Path, *transcripts: Transcript) -> RunIndex:
    with RunWriter(path / FILE_NAME) as writer:
        writer.header(make_header("m", "n"))
        for one in transcripts:
            writer.transcript(one)
    return index_run(path)


def test_the_end_counts_what_no_process_told_of(tmp_path: Path) -> None:
    """Of an earlier session only what was held again; what was counted already is not counted twice."""
    usage = Usage(10, 5, 0.25)
    old = make_transcript(make_turn({"f1": 0.0}, usage=usage), error="503", case="old")
    again = make_transcript(make_turn({"f1": 0.0}, usage=usage), error="503", case="again")
    for name in ("before", "now"):
        (tmp_path / name).mkdir()
    resumed = write_run(tmp_path / "before", old, again)
    told = make_transcript(make_turn({"f1": 0.5}, usage=usage), case="told")
    ahead = make_transcript(make_turn({"f1": 1.0}, usage=usage), case="ahead")
    mended = make_transcript(make_turn({"f1": 1.0}, usage=usage), case="again")
    write_run(tmp_path / "now", old, again, told, ahead, mended)
    tally = new_tally()
    tally.plan({"m": 5, "n": 0}, ())
    tally.add(told)
    tally.complete(tmp_path / "now", resumed)
    assert tally.of("m") == Count(planned=5, ended=3, scored=3, total=2.5, tokens=45, cost=0.75)


def test_what_is_planned_and_what_was_held_before() -> None:
    tally = new_tally()
    kept = [("Flat", "c1", "m", 1), ("Flat", "c2", "m", 1), ("Flat", "c1", "n", 1)]
    tally.plan({"m": 5, "n": 4}, kept)
    assert tally.of("m") == Count(planned=5, kept=2)
    assert tally.of("n") == Count(planned=4, kept=1)


def test_models_and_tasks_that_the_suite_does_not_know() -> None:
    tally = new_tally()
    tally.add(make_transcript(make_turn({"f1": 1.0}), model="other"))
    assert [tally.of(model) for model in MODELS] == [Count(), Count()]
    tally.add(replace(make_transcript(make_turn({"f1": 1.0}, usage=Usage(1, 2))), task="Gone"))
    assert tally.of("m") == Count(ended=1, tokens=3)


def test_threads_may_add_at_the_same_time() -> None:
    tally = new_tally()
    seen = [
        make_transcript(make_turn({"f1": 1.0}, usage=Usage(1, 1, 0.5)), model=MODELS[number % 2], iteration=number)
        for number in range(1, 401)
    ]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(tally.add, seen))
    expected = Count(ended=200, scored=200, total=200.0, tokens=400, cost=100.0)
    assert [tally.of(model) for model in MODELS] == [expected, expected]
