"""Tables for the terminal and, as Markdown, for the README."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["figure", "say", "table"]


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, markdown: bool) -> str:
    """The rows under their header; the first column to the left, the others to the right."""
    if markdown:
        rule = "|---|" + "---:|" * (len(header) - 1)
        return "\n".join([_piped(header), rule, *map(_piped, rows)])
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = [
        "  ".join(cell.rjust(width) if column else cell.ljust(width) for column, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in (header, *rows))
    ]
    return "\n".join(line.rstrip() for line in lines)


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def figure(value: float | None, digits: int = 2) -> str:
    """``value`` with ``digits`` after the point, a dash for None."""
    return "-" if value is None else f"{value:.{digits}f}"


def say(*lines: str) -> None:
    """Prints ``lines`` at once, for those who watch a pipe."""
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()
