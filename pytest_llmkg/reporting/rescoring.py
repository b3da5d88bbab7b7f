"""What ``llmkg rescore`` shows: agreement with the record, and what corrected rules change."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.agreement import KINDS, Agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.analysis.corrections import CorrectionRow

__all__ = ["CORRECTION_FORMATS", "render_agreement", "render_corrections"]

CORRECTION_FORMATS = ("text", "md", "csv")
"""How the table of corrections can be written."""

_SHOWN_DIFFERENCES = 20
_LABEL_WIDTH = 49  # of the longest published label
_HEAD = ("model", "task", "score", "n", "published", "corrected", "difference", "changed", "what moved it")
_TAKEN = {
    "results": "recorded result taken, since the queried graph is out of reach",
    "time-outs": "recorded time-out taken (--no-keep-timeouts runs the query)",
    "triples": "scored by the triples of their records (--parse-again parses the answers)",
}


def render_agreement(found: Agreement, seconds: float) -> str:
    """One line for each label with ``equal/compared`` values, then differences, skipped records and the speed."""
    total = found.dialogues.total()
    lines = [_line("task", "dialogues", [f"{kind} equal" for kind in KINDS])]
    lines += [
        _line(label, str(n), [_ratio(found, kind, label) for kind in KINDS]) for label, n in found.dialogues.items()
    ]
    lines.append(_line("all", str(total), [_ratio(found, kind) for kind in KINDS]))
    lines += [f"differs: {line}" for line in found.differences[:_SHOWN_DIFFERENCES]]
    if len(found.differences) > _SHOWN_DIFFERENCES:
        lines.append(f"... and {len(found.differences) - _SHOWN_DIFFERENCES} further differences")
    lines += [f"skipped: {count} of {label}: {reason}" for (label, reason), count in found.skipped.items()]
    lines += [
        f"not computed: {count} values of {name} of {label}, since the record lacks what it compares with"
        for (label, name), count in found.not_computed.items()
    ]
    lines += [f"{count} dialogues of {label}: {_TAKEN[what]}" for (label, what), count in found.taken.items()]
    speed = total / seconds if seconds else 0
    lines.append(f"{total} dialogues in {seconds:.1f} s, {speed:.0f} dialogues per second")
    return "\n".join(lines) + "\n"


def _line(label: str, dialogues: str, cells: Sequence[str]) -> str:
    return f"{label:<{_LABEL_WIDTH}} {dialogues:>9}" + "".join(f" {cell:>16}" for cell in cells)


def _ratio(found: Agreement, kind: str, label: str | None = None) -> str:
    equal, compared = found.count(kind, label)
    return f"{equal}/{compared}" if compared else "-"


def render_corrections(rows: Sequence[CorrectionRow], form: str) -> str:
    """The table of published against corrected means; ``form`` is one of `CORRECTION_FORMATS`."""
    cells = [_HEAD, *map(_cells, rows)]
    if form == "csv":
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows(cells)
        return buffer.getvalue()
    if form == "md":
        ruler = tuple("---:" if name in _HEAD[3:8] else "---" for name in _HEAD)
        return "".join(f"| {' | '.join(map(_escaped, row))} |\n" for row in (cells[0], ruler, *cells[1:]))
    widths = [max(len(row[i]) for row in cells) for i in range(len(_HEAD))]
    return "".join(
        "  ".join(
            c.rjust(w) if 3 <= i < 8 else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        + "\n"
        for row in cells
    )


def _cells(row: CorrectionRow) -> tuple[str, ...]:
    return (
        row.model,
        row.label,
        row.score,
        str(row.n),
        f"{row.published:.3f}",
        f"{row.corrected:.3f}",
        f"{round(row.corrected - row.published, 3) + 0.0:+.3f}",
        str(row.changed),
        ", ".join(f"{cause} {count}" for cause, count in row.causes),
    )


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
