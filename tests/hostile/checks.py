"""What must hold of a dialogue, a run file and the reports, whatever a model answered."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from pytest_llmkg.plain import from_plain, to_plain
from pytest_llmkg.records import Transcript
from pytest_llmkg.reporting.html import render_page
from pytest_llmkg.reporting.markdown import render_markdown
from pytest_llmkg.reporting.tabular import render_csv, render_json
from pytest_llmkg.reporting.terminal import leaderboard_lines
from pytest_llmkg.reporting.views import build_report
from pytest_llmkg.store import Run

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.plain import Json

__all__ = ["RAW", "bad_scores", "check_reports", "check_run_file", "harmless"]

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
# What must not reach a terminal as it is: controls but tab and newline, marks that reorder or hide, half characters.
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
FORMULA = re.compile(r"[=+\-@\t\r]")
# Published scores that are no shares: lowest and highest value that their rules can give, None for no bound.
RANGES: dict[str, tuple[float | None, float | None]] = {
    "diffRatio": (None, 1.0),  # how much more an answer changes than it mends has no end
    "persons_relative_error": (-1.0, None),
    "persons_relative_error@2": (-1.0, None),
    "parsableTripleRatio": (0.0, None),
}
# Observations in words of the package itself, by which the page sorts wrong queries into kinds.
OWN_WORDS = {"failure", "form", "referenceForm", "kind", "referenceKind", "shape", "referenceShape"}


def bad_scores(transcript: Transcript) -> list[str]:
    """Scores of ``transcript`` that are no finite numbers or lie outside of what their rules can give."""
    found = []
    for number, turn in enumerate(transcript.turns):
        for name, value in turn.evaluation.scores().items():
            low, high = RANGES.get(name, (0.0, 1.0))
            inside = (low is None or value >= low) and (high is None or value <= high)
            if not math.isfinite(value) or not inside:
                found.append(f"{transcript.label} turn {number}: {name} = {value}")
    return found


def check_run_file(path: Path, dialogues: int) -> None:
    """Asserts that each line is an object of strict JSON, and that there is one for each dialogue."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b""
    objects = [json.loads(line, parse_constant=refuse) for line in lines]
    kinds = [found["kind"] for found in objects]
    assert kinds[0] == "header"
    assert kinds.count("header") == 1
    assert kinds.count("transcript") == dialogues
    assert set(kinds) == {"header", "case", "transcript"}


class _Skeleton(HTMLParser):
    """Elements with the names of their attributes, in order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[tuple[str, ...]] = []
        self.comments = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.parts.append((f"/{tag}",))

    def handle_comment(self, data: str) -> None:
        self.comments += 1


def harmless(transcript: Transcript) -> Transcript:
    """``transcript`` with an ``x`` for every character that somebody else may have written."""
    plain = to_plain(transcript)
    assert isinstance(plain, dict)
    turns = plain["turns"]
    assert isinstance(turns, list)
    for turn in turns:
        assert isinstance(turn, dict)
        for name in ("prompt", "answer"):
            turn[name] = _blanked(turn[name], {"text"})
        evaluation = turn["evaluation"]
        assert isinstance(evaluation, dict)
        info = evaluation["info"]
        assert isinstance(info, dict)
        evaluation["info"] = {k: v if k in OWN_WORDS else _blanked(v, None) for k, v in info.items()}
    return from_plain(Transcript, plain)


def _blanked(value: Json, names: set[str] | None) -> Json:
    """``value`` with its texts blanked, or only those of the fields ``names``."""
    if isinstance(value, dict):
        return {k: _blanked(v, None if names is None or k in names else names) for k, v in value.items()}
    if isinstance(value, list):
        return [_blanked(v, names) for v in value]
    return "x" * len(value) if isinstance(value, str) and names is None else value


def check_reports(run: Run) -> None:
    """Asserts that all reports of ``run`` are what they would be if nothing hostile had been said, and raw nowhere."""
    report = build_report([run])
    plain = build_report([Run(run.header, run.cases, tuple(map(harmless, run.transcripts)))])
    page, expected = _Skeleton(render_page(report, NOW)), _Skeleton(render_page(plain, NOW))
    assert page.parts == expected.parts
    assert page.comments == expected.comments
    texts = {
        "markdown": render_markdown(report, NOW),
        "csv": render_csv(report),
        "json": render_json(report, NOW),
        "terminal": "\n".join(leaderboard_lines(report)),
    }
    for name, text in texts.items():
        assert not RAW.search(text), name
    assert texts["terminal"].isascii()
    assert texts["markdown"] == render_markdown(plain, NOW)
    json.loads(texts["json"])
    cells = [cell for row in csv.reader(io.StringIO(texts["csv"], newline="")) for cell in row]
    assert not [cell for cell in cells if FORMULA.match(cell) and not _is_number(cell)]


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
