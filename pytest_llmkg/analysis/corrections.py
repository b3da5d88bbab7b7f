"""What corrected rules change: published against corrected headline scores, and the causes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import dialogue_scores, has_dialogues

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_llmkg.records import TaskInfo, Transcript

__all__ = ["ALL_MODELS", "Change", "CorrectionRow", "changes_of", "correction_rows"]

ALL_MODELS = "all models"
"""What stands for the model in rows of all models together."""

_SUFFIX = "@2"
_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class Change:
    """One headline score of one dialogue under both rules, with what the corrected ones treat otherwise."""

    score: str
    published: float
    corrected: float
    causes: tuple[str, ...] = ()

    @property
    def moved(self) -> bool:
        """Whether the two differ."""
        return abs(self.published - self.corrected) > _NEAR


@dataclass(frozen=True, slots=True)
class CorrectionRow:
    """Means of one score over the dialogues of one model and task label.

    Attributes:
        model, label, score: whose.
        n: dialogues.
        published, corrected: means.
        changed: dialogues whose score differs.
        causes: how many of those each cause concerns, the most frequent first; one dialogue may have several.
    """

    model: str
    label: str
    score: str
    n: int
    published: float
    corrected: float
    changed: int
    causes: tuple[tuple[str, int], ...]


def changes_of(published: Transcript, corrected: Transcript, info: TaskInfo) -> tuple[Change, ...]:
    """The headline scores of a dialogue under both rules.

    Args:
        published: the dialogue scored by the engine that made the published scores.
        corrected: the same dialogue scored by the engine that follows the standard; may be the same object.
        info: the task. Of tasks with hints, the first turn is compared, too, beside the turn that the headline is of.
    """
    before, after = dialogue_scores(published, info), dialogue_scores(corrected, info)
    found = []
    for name in _headlines(info):
        if name in before and name + _SUFFIX in after:
            turns = 1 if name.startswith("0_") else len(corrected.turns)
            causes = _causes(published, corrected, turns)
            change = Change(name, float(before[name]), float(after[name + _SUFFIX]), causes)
            found.append(change if change.moved else Change(name, change.published, change.corrected))
    return tuple(found)


def _headlines(info: TaskInfo) -> tuple[str, ...]:
    """Names of the published scores, whichever of the two the task's headline is."""
    headline = info.headline.removesuffix(_SUFFIX)
    return (f"0_{headline.partition('_')[2]}", headline) if has_dialogues(info) else (headline,)


def _causes(published: Transcript, corrected: Transcript, turns: int) -> tuple[str, ...]:
    causes: dict[str, None] = {}
    for one, other in zip(published.turns[:turns], corrected.turns[:turns], strict=True):
        causes |= dict.fromkeys(note for scores in other.evaluation.score_sets[1:] for note in scores.notes)
        if one.evaluation.score_sets[0].values != other.evaluation.score_sets[0].values:
            causes["engine"] = None
    return tuple(causes) or ("rules",)


def correction_rows(changes: Iterable[tuple[str, str, Change]]) -> list[CorrectionRow]:
    """One row for each model, label and score, in the order in which they come, from ``(model, label, change)``.

    With several models, rows of all of them together (`ALL_MODELS`) follow.
    """
    groups: dict[tuple[str, str, str], list[Change]] = {}
    together: dict[tuple[str, str, str], list[Change]] = {}
    for model, label, change in changes:
        groups.setdefault((model, label, change.score), []).append(change)
        together.setdefault((ALL_MODELS, label, change.score), []).append(change)
    if len({model for model, _, _ in groups}) > 1:
        groups |= together
    return [_row(key, group) for key, group in groups.items()]


def _row(key: tuple[str, str, str], group: list[Change]) -> CorrectionRow:
    moved = [change for change in group if change.moved]
    causes = Counter(cause for change in moved for cause in change.causes)
    return CorrectionRow(
        *key,
        n=len(group),
        published=sum(change.published for change in group) / len(group),
        corrected=sum(change.corrected for change in group) / len(group),
        changed=len(moved),
        causes=tuple(sorted(causes.items(), key=lambda entry: (-entry[1], entry[0]))),
    )
