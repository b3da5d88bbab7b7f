"""Files shared over processes, or over a Ray cluster of this machine: the same bytes as by one process."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg import __version__
from pytest_llmkg.cli import main
from pytest_llmkg.errors import EngineError, RunFileError, UserError
from pytest_llmkg.records import Answer, Case, Evaluation, Prompt, ScoreSet, Transcript, Turn
from pytest_llmkg.rescoring import on_ray
from pytest_llmkg.rescoring.files import Plan
from pytest_llmkg.rescoring.shards import Shard, ShardScores, in_order, over_processes, shards_of
from pytest_llmkg.store import RunWriter
from tests import recorded
from tests.builders import make_header

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from pytest_llmkg.plain import Json
    from pytest_llmkg.rescoring.shards import Outcome

GRAPH = "@prefix : <http://example.org/> .\n:ada :knows :bob ."
DATA: dict[str, Json] = {
    "format": "turtle",
    "graph": GRAPH,
    "prefixes": {"": "http://example.org/"},
    "query": "SELECT ?who WHERE { :ada :knows ?who }",
    "result": [":bob"],
}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three result files and the directory of a run file."""
    found = []
    for name, records in (("a", recorded.ALL), ("b", recorded.ALL[::-1]), ("c", recorded.ALL[:2])):
        found.append(tmp_path / f"{name}.json")
        found[-1].write_text(json.dumps(records), encoding="utf-8")
    found.append(tmp_path / "run")
    case = Case("one", "Sparql2AnswerList", "Tiny", DATA)
    with RunWriter(found[-1] / "run.jsonl") as writer:
        writer.header(make_header("m"))
        writer.case(case)
        for iteration, text in enumerate((":bob", ":eve", ""), 1):
            wrong = Evaluation("scored", (ScoreSet("made:up", {"f1": 0.5}),))
            turn = Turn(Prompt.user("Who?"), Answer(text), wrong)
            writer.transcript(Transcript("one", "Tiny", case.task, "m", iteration, (turn,), "", 1.0))
    return found


@pytest.fixture(scope="module")
def ray() -> Iterator[ModuleType]:
    """A cluster on this machine, with two processors whatever it has."""
    pytest.importorskip("ray", reason="the extra is not installed: pip install 'pytest-llmkg[ray]'")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("RAY_ADDRESS", raising=False)
        for name, value in on_ray._LOCAL_SETTINGS.items():
            patched.setenv(name, value)
        with on_ray.ray_cluster() as running:
            yield running


def rescored(files: list[Path], out: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[object, ...]:
    """Exit status, table and written bytes of a command."""
    status = main(["rescore", *map(str, files), "--out", str(out), "--rules", "corrected", *more])
    shown = re.sub(r"in [\d.]+ s, \d+ dialogues per second", "", capsys.readouterr().out)
    return status, shown, {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("cut", [False, True])
def test_processes_write_the_same_bytes(
    files: list[Path], cut: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if cut:
        monkeypatch.setattr("pytest_llmkg.rescoring.shards._SMALLEST_CUT", 0)
        monkeypatch.setattr("pytest_llmkg.rescoring.shards._SHARDS_PER_WORKER", 6)
    one = rescored(files, tmp_path / "one", capsys)
    assert one == rescored(files, tmp_path / "two", capsys, "--jobs", "2")
    assert one[0] == 1  # the graph of one record is missing
    assert isinstance(one[2], dict)
    assert list(one[2]) == ["a.json", "b.json", "c.json", "run/run.jsonl"]
    scores = [json.loads(line) for line in one[2]["run/run.jsonl"].splitlines()[2:]]
    f1 = [line["turns"][0]["evaluation"]["score_sets"][0]["values"]["f1"] for line in scores]
    assert f1 == [1, 0, 0]


def test_ray_writes_the_same_bytes(
    ray: ModuleType, files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = rescored(files, tmp_path / "one", capsys, "--engine", "rdflib")
    assert one == rescored(files, tmp_path / "ray", capsys, "--engine", "ray,rdflib")
    one = rescored(files, tmp_path / "default", capsys)
    assert one == rescored(files, tmp_path / "few", capsys, "--engine", "ray", "--jobs", "1")
    assert capsys.readouterr().err == ""


def test_ray_ranges_of_a_file_that_the_workers_read_themselves(
    ray: ModuleType, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "LARGEST_PART", 0)
    plan, whole = Plan(), [Shard(files[0], wanted=True)]
    ranges = shards_of(files[:1], None, 2, wanted=True, most=files[0].stat().st_size // 3)
    assert len(ranges) == 4
    together = scores(list(over_processes(whole, plan, 1)))
    apart = scores(list(on_ray.over_ray(ray, ranges, plan, 2)))
    assert len(apart) == 4
    assert sum((one.items for one in apart), ()) == together[0].items
    assert sum((one.comparisons for one in apart), ()) == together[0].comparisons


def scores(outcomes: list[tuple[Shard, Outcome]]) -> list[ShardScores]:
    return [outcome for _, outcome in outcomes if isinstance(outcome, ShardScores)]


def test_ray_repeats_the_shard_of_a_lost_worker(
    ray: ModuleType, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, score = tmp_path / "first", on_ray.score_task

    def dies_once(shard: Shard, plan: Plan, content: bytes | None, version: str) -> Outcome:
        if shard.path.name == "b.json" and not first.exists():
            first.touch()
            os._exit(1)
        return score(shard, plan, content, version)

    monkeypatch.setattr(on_ray, "score_task", dies_once)
    shards = shards_of(files, None, 2, wanted=False)
    found = list(on_ray.over_ray(ray, shards, Plan(), 4))
    assert first.exists()
    assert [shard for shard, _ in found] == shards
    assert [outcome for _, outcome in found] == [outcome for _, outcome in over_processes(shards, Plan(), 1)]


def test_ray_names_a_shard_that_fails_for_good_and_keeps_the_others(
    ray: ModuleType,
    files: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    score = on_ray.score_task

    def dies(shard: Shard, plan: Plan, content: bytes | None, version: str) -> Outcome:
        if shard.path.name == "b.json":
            os._exit(1)
        return score(shard, plan, content, version)

    monkeypatch.setattr(on_ray, "score_task", dies)
    monkeypatch.setattr(on_ray, "_RETRIES", 1)
    out = tmp_path / "out"
    assert main(["rescore", *map(str, files), "--engine", "ray", "--out", str(out)]) == 1
    assert re.search(rf"{re.escape(str(files[1]))}: failed 2 times on the Ray cluster", capsys.readouterr().err)
    assert sorted(path.name for path in out.iterdir()) == ["a.json", "c.json", "run"]


def test_ray_goes_on_past_a_file_that_cannot_be_read(
    ray: ModuleType, files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files[0].write_text("[", encoding="utf-8")
    out = tmp_path / "out"
    command = ["rescore", str(files[0]), str(tmp_path / "none.json"), str(files[3]), "--engine", "ray"]
    assert main([*command, "--out", str(out)]) == 2
    captured = capsys.readouterr()
    assert f"llmkg: {files[0]}: not a complete JSON file" in captured.err
    assert f"llmkg: {tmp_path / 'none.json'}: cannot be read: No such file" in captured.err
    assert re.search(r"^all +3 ", captured.out, re.MULTILINE)
    assert [path.name for path in out.iterdir()] == ["run"]


def test_other_version_on_a_worker_is_told(files: list[Path]) -> None:
    found = on_ray.score_task(Shard(files[0]), Plan(), None, "0.0.1")
    assert isinstance(found, UserError)
    assert "install the same everywhere" in str(found)


def test_without_ray(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["rescore", "a.json", "--engine", "ray"]) == 2
    assert capsys.readouterr().err == "llmkg: error: --engine ray needs Ray: pip install 'pytest-llmkg[ray]'\n"


@pytest.mark.parametrize("engine", ["jena", "ray,ray,rdflib", "pyoxigraph,rdflib", "ray,", ""])
def test_engines_that_make_no_sense(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["rescore", "a.json", f"--engine={engine}"])
    assert caught.value.code == 2
    assert "ray,rdflib" in capsys.readouterr().err


def test_nothing_is_left_of_an_unfinished_file_and_nothing_is_overwritten(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out" / "run.jsonl"
    assert main(["rescore", str(files[3]), "--out", str(out)]) == 0
    before = out.read_bytes()
    assert main(["rescore", str(files[3]), "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert [path.name for path in out.parent.iterdir()] == ["run.jsonl"]
    assert out.read_bytes() == before


def test_files_of_one_name_need_two_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rescore", "a/x.json", "b/x.json", "--out", str(tmp_path)]) == 2
    assert "same name" in capsys.readouterr().err


def test_at_most_so_many_are_begun_before_the_first_is_taken() -> None:
    running, most, taken = 0, 0, []
    shards = [Shard(Path(str(number))) for number in range(7)]

    def start(shard: Shard) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        return int(str(shard.path))

    def outcome(_shard: Shard, number: int) -> Outcome:
        nonlocal running
        running -= 1
        return EngineError("seventh") if number == 6 else ShardScores(())

    for shard, found in in_order(shards, start, outcome, 3):
        taken.append((str(shard.path), type(found)))
    assert most == 3
    assert taken == [*((str(n), ShardScores) for n in range(6)), ("6", EngineError)]


def test_a_shard_tells_no_password(tmp_path: Path) -> None:
    word = "open sesame"
    shard = shards_of([tmp_path / "a.zip"], word, 1, wanted=True)[0]
    assert shard.password == word
    assert word not in f"{shard} {shard!r}"


def test_a_copy_is_named_like_the_file(files: list[Path]) -> None:
    broken = Shard(files[0])
    found = on_ray.score_task(broken, Plan(), b"[", __version__)
    assert isinstance(found, RunFileError)
    assert str(found).startswith(f"{files[0]}: ")
