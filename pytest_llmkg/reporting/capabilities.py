"""Capability scores as a page shows them: definitions that share names side by side, and what the names mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.published_config import shipped_config
from pytest_llmkg.analysis.published_records import CapabilityScore

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CapabilitiesView", "Column", "capabilities_view", "drawn_definitions"]

_FITTED = "as-printed"


@dataclass(frozen=True, slots=True)
class Column:
    """A capability by one definition; ``drawn`` if it is an axis of the compass."""

    capability: str
    definition: str
    drawn: bool


@dataclass(frozen=True, slots=True)
class CapabilitiesView:
    """The section of a page.

    Attributes:
        columns: of the table; those with the same capability are neighbours, the drawn one first.
        scores: by model, definition and capability.
        models: those with any value.
        drawn: the definitions that the compass draws.
        names: (capability, what it measures).
        definitions: (definition, what it says of itself).
    """

    columns: tuple[Column, ...]
    scores: Mapping[tuple[str, str, str], CapabilityScore]
    models: frozenset[str]
    drawn: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    definitions: tuple[tuple[str, str], ...]

    def score(self, model: str, column: Column) -> CapabilityScore | None:
        """What ``model`` has in ``column``."""
        return self.scores.get((model, column.definition, column.capability))


def drawn_definitions(scores: Sequence[CapabilityScore]) -> list[str]:
    """The definitions that are drawn: all but the fitted one, whose capabilities have the names of the written one."""
    names = dict.fromkeys(score.definition for score in scores)
    return [name for name in names if name != _FITTED] or list(names)


def capabilities_view(scores: Sequence[CapabilityScore]) -> CapabilitiesView:
    """What the page shows of ``scores``, those of `pytest_llmkg.analysis.published.analyse_published`.

    Raises:
        UserError: the shipped configuration, which tells what the names mean, cannot be read.
    """
    drawn = drawn_definitions(scores)
    found = dict.fromkeys((score.capability, score.definition) for score in scores)
    order = list(dict.fromkeys(name for definition in drawn for name, of in found if of == definition))
    order += [name for name, _ in found if name not in order]
    columns = [Column(name, of, of in drawn) for name, of in found]
    columns.sort(key=lambda column: (order.index(column.capability), not column.drawn))
    known = shipped_config().definitions
    summaries = {one.name: one.summary for definition in known for one in definition.capabilities}
    used = dict.fromkeys([*drawn, *(of for _, of in found)])
    about = {definition.name: definition.summary for definition in known}
    return CapabilitiesView(
        tuple(columns),
        {(score.model, score.definition, score.capability): score for score in scores},
        frozenset(score.model for score in scores if score.mean is not None),
        tuple(drawn),
        tuple((name, summaries[name]) for name in dict.fromkeys(order) if name in summaries),
        tuple((name, about[name]) for name in used if name in about),
    )
