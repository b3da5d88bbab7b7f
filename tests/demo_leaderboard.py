"""The leaderboard page of the three recorded models of LLM-KG-Bench 3, opened in Chromium and photographed.

    LLMKG_PASSWORD=... python -m tests.demo_leaderboard ARCHIVE.zip... --out FOLDER

The archives (AKSW/LLM-KG-Bench-v3-0-results, CC BY 4.0) are encrypted so that nobody trains on them. The folder must
lie outside of this repository, since page and pictures hold their dialogues in the clear.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.errors import UserError
from pytest_llmkg.interchange import recorded_dialogue
from pytest_llmkg.interchange.recorded_scores import recorded_scores
from pytest_llmkg.records import Case, ModelSpec, RunHeader, Transcript
from pytest_llmkg.reporting.files import write_report_files
from pytest_llmkg.result_files import read_records
from pytest_llmkg.store import SCHEMA, Run
from pytest_llmkg.tasks import discover_tasks
from tests.reporting.chromium import Browser, find_chromium

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["recorded_run"]

REPOSITORY = Path(__file__).parents[1]
SLICE = 1800


def recorded_run(archives: Iterable[Path], password: str | None) -> Run:
    """The dialogues of result files with their recorded scores, as one run."""
    transcripts: list[Transcript] = []
    cases: dict[str, Case] = {}
    for archive in archives:
        records = list(read_records(archive, password))
        seen: Counter[tuple[str, str]] = Counter()
        for record in records:
            for transcript in recorded_scores([record]).transcripts:
                seen[transcript.label, transcript.case] += 1
                iteration = seen[transcript.label, transcript.case]
                transcripts.append(replace(transcript, iteration=iteration))
                case = recorded_dialogue(record).case
                if case is not None:
                    cases[f"{transcript.label}/{transcript.case}"] = replace(case, id=transcript.case)
    tasks = discover_tasks()
    models = tuple(ModelSpec(name, name, "recorded") for name in dict.fromkeys(t.model for t in transcripts))
    header = RunHeader(
        SCHEMA,
        "LLM-KG-Bench 3, recorded",
        min((t.started for t in transcripts), default=""),
        {"LLM-KG-Bench": "3.0"},
        models,
        tuple(tasks.get(name).info for name in tasks.names()),
        0,
        max((t.iteration for t in transcripts), default=1),
    )
    return Run(header, cases, tuple(transcripts))


def photograph(page: Path, folder: Path) -> Iterator[str]:
    """Pictures of the page at 1280 and 390 pixels, light and dark; complaints of the browser."""
    program = find_chromium()
    if program is None:
        yield "no Chromium on this machine, so there are no pictures"
        return
    with Browser(program) as browser:
        for width in (1280, 390):
            for dark in (False, True):
                tab = browser.tab(width=width, height=900, dark=dark)
                tab.open(page)
                mode = "dark" if dark else "light"
                height = min(tab.run("document.documentElement.scrollHeight"), 8 * SLICE)
                for top in range(0, height, SLICE):
                    size = min(SLICE, height - top)
                    tab.screenshot(folder / f"{width}-{mode}-{top:05d}.png", clip=(0, top, width, size))
                tab.run("document.querySelector('#rows a').click()")
                tab.until("document.getElementById('dialogue').dataset.shown !== undefined")
                tab.screenshot(folder / f"{width}-{mode}-dialogue.png")
                yield from tab.complaints


def main() -> int:
    """Makes page and pictures."""
    parser = argparse.ArgumentParser(description="The leaderboard page of recorded models, with pictures.")
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder outside of this repository")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    if out.is_relative_to(REPOSITORY):
        parser.error("--out must lie outside of this repository, since recorded dialogues must not be published")
    try:
        run = recorded_run(options.archives, os.environ.get("LLMKG_PASSWORD"))
    except UserError as error:
        parser.error(str(error))
    page, report = write_report_files([run], out, datetime.now(UTC))
    sys.stdout.write(f"{page}: {len(report.transcripts)} dialogues, {page.stat().st_size:,} bytes\n")
    complaints = list(photograph(page, out))
    sys.stdout.writelines(f"browser: {line}\n" for line in complaints)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
