"""How far scores that were computed again agree with the recorded ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_llmkg.analysis.corrections import Change

__all__ = ["KINDS", "Agreement", "Comparison"]

KINDS = ("scores", "info", "decisions")
"""What is compared: scores, observations, and whether and why another turn followed."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One dialogue against its record.

    Attributes:
        label: its task variant.
        place: the file and the place in it, for messages.
        model: the model that answered.
        skipped: why it could not be scored, None if it was.
        values: for each of `KINDS` how many values are equal, and the paths of those that are not.
        not_computed: names of recorded scores for which the record lacks the means.
        taken: what was taken from the record instead of being worked out (``results``, ``time-outs``, ``triples``).
        changes: published against corrected headline scores, when asked for.
    """

    label: str
    place: str
    model: str = ""
    skipped: str | None = None
    values: Mapping[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    not_computed: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(slots=True)
class Agreement:
    """Numbers of equal and of different values by task label and kind, over many dialogues."""

    dialogues: Counter[str] = field(default_factory=Counter)
    equal: Counter[tuple[str, str]] = field(default_factory=Counter)
    different: Counter[tuple[str, str]] = field(default_factory=Counter)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    not_computed: Counter[tuple[str, str]] = field(default_factory=Counter)
    taken: Counter[tuple[str, str]] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    changes: list[tuple[str, str, Change]] = field(default_factory=list)

    def add(self, found: Comparison) -> None:
        """Counts one dialogue."""
        if found.skipped is not None:
            self.skipped[found.label, found.skipped] += 1
            return
        self.dialogues[found.label] += 1
        for kind, (equal, different) in found.values.items():
            self.equal[found.label, kind] += equal
            self.different[found.label, kind] += len(different)
            self.differences.extend(f"{found.place} {kind}{path}" for path in different)
        self.not_computed.update((found.label, name) for name in found.not_computed)
        self.taken.update((found.label, what) for what in found.taken)
        self.changes.extend((found.model, found.label, change) for change in found.changes)

    def count(self, kind: str, label: str | None = None) -> tuple[int, int]:
        """How many values of one kind are equal, and how many were compared, for one label or in total."""
        equal, different = (
            sum(number for (of, what), number in counter.items() if what == kind and label in (None, of))
            for counter in (self.equal, self.different)
        )
        return equal, equal + different
