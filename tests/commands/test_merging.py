from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.cli import main
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Case, ModelSpec
from pytest_llmkg.sealing import PUBLIC, new_cipher
from pytest_llmkg.store import FILE_NAME, SEALED_LINES, Receipt, RunWriter, index_run, key_of, read_run
from pytest_llmkg.suite_signature import suite_signature
from tests.builders import FLAT, make_header, make_transcript, make_turn
from tests.store_steps import write_part

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import RunHeader, Transcript

CASES = [Case(f"c{number}", "Flat", "Flat", {"question": f"who {number}?"}) for number in (1, 2, 3, 4)]
SPEC = ModelSpec("m", "m", "scripted")


def header(shard: str | None = None, planned: int | None = None, **settings: Json) -> RunHeader:
    """Of a run of two iterations of the cases."""
    suite = suite_signature((SPEC,), (FLAT,), CASES, 42, 2, None)
    plan: Json = None if planned is None else {"m": {"Flat": planned}}
    return replace(
        make_header("m"), iterations=2, settings={"suite": suite, "shard": shard, "planned": plan, **settings}
    )


def dialogue(case: str, iteration: int, text: str = "answer", **changed: Any) -> Transcript:
    return replace(make_transcript(make_turn({"f1": 0.5}, text=text), case=case, iteration=iteration), **changed)


def write(
    directory: Path, head: RunHeader, transcripts: Iterable[Transcript], cases: Iterable[Case] | None = None
) -> str:
    transcripts = list(transcripts)
    asked = {transcript.case for transcript in transcripts}
    with RunWriter(directory / FILE_NAME) as writer:
        writer.header(head)
        for case in cases if cases is not None else [case for case in CASES if case.id in asked]:
            writer.case(case)
        for transcript in transcripts:
            writer.transcript(transcript)
    return str(directory)


def both(*cases: str) -> list[Transcript]:
    return [dialogue(case, iteration) for case in cases for iteration in (1, 2)]


@pytest.fixture
def shards(tmp_path: Path) -> list[str]:
    """Two shards that together hold all 8 dialogues."""
    return [
        write(tmp_path / "s1", header("1/2", 4), both("c1", "c3")),
        write(tmp_path / "s2", header("2/2", 4), both("c2", "c4")),
    ]


def merge(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    status = main(["merge", *map(str, arguments), "--json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, told


def test_shards_become_one_run_with_its_reports(
    tmp_path: Path, shards: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "joined"
    assert main(["merge", *shards, "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert text.splitlines() == [f"joined 2 runs to {out / FILE_NAME}: 8 dialogues", "complete"]
    run = read_run(out)
    assert {(t.case, t.iteration) for t in run.transcripts} == {(c.id, i) for c in CASES for i in (1, 2)}
    assert run.cases == {f"Flat/{case.id}": case for case in CASES}
    assert run.header.settings["shard"] is None
    assert run.header.settings["planned"] == {"m": {"Flat": 8}}
    assert run.header.settings["suite"] == header().settings["suite"]
    assert run.header.run == "joined"
    for name in ("leaderboard.html", "leaderboard.md", "scores.csv", "report.json"):
        assert (out / name).stat().st_size > 0
    assert len((out / "scores.csv").read_text(encoding="utf-8").splitlines()) > 8


def test_the_order_of_the_runs_does_not_matter_to_what_is_held(
    tmp_path: Path, shards: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, runs in (("a", shards), ("b", shards[::-1])):
        assert merge(capsys, *runs, "--out", tmp_path / name)[0] == 0
    one, other = (sorted(read_run(tmp_path / name).transcripts, key=key_of) for name in ("a", "b"))
    assert one == other
    assert (tmp_path / "a" / "scores.csv").read_bytes() == (tmp_path / "b" / "scores.csv").read_bytes()


def test_a_missing_shard_is_named(tmp_path: Path, shards: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    three = write(tmp_path / "s3", header("3/4", 2), both("c1"))
    one = write(tmp_path / "s4", header("1/4", 2), both("c2"))
    status, told = merge(capsys, three, one, "--out", tmp_path / "joined")
    assert status == 1
    assert told["missing_shards"] == ["2/4", "4/4"]
    assert told["gaps"] == []
    assert told["complete"] is False
    assert len(read_run(tmp_path / "joined").transcripts) == 4, "what is there is written"
    assert main(["merge", three, one, "--out", str(tmp_path / "again")]) == 1
    assert capsys.readouterr().out.splitlines()[1:3] == ["missing: shard 2/4", "missing: shard 4/4"]
    assert main(["merge", three, shards[0], "--out", str(tmp_path / "third")]) == 2
    assert "of another division" in capsys.readouterr().err


def test_a_run_joined_without_a_shard_says_so_to_whoever_judges_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = ("c1", "c2", "c3", "c4")
    parts = [write(tmp_path / case, header(f"{i}/4", 2), both(case)) for i, case in enumerate(cases, 1)]
    first, second, third = tmp_path / "first", tmp_path / "second", tmp_path / "third"
    status, told = merge(capsys, *parts[:2], "--out", first)
    assert (status, told["missing_shards"]) == (1, ["3/4", "4/4"])
    assert index_run(first).header.settings["missing_shards"] == ["3/4", "4/4"]
    assert main(["gate", str(first), "--rule", "min:0.1"]) == 1
    assert "it was joined without shard 3/4, 4/4, of which nothing is known" in capsys.readouterr().out
    # What was joined goes on being a part of the suite, and a shard that it holds is not planned twice.
    status, told = merge(capsys, first, parts[2], parts[0], "--out", second)
    assert (status, told["missing_shards"]) == (1, ["4/4"])
    assert index_run(second).header.settings["planned"] == {"m": {"Flat": 6}}
    status, told = merge(capsys, second, parts[3], "--out", third)
    assert (status, told["missing_shards"], told["gaps"]) == (0, [], [])
    settings = index_run(third).header.settings
    assert (settings["planned"], settings.get("missing_shards")) == ({"m": {"Flat": 8}}, None)
    assert main(["gate", str(third), "--rule", "min:0.1"]) == 0
    assert main(["gate", parts[0], "--rule", "min:0.1"]) == 0
    assert "this run: it is shard 1/4, a part of the suite" in capsys.readouterr().out


def test_gaps_are_named_by_model_label_case_and_iteration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write(tmp_path / "s1", header("1/2", 4), both("c1", "c3")[:3])
    two = write(tmp_path / "s2", header("2/2", 4), both("c2"))
    status, told = merge(capsys, one, two, "--out", tmp_path / "joined")
    assert status == 1
    assert told["missing_shards"] == []
    assert told["gaps"] == [
        {
            "model": "m",
            "label": "Flat",
            "planned": 8,
            "missing": 3,  # two of c4, which no run knows, and
            "dialogues": [{"case": "c3", "iteration": 2}],
        }
    ]
    main(["merge", one, two, "--out", str(tmp_path / "again")])
    assert (
        "missing: 3 of 8 dialogues of model 'm' on task variant 'Flat': c3 (iteration 2)\n" in capsys.readouterr().out
    )


def test_what_was_not_planned_is_not_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sessions that chose single tests (-k) hold some iterations only."""
    run = write(tmp_path / "run", header(planned=1), [dialogue("c1", 2)])
    assert merge(capsys, run, "--out", tmp_path / "joined") == (
        0,
        {
            "out": str(tmp_path / "joined"),
            "runs": [run],
            "dialogues": 1,
            "errors": 0,
            "complete": True,
            "missing_shards": [],
            "gaps": [],
            "duplicates": [],
            "findings": [],
        },
    )
    unsure = write(tmp_path / "unsure", header(planned=2), [dialogue("c1", 2)], CASES[:2])
    _, told = merge(capsys, unsure, "--out", tmp_path / "again")
    assert told["gaps"][0]["missing"] == 1
    assert told["gaps"][0]["dialogues"] == [], "three are unseen, so that nobody knows which one is meant"


def test_a_run_of_everything_and_an_addition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = write(tmp_path / "whole", header(planned=8), both("c1", "c2", "c3"))
    rest = write(tmp_path / "rest", header("2/4", 2), both("c4"))
    status, told = merge(capsys, whole, rest, "--out", tmp_path / "joined")
    assert (status, told["missing_shards"], told["gaps"]) == (0, [], [])
    assert index_run(tmp_path / "joined").header.settings["planned"] == {"m": {"Flat": 8}}


def test_duplicates_are_named_and_the_better_one_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later, earlier = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"
    one = write(
        tmp_path / "one",
        header(planned=4),
        [
            dialogue("c1", 1, "good", started=earlier),
            dialogue("c1", 2, "newer", started=later),
            dialogue("c2", 1, "first", started=later),
            dialogue("c2", 2, "only", started=later),
        ],
    )
    two = write(
        tmp_path / "two",
        header(planned=4),
        [
            dialogue("c1", 1, "bad", started=later, error="down"),
            dialogue("c1", 2, "older", started=earlier),
            dialogue("c2", 1, "second", started=later),
        ],
    )
    status, told = merge(capsys, one, two, "--out", tmp_path / "joined")
    assert status == 0
    texts = {(t.case, t.iteration): t.turns[0].answer.text for t in read_run(tmp_path / "joined").transcripts}
    assert texts == {("c1", 1): "good", ("c1", 2): "newer", ("c2", 1): "second", ("c2", 2): "only"}
    common = {"label": "Flat", "model": "m", "runs": [one, two]}
    assert told["duplicates"] == [
        {**common, "case": "c1", "iteration": 1, "taken": one},
        {**common, "case": "c1", "iteration": 2, "taken": one},
        {**common, "case": "c2", "iteration": 1, "taken": two},
    ]
    main(["merge", one, two, "--out", str(tmp_path / "again")])
    assert (
        f"held by several runs: Flat/c1 of model 'm', iteration 1: in {one}, {two}; taken from {one}\n"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (replace(header(), settings={"suite": suite_signature((SPEC,), (FLAT,), CASES, 7, 2, None)}), "seed is 7, was"),
        (
            replace(header(), settings={"suite": suite_signature((SPEC,), (FLAT,), CASES[1:], 42, 2, 3)}),
            "max_turns is 3, was not set; task variant 'Flat' has other cases",
        ),
        (replace(make_header("m"), iterations=2, seed=7), "seed is 7, was 42"),
        (replace(make_header("m", "n"), iterations=2), "model 'n' is new"),
        (replace(make_header("m", tasks=(replace(FLAT, version="9"),)), iterations=2), "task 'Flat' has version 9"),
    ],
)
def test_other_suites_are_refused_before_anything_is_written(
    tmp_path: Path, other: RunHeader, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [write(tmp_path / "one", header(), both("c1")), write(tmp_path / "two", other, both("c2"))]
    assert main(["merge", *runs, "--out", str(tmp_path / "joined")]) == 2
    error = capsys.readouterr().err
    assert f"{runs[1]} is not of the same suite as {runs[0]}: " in error
    assert complaint in error
    assert not (tmp_path / "joined").exists()


def test_old_runs_are_joined_and_gaps_found_among_known_cases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = replace(make_header("m"), iterations=2)
    runs = [write(tmp_path / "one", old, both("c1")), write(tmp_path / "two", old, both("c2")[:1])]
    status, told = merge(capsys, *runs, "--out", tmp_path / "joined")
    assert status == 1
    assert told["gaps"] == [
        {
            "model": "m",
            "label": "Flat",
            "planned": None,
            "missing": 1,
            "dialogues": [{"case": "c2", "iteration": 2}],
        }
    ]


def test_a_case_that_differs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = replace(CASES[0], data={"question": "what?"})
    runs = [
        write(tmp_path / "one", header(), both("c1")),
        write(tmp_path / "two", header(), both("c1"), [changed]),
    ]
    assert main(["merge", *runs, "--out", str(tmp_path / "joined")]) == 2
    assert f"case Flat/c1 differs between {runs[0]} and {runs[1]}" in capsys.readouterr().err


def test_odd_things_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = replace(header("1/2", 2, timeout=60.0), started="2026-01-03T00:00:00Z")
    second = replace(header("2/2", 2, timeout=30.0), versions={"pytest-llmkg": "0.1.0", "python": "3.12"})
    one = write(tmp_path / "one", first, [*both("c1")[:1], dialogue("c1", 2, error="down")])
    two = write(tmp_path / "two", second, both("c2"))
    with (tmp_path / "two" / FILE_NAME).open("ab") as file:
        file.write(b'{"kind":"transc')
    write_part(tmp_path / "two", "gw0", [dialogue("c2", 1, "from a part", started="2026-02-01T00:00:00Z")])
    status, told = merge(capsys, one, two, "--out", tmp_path / "joined")
    assert (status, told["errors"]) == (0, 1)
    assert told["findings"] == [
        f"{two} ends in the middle of a line, which is left out",
        "1 dialogue ended as an error; resume its run to hold it again",
        f"version of 'python' differs: 3.11 in {one}, 3.12 in {two}",
        f"setting 'timeout' differs: 60.0 in {one}, 30.0 in {two}",
    ]
    run = read_run(tmp_path / "joined")
    assert run.header.started == "2026-01-01T00:00:00Z"
    assert run.header.versions["python"] == "3.11 / 3.12"
    assert "from a part" in {t.turns[0].answer.text for t in run.transcripts}


@pytest.mark.parametrize("both_sealed", [True, False])
def test_sealed_lines_stay_sealed(tmp_path: Path, both_sealed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    locks = [to_plain(new_cipher(PUBLIC, cost=2).lock) for _ in range(2)]
    secret = [replace(case, sealed=True) for case in CASES[:2]]
    settings: list[dict[str, Json]] = [
        {SEALED_LINES: locks[0] if both_sealed else None},
        {SEALED_LINES: locks[1], "hide_cases": True},
    ]
    one = write(
        tmp_path / "one",
        header("1/2", 4, **settings[0]),
        [dialogue("c1", i, "secret answer") for i in (1, 2)] + both("c3"),
        [secret[0], CASES[2]],
    )
    two = write(
        tmp_path / "two",
        header("2/2", 4, **settings[1]),
        [dialogue("c2", i, "secret answer") for i in (1, 2)] + both("c4"),
        [secret[1], CASES[3]],
    )
    assert (b"secret" in (tmp_path / "one" / FILE_NAME).read_bytes()) != both_sealed
    out = tmp_path / "joined"
    assert merge(capsys, one, two, "--out", out)[0] == 0
    content = (out / FILE_NAME).read_bytes()
    assert b"secret" not in content
    assert b"who 1?" not in content
    assert content.count(b'"kind":"sealed"') == 6
    assert content.count(b'"kind":"transcript"') == 4
    run = read_run(out)
    assert run.header.settings[SEALED_LINES] == (locks[0] if both_sealed else locks[1])
    assert run.header.settings["hide_cases"] is True
    assert [t.turns[0].answer.text for t in run.transcripts].count("secret answer") == 4
    assert b"secret" not in (out / "leaderboard.html").read_bytes()


@pytest.mark.parametrize("shard", ["0/2", "3/2", "x", 3])
def test_a_broken_shard_is_told(tmp_path: Path, shard: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "one", header(shard, 2), both("c1"))
    assert main(["merge", run, "--out", str(tmp_path / "joined")]) == 2
    assert "the header's setting 'shard' is" in capsys.readouterr().err


def test_the_same_run_twice_and_an_existing_target_are_refused(
    tmp_path: Path, shards: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["merge", shards[0], f"{shards[0]}/{FILE_NAME}", "--out", str(tmp_path / "joined")]) == 2
    assert "given twice" in capsys.readouterr().err
    before = (tmp_path / "s1" / FILE_NAME).read_bytes()
    assert main(["merge", *shards, "--out", shards[0]]) == 2
    assert "exists already; choose another --out" in capsys.readouterr().err
    assert (tmp_path / "s1" / FILE_NAME).read_bytes() == before
    assert main(["merge", str(tmp_path / "none"), "--out", str(tmp_path / "joined")]) == 2
    assert "no such run file" in capsys.readouterr().err


def test_what_a_killed_merge_left_is_no_run_and_no_hindrance(
    tmp_path: Path, shards: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, copied = tmp_path / "joined", []
    copy = RunWriter.copy

    def stop(writer: RunWriter, receipt: Receipt) -> Receipt:
        copied.append(receipt)
        if len(copied) == 3:
            raise KeyboardInterrupt
        return copy(writer, receipt)

    monkeypatch.setattr(RunWriter, "copy", stop)
    with pytest.raises(KeyboardInterrupt):
        main(["merge", *shards, "--out", str(out)])
    assert not (out / FILE_NAME).exists()
    assert merge(capsys, *shards, "--out", out)[0] == 0
    assert len(read_run(out).transcripts) == 8
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == []


def test_attempts_that_were_replaced_come_along(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = dialogue("c1", 1, error="no answer", started="2026-11-30T10:00:00Z")
    later = replace(failed, error=None, started="2026-11-30T11:00:00Z")
    one = write(tmp_path / "s1", header("1/2", 2), [failed, dialogue("c1", 2), later])
    two = write(tmp_path / "s2", header("2/2", 4), both("c2", "c4"))
    out = tmp_path / "joined"
    _, told = merge(capsys, one, two, "--out", out)
    run = read_run(out)
    assert (told["dialogues"], len(run.transcripts)) == (6, 6)
    assert later in run.transcripts
    assert list(run.replaced()) == [failed]
