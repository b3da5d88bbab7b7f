"""The comparison of two runs for terminal, Markdown and other programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pytest_llmkg.plain import Json, to_plain
from pytest_llmkg.reporting import formats
from pytest_llmkg.reporting.markdown_tables import escaped, link, raw_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_llmkg.analysis.paired import Comparison
    from pytest_llmkg.reporting.comparison import CaseRow, ComparisonView, DialogueRef, PairPart

__all__ = [
    "comparison_json",
    "comparison_markdown",
    "differs",
    "p_value",
    "shown_cases",
    "signed",
    "summary_sentence",
    "values_sentence",
]

COMPARISON_SCHEMA = 1

MOST_CASES = 50
"""Cases of a pair of models that a text lists; flipped ones come first. JSON has all of them."""


def signed(value: float | None) -> str:
    """A difference with its sign, three decimals."""
    return formats.NONE if value is None else f"{value:+z.3f}"


def interval(one: Comparison) -> str:
    """The 95 % interval of a difference."""
    low, high = one.difference.low, one.difference.high
    return formats.NONE if low is None or high is None else f"{low:+z.3f} to {high:+z.3f}"


def p_value(value: float | None) -> str:
    """Four decimals; what is smaller is told as that."""
    return formats.NONE if value is None else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def differs(row: CaseRow) -> bool:
    """Whether anything of a case differs."""
    return row.change.change != "same"


def shown_cases(pair: PairPart, limit: int = MOST_CASES) -> tuple[CaseRow, ...]:
    """The cases that differ, at most ``limit`` of them."""
    return tuple(row for row in pair.cases if differs(row))[:limit]


def summary_sentence(pair: PairPart) -> str:
    """What came out for a pair of models, in one sentence."""
    one = pair.comparison
    names = f"Model {pair.now}" if pair.before == pair.now else f"Model {pair.now} against {pair.before}"
    if one.difference.mean is None:
        return f"{names}: nothing can be compared, since {one.difference.reason}."
    limits = f" (95 % interval {interval(one)})" if one.difference.low is not None else ""
    missing = f" (no interval: {one.difference.reason})" if one.difference.low is None else ""
    flips = f"cases that broke: {pair.changes.get('broke', 0)}, that were mended: {pair.changes.get('mended', 0)}"
    means = f"mean {formats.score(one.first_mean)}, was {formats.score(one.second_mean)}"
    chance = f"p {p_value(one.p)}, by Holm {p_value(one.adjusted_p)}"
    return f"{names}: {means}; difference {signed(one.difference.mean)}{limits}{missing}, {chance}; {flips}."


def values_sentence(pair: PairPart) -> str | None:
    """How many values the cases come to, where these are fewer or more than the cases; None where they are as many."""
    one = pair.comparison
    if one.cases == one.difference.clusters or one.difference.mean is None:
        return None
    return (
        f"The task variants have {formats.plural(one.cases, 'case')} in all; a case that several of them ask is one "
        f"case here, with the mean of its differences, which makes {one.difference.clusters}."
    )


def comparison_markdown(view: ComparisonView) -> str:
    """Markdown, also for a terminal."""
    names = f"{escaped(view.now)} minus {escaped(view.before)}"
    explanation = (
        f"Differences are {names}, of headline scores on the same cases; p is two-sided, by sign-flip permutation over "
        "cases; Holm corrects it for all rows of a table. A case is solved when more than half of its answers score at "
        f"least {view.threshold:g}."
    )
    lines = [f"# {escaped(view.now)} against {escaped(view.before)}", "", explanation, ""]
    lines += [f"- **{one.kind}**: {escaped(one.text)}" for one in view.findings]
    lines += [""] if view.findings else []
    if not view.pairs:
        lines += ["No model was compared.", ""]
    for pair in view.pairs:
        lines += _pair_lines(pair)
    return "\n".join(lines).rstrip() + "\n"


def _pair_lines(pair: PairPart) -> list[str]:
    title = pair.now if pair.before == pair.now else f"{pair.now} against {pair.before}"
    told = (summary_sentence(pair), values_sentence(pair), pair.power.sentence)
    lines = [f"## {escaped(title)}", ""]
    lines += [line for text in told if text for line in (escaped(text), "")]
    if pair.comparison.difference.note:
        lines += [f"Note: {escaped(pair.comparison.difference.note)}.", ""]
    head = ("Task variant", "Cases", "Before", "Now", "Difference", "95 % interval", "p", "p (Holm)", "Broke", "Mended")
    lines += raw_table(
        head,
        (
            (
                escaped(part.label),
                str(part.comparison.cases),
                *_numbers(part.comparison),
                str(part.changes.get("broke", 0)),
                str(part.changes.get("mended", 0)),
            )
            for part in pair.labels
        ),
        1,
    )
    rows = shown_cases(pair)
    if rows:
        number = sum(map(differs, pair.cases))
        lines += ["", f"### Cases that differ ({len(rows)} of {number})", ""]
        titles = ("Task variant", "Case", "What", "Before", "Now", "Difference", "95 % interval", "p", "p (Holm)")
        lines += raw_table(titles, (_case_cells(row) for row in rows), 3)
    return [*lines, ""]


def _numbers(one: Comparison) -> tuple[str, ...]:
    return (
        formats.score(one.second_mean),
        formats.score(one.first_mean),
        signed(one.difference.mean),
        interval(one),
        p_value(one.p),
        p_value(one.adjusted_p),
    )


def _case_cells(row: CaseRow) -> tuple[str, ...]:
    change, one = row.change, row.comparison
    tail = (interval(one), p_value(one.p), p_value(one.adjusted_p)) if one else (formats.NONE,) * 3
    return (
        escaped(change.label),
        escaped(change.case),
        change.change,
        _dialogues(row.before),
        _dialogues(row.now),
        signed(change.difference),
        *tail,
    )


def _dialogues(references: Sequence[DialogueRef]) -> str:
    return " ".join(_dialogue(one) for one in references) or formats.NONE


def _dialogue(one: DialogueRef) -> str:
    text = "error" if one.outcome == "error" else formats.score(one.score)
    return escaped(text) if one.address is None else link(text, one.address)


def comparison_json(view: ComparisonView) -> str:
    """JSON with every case; ``schema`` is the number of this layout, names are those of the records.

    Of a comparison ``first`` is the model now and ``second`` the one before.
    """
    data: dict[str, Json] = {
        "schema": COMPARISON_SCHEMA,
        "before": view.before,
        "now": view.now,
        "threshold": view.threshold,
        "seed": view.seed,
        "findings": to_plain(view.findings),
        "pairs": [
            {
                "before": pair.before,
                "now": pair.now,
                "comparison": to_plain(pair.comparison),
                "detectable": {**_object(pair.power), "sentence": pair.power.sentence},
                "changes": _changes(pair.changes.items()),
                "labels": [
                    {
                        "label": part.label,
                        "comparison": to_plain(part.comparison),
                        "changes": _changes(part.changes.items()),
                    }
                    for part in pair.labels
                ],
                "cases": [_case(row) for row in pair.cases],
            }
            for pair in view.pairs
        ],
    }
    return formats.shielded_json(json.dumps(to_plain(data), ensure_ascii=False, allow_nan=False, indent=1)) + "\n"


def _changes(items: Iterable[tuple[str, int]]) -> dict[str, Json]:
    return dict(sorted(items))


def _object(record: object) -> dict[str, Json]:
    plain = to_plain(record)
    return plain if isinstance(plain, dict) else {}


def _case(row: CaseRow) -> Json:
    return {
        **_object(row.change),
        "comparison": None if row.comparison is None else to_plain(row.comparison),
        "before_dialogues": to_plain(row.before),
        "now_dialogues": to_plain(row.now),
    }
