"""The scores for other programs: a flat table with one row for each dialogue and score, as CSV or Parquet."""

from __future__ import annotations

import contextlib
import csv
import io
from itertools import islice
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import dialogue_scores
from pytest_llmkg.errors import UserError
from pytest_llmkg.plain import clean_text
from pytest_llmkg.reporting.report_json import render_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_llmkg.records import Number, Transcript
    from pytest_llmkg.reporting.views import Report

__all__ = ["COLUMNS", "csv_lines", "render_csv", "render_json", "score_rows", "write_parquet"]

COLUMNS = ("model", "task", "label", "case", "iteration", "outcome", "score", "value", "signature")

Row = tuple[str, str, str, str, int, str, str, "Number | None", str]

_AT_ONCE = 50_000


def score_rows(report: Report) -> Iterator[Row]:
    """One row for each dialogue and score, by published names; a dialogue without scores has one with none.

    An aggregate (``mean_combined``) has the signature of the scores that it is made of.
    """
    infos = {info.name: info for info in report.tasks}
    for one in report.transcripts:
        info = infos.get(one.task)
        scores = dialogue_scores(one, info) if info else {}
        signatures = _signatures(one)
        key = (one.model, one.task, one.label, one.case, one.iteration, one.outcome)
        for name, value in scores.items():
            turn_name = name if name in signatures else name.partition("_")[2]
            yield (*key, name, value, signatures.get(turn_name, ""))
        if not scores:
            yield (*key, "", None, "")


def csv_lines(report: Report) -> Iterator[str]:
    """`score_rows` as CSV with a head, in pieces of some thousand lines."""
    rows = score_rows(report)
    piece = io.StringIO()
    writer = csv.writer(piece, lineterminator="\n")
    quoting = csv.writer(piece, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(COLUMNS)
    while True:
        chosen = list(islice(rows, _AT_ONCE))
        for row in chosen:
            # Quoted, a model's name cannot begin a line with "::", which is a command to GitHub Actions; same data.
            of_row = quoting if row[0].lstrip().startswith("::") else writer
            of_row.writerow((*row[:7], "" if row[7] is None else repr(row[7]), row[8]))
        yield piece.getvalue()
        if not chosen:
            return
        piece.seek(0)
        piece.truncate()


def render_csv(report: Report) -> str:
    """`score_rows` as CSV text."""
    return "".join(csv_lines(report))


def _signatures(transcript: Transcript) -> dict[str, str]:
    return {
        name: scores.signature
        for turn in transcript.turns
        for scores in turn.evaluation.score_sets
        for name in scores.values
    }


def write_parquet(report: Report, path: Path) -> int:
    """`score_rows` as a Parquet file, values as 64-bit floats; returns the number of rows.

    Raises:
        UserError: the library for Parquet is not installed, or the file cannot be written.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise UserError("Parquet needs a library: pip install 'pytest-llmkg[parquet]'; or use --format csv") from error
    kinds = {"iteration": pa.int64(), "value": pa.float64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    temporary = path.with_name(f".{path.name}.tmp")
    rows, count = score_rows(report), 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with parquet.ParquetWriter(temporary, schema) as writer:
            while chosen := list(islice(rows, _AT_ONCE)):
                columns = [_column(name, [row[place] for row in chosen]) for place, name in enumerate(COLUMNS)]
                writer.write_table(pa.table(dict(zip(COLUMNS, columns, strict=True)), schema))
                count += len(chosen)
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise UserError(f"{path}: cannot write the table: {error.strerror}") from error
    return count


def _column(name: str, values: list[object]) -> list[object]:
    if name == "value":
        return [None if value is None else float(str(value)) for value in values]
    return [clean_text(value) if isinstance(value, str) else value for value in values]
