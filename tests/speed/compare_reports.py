"""How reports grow with the number of dialogues: seconds, memory, size of the page, and how fast a browser is with it.

    python -m tests.speed.compare_reports [--sizes 5000 15000 45500] [--keep FOLDER]

Each size is a run file of 41 models and 26 task labels with made-up dialogues (prompts of 3,000 characters, one or two
answers, scores by two sets of rules; some tasks put questions, whose systems tell stages and failed calls, and whose
wrong queries are of several kinds of error). All four reports are written by a process of its own, whose wall time, CPU
time and peak memory are measured. Chromium then opens the page: first paint, the slowest of several filters, and the
time until a dialogue is shown that stands in a file beside the page.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.records import (
    Answer,
    Case,
    Evaluation,
    FailedCall,
    ModelSpec,
    Prompt,
    Question,
    RunHeader,
    ScoreSet,
    TaskInfo,
    Transcript,
    Turn,
    Usage,
)
from pytest_llmkg.reporting.files import write_reports
from pytest_llmkg.store import FILE_NAME, SCHEMA, RunWriter, index_run
from pytest_llmkg.tasks import discover_tasks
from tests.reporting.chromium import Browser, find_chromium
from tests.speed.measuring import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_llmkg.plain import Json

MODELS, LABELS, ITERATIONS = 41, 26, 5
WORDS = [
    "graph",
    "triple",
    "prefix",
    "<https://kg.example/a>",
    '"text"',
    "?person",
    "SELECT",
    "WHERE",
    "{",
    "}",
    ".",
    "&",
]
ASKING = ("Text2SparqlKgqa", "Text2SparqlAgent")
"""Tasks that put questions to systems."""
FAILURES = ("missing", "syntax", "execution", "empty", "")
FILTERS = {
    "text": "graph 1",
    "model": "7",
    "label": "3",
    "outcome": "u",
    "low": "0.5",
}


def write_run(directory: Path, dialogues: int) -> int:
    """Writes a run file of about ``dialogues`` made-up dialogues; returns their number."""
    tasks = discover_tasks()
    infos = [tasks.get(name).info for name in tasks.names()]
    labels = [(infos[n % len(infos)], f"{infos[n % len(infos)].name}-{n // len(infos)}") for n in range(LABELS)]
    models = tuple(
        ModelSpec(f"vendor{n % 7}/model-{n:02d}", "m", "litellm", price_in=1.0, price_out=2.0) for n in range(MODELS)
    )
    header = RunHeader(SCHEMA, "made-up", "2026-01-01T00:00:00+00:00", {}, models, tuple(infos), 42, ITERATIONS)
    each = max(round(dialogues / MODELS / LABELS), 1)
    count = 0
    with RunWriter(directory / FILE_NAME) as writer:
        writer.header(header)
        for info, label in labels:
            for case in range(-(-each // ITERATIONS)):
                writer.case(Case(f"case-{case}", info.name, label, {"reference": _text(case, 600), "note": "made up"}))
        for place, spec in enumerate(models):
            for info, label in labels:
                for transcript in _dialogues(spec.id, 0.95 - place / 100, info, label, each):
                    writer.transcript(transcript)
                    count += 1
    return count


def _dialogues(model: str, ability: float, info: TaskInfo, label: str, each: int) -> Iterator[Transcript]:
    rng = random.Random(f"{model} {label}")  # noqa: S311  (made-up data, no secret)
    for number in range(each):
        last = 2 if info.max_turns > 1 and rng.random() < 0.4 else 1
        turns = tuple(_turn(rng, ability, info, turn == last - 1) for turn in range(last))
        error = "the endpoint did not answer" if rng.random() < 0.01 else None
        yield Transcript(
            f"case-{number // ITERATIONS}",
            label,
            info.name,
            model,
            number % ITERATIONS + 1,
            turns,
            "2026-01-01T00:00:00+00:00",
            rng.uniform(1, 20),
            error,
        )


def _turn(rng: random.Random, ability: float, info: TaskInfo, is_last: bool) -> Turn:
    able = ability - 0.3 * (info.name in ASKING)
    value = 1.0 if rng.random() < able else round(rng.random(), 3)
    names = [info.headline.partition("_")[2] if info.aggregated else info.headline, "f1x", "recallx", "precisionx"]
    sets = tuple(
        ScoreSet(f"task:{info.name}|rules:{rules}", dict.fromkeys((f"{name}{suffix}" for name in names), value))
        for rules, suffix in (("published", ""), ("corrected", "@2"))
    )
    usage = Usage(900, 250, 0.001)
    answer = Answer(_text(rng.randrange(1000), rng.randrange(200, 1500)), "stop", usage, rng.uniform(0.5, 9))
    kept: dict[str, Json] = {"lineCount": 7, "note": _text(7, 80)}
    prompt = Prompt.user(_text(rng.randrange(50), 3000))
    if info.name in ASKING:
        prompt = replace(prompt, question=Question(_text(rng.randrange(50), 90), "made-up", "en"))
        answer = _told(rng, answer)
        kept |= _wrong_query(rng) if value < 1 else {"sparql": _text(3, 300)}
    evaluation = Evaluation("scored" if value else "unparsable", sets, kept)
    return Turn(prompt, answer, evaluation, None if is_last else "syntax")


def _told(rng: random.Random, answer: Answer) -> Answer:
    """``answer`` of a system that tells what its time went into, and now and then of a call that failed."""
    stages = {"retrieve": rng.uniform(0.01, 0.1), "model": answer.seconds, "execute": rng.uniform(0.01, 0.3)}
    failed = (FailedCall("too many requests", 429, Usage(), 0.4),) if rng.random() < 0.03 else ()
    return replace(answer, stages=stages, failed_calls=failed)


def _wrong_query(rng: random.Random) -> dict[str, Json]:
    failure = rng.choice(FAILURES)
    told: dict[str, Json] = {
        "shape": "a",
        "referenceShape": rng.choice("ab"),
        "form": "SELECT",
        "referenceForm": "SELECT",
    }
    query = None if failure == "missing" else _text(rng.randrange(50), 400)
    return {**told, "failure": failure, "sparql": query, "error": "expected a bracket" if failure == "syntax" else None}


def _text(seed: int, length: int) -> str:
    return " ".join(WORDS[(seed * 7 + n * n) % len(WORDS)] + ("\n" if n % 9 == 8 else "") for n in range(length // 6))


def in_browser(page: Path) -> tuple[str, str, str]:
    """First paint, slowest filter and opening of a dialogue, in ms; dashes without Chromium."""
    program = find_chromium()
    if program is None:
        return "-", "-", "-"
    with Browser(program) as browser:
        tab = browser.tab()
        tab.open(page)
        tab.until("document.documentElement.dataset.ready === 'yes'")
        tab.until("performance.getEntriesByName('first-contentful-paint').length > 0")
        paint = tab.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        slowest = max(tab.run(_filter(name, value)) for name, value in FILTERS.items())
        opened = tab.run(
            "new Promise((done) => { const began = performance.now(); document.querySelector('#rows a').click();"
            " const look = () => document.querySelector('#dialogue pre') ? done(performance.now() - began)"
            " : setTimeout(look, 2); look(); })"
        )
        if tab.complaints:
            raise RuntimeError(f"{page}: {tab.complaints}")
    return f"{paint:.0f}", f"{slowest:.0f}", f"{opened:.0f}"


def _filter(name: str, value: str) -> str:
    return (
        f"(() => {{ const field = document.getElementById('filters').elements['{name}']; field.value = '{value}';"
        " const began = performance.now(); field.dispatchEvent(new Event('input', { bubbles: true }));"
        " document.getElementById('rows').getBoundingClientRect(); const took = performance.now() - began;"
        " field.value = ''; field.dispatchEvent(new Event('input', { bubbles: true })); return took; })()"
    )


def main() -> None:
    """Prints one line for each size."""
    parser = argparse.ArgumentParser(description="Times reports of runs of different sizes.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 15_000, 45_500])
    parser.add_argument("--keep", type=Path, help="folder for the runs, which is kept")
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.report is not None:
        write_reports(index_run(options.report), options.report, datetime(2026, 1, 1, tzinfo=UTC))
        return
    titles = ("dialogues", "run MB", "wall s", "CPU s", "peak MiB", "page MB", "beside MB", "paint ms", "filter ms")
    _say(" ".join(f"{title:>9}" for title in (*titles, "open ms")))
    with contextlib.ExitStack() as stack:
        base = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for size in options.sizes:
            _measure(base / str(size), size)


def _measure(directory: Path, size: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    count = len(index_run(directory).entries) if (directory / FILE_NAME).exists() else write_run(directory, size)
    program = [sys.executable, "-m", "tests.speed.compare_reports", "--report", str(directory)]
    cost = run(program, Path.cwd())
    page = directory / "leaderboard.html"
    beside = sum(path.stat().st_size for path in (directory / "leaderboard_files").glob("*.js"))
    sizes = [(directory / FILE_NAME).stat().st_size, page.stat().st_size, beside]
    run_size, page_size, beside_size = (f"{size / 1e6:.1f}" for size in sizes)
    peak = f"{cost.peak:.0f}" if cost.peak is not None else "-"
    figures = (f"{count:,}", run_size, f"{cost.wall:.1f}", f"{cost.cpu:.1f}", peak, page_size, beside_size)
    _say(" ".join(f"{figure:>9}" for figure in (*figures, *in_browser(page))))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
