"""Sealed suites through pytest: no extra step with the public key, and nothing opened ever stands on disk."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from pytest_llmkg.cases.sealed import seal_text
from pytest_llmkg.sealing import PUBLIC, Cipher, SealKey, new_cipher
from pytest_llmkg.store import read_run

BENCHMARK = """\
import pytest

@pytest.mark.llmkg("Sparql2AnswerList")
def test_answer(dialogue):
    dialogue.hold()
"""

CASES = """\
schema = 1
task = "Sparql2AnswerList"
[[variant]]
label = "Tiny"
format = "turtle"
graph = { file = "tiny.ttl" }
prefixes = { "" = "http://example.org/" }
[[case]]
id = "one"
query = "SELECT ?who WHERE { :ada :secretlyKnows ?who }"
result = [":secretBob"]
"""
GRAPH = "@prefix : <http://example.org/> .\n:ada :secretlyKnows :secretBob ."
SECRET = b"secret"

# Writes down every file that this process opens for writing, since one that is deleted again would not be found.
WATCH = """\
import os, sys

log = os.open("opened.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def note(event, args):
    if event == "open" and isinstance(args[0], str) and args[2] & (os.O_WRONLY | os.O_RDWR):
        os.write(log, (os.path.abspath(args[0]) + "\\n").encode())

sys.addaudithook(note)
"""


def write_suite(folder: Path, cipher: Cipher) -> None:
    folder.mkdir()
    for name, text in (("tiny.toml", CASES), ("tiny.ttl", GRAPH)):
        (folder / f"{name}.sealed").write_bytes(seal_text(text, cipher))


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with a benchmark test, without any key, whose temporary files go into its folder ``tmp``."""
    for name in ("LLMKG_CASES_KEY", "LLMKG_CASES_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(pytester.mkdir("tmp")))
    pytester.makepyfile(test_bench=BENCHMARK)
    pytester.makeini("[pytest]\n")
    return pytester


FIXED = ("--llmkg-cases=suite", "--tasks=Tiny", "--llmkg-run-dir=run", "-p", "no:cacheprovider")


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_inprocess(*FIXED, *arguments)


def files_with(secret: bytes, folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes())
    return sorted(path.relative_to(folder).as_posix() for path in found)


@pytest.mark.parametrize("mode", [(), ("-n", "2")], ids=["plain", "n2"])
def test_a_folder_sealed_with_the_public_key_needs_no_extra_step(
    project: pytest.Pytester, mode: tuple[str, ...]
) -> None:
    write_suite(project.path / "suite", new_cipher(PUBLIC))
    run(project, *mode).assert_outcomes(passed=1)
    stored = read_run(project.path / "run")
    assert stored.cases["Tiny/one"].sealed
    assert stored.transcripts[0].turns[0].evaluation.scores()["f1"] == 1


def test_a_private_suite_runs_with_its_own_key_only(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    write_suite(project.path / "suite", new_cipher(SealKey("private", "mine", "a test")))
    sentence = "ERROR: *suite/tiny.toml.sealed: is sealed with {}"
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(sentence.format("a private key; set LLMKG_CASES_KEY or LLMKG_CASES_KEY_FILE *"))
    monkeypatch.setenv("LLMKG_CASES_KEY", "other")
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(sentence.format("another key than the one in LLMKG_CASES_KEY *"))
    monkeypatch.setenv("LLMKG_CASES_KEY", "mine")
    run(project).assert_outcomes(passed=1)


@pytest.mark.parametrize("where", [40, 400, -10])
def test_a_flipped_byte_is_a_usage_error(project: pytest.Pytester, where: int) -> None:
    write_suite(project.path / "suite", new_cipher(PUBLIC))
    path = project.path / "suite" / "tiny.toml.sealed"
    content = bytearray(path.read_bytes())
    content[where] ^= 1
    path.write_bytes(content)
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    errors = [line for line in result.errlines if line]
    assert len(errors) == 1
    assert errors[0].startswith(f"ERROR: {path}: ")
    assert "secret" not in errors[0]
    assert not (project.path / "run").exists()


@pytest.mark.parametrize("mode", [(), ("-n", "2")], ids=["plain", "n2"])
@pytest.mark.parametrize("key", ["", "mine"], ids=["public", "private"])
def test_nothing_opened_is_ever_on_disk(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, mode: tuple[str, ...], key: str
) -> None:
    write_suite(project.path / "suite", new_cipher(SealKey("private", key, "a test") if key else PUBLIC))
    monkeypatch.setenv("LLMKG_CASES_KEY", key)
    project.makeconftest(WATCH)
    # In a process of its own, since nobody can take an audit hook away again.
    result = project.runpytest_subprocess(
        *FIXED, "--llmkg-seal-run", "--junitxml=junit.xml", "--json-report", *mode, timeout=120
    )
    result.assert_outcomes(passed=1)
    assert files_with(SECRET, project.path) == []
    opened = {Path(line) for line in (project.path / "opened.txt").read_text(encoding="utf-8").splitlines()}
    assert project.path / "run" / "run.jsonl" in opened
    caches = {"__pycache__", "matplotlib"}  # bytecode, and the list of fonts
    gone = {path for path in opened if path.is_relative_to(project.path) and not path.exists()}
    # Reports are written under another name first; what they hold was looked through above.
    assert {path.name.rsplit(".", 2)[0] for path in gone if not caches & set(path.parts)} <= {
        "run",  # a worker's part, which the run file holds now
        ".leaderboard.html",
        ".leaderboard.md",
        ".scores.csv",
        ".report.json",
    }
    assert list((project.path / "tmp").iterdir()) == []
    elsewhere = [path for path in opened if not path.is_relative_to(project.path) and ".pyc" not in path.name]
    assert all(path == Path("/dev/null") for path in elsewhere)


def test_hiding_keeps_texts_out_of_every_report_but_scores_in(project: pytest.Pytester) -> None:
    write_suite(project.path / "suite", new_cipher(PUBLIC))
    run(project, "--llmkg-hide-cases").assert_outcomes(passed=1)
    assert files_with(SECRET, project.path) == ["run/run.jsonl"]
    page = (project.path / "run" / "leaderboard.html").read_text(encoding="utf-8")
    assert "not shown: the case is sealed" in page
    rows = list(csv.DictReader((project.path / "run" / "scores.csv").open(encoding="utf-8")))
    assert ("f1", "1.0") in {(row["score"], row["value"]) for row in rows}


def test_without_hiding_the_reports_show_what_was_asked(project: pytest.Pytester) -> None:
    write_suite(project.path / "suite", new_cipher(PUBLIC))
    run(project).assert_outcomes(passed=1)
    assert "run/leaderboard.html" in files_with(SECRET, project.path)
