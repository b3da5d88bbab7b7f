"""What the published analysis says, as frozen records for pages and tables."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CapabilityScore",
    "CombinedRow",
    "CombinedTable",
    "PreferenceCell",
    "PreferenceRow",
    "PreferenceTable",
    "PublishedAnalysis",
]


@dataclass(frozen=True, slots=True)
class CapabilityScore:
    """One capability of one model.

    Attributes:
        definition, capability, model: which.
        mean: from 0 to 1 by the definition's weights over the labels that have values; None without any.
        values, dialogues, cases: numbers that ``mean`` is of: scores, the dialogues they come from, and their
            different cases.
        labels: the labels used.
        missing: for each task without values what it lacks, in words; empty when the capability is complete.
    """

    definition: str
    capability: str
    model: str
    mean: float | None
    values: int
    dialogues: int
    cases: int
    labels: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every task of the capability has values."""
        return not self.missing


@dataclass(frozen=True, slots=True)
class CombinedRow:
    """The combined score of one model.

    Attributes:
        model: model id.
        rank: competition rank by ``mean`` among the models that were measured on the same labels; None without mean.
        mean, deviation: weighted mean and standard deviation (no correction for the degrees of freedom), None when
            a task lacks values.
        text: both as the article prints them, e.g. ``0.94 (0.20)``; ``-`` without.
        leader: the model with the best mean, which the others are compared with.
        star: whether it belongs to the leader group; None when that cannot be tested, or there is no other model.
        p: two-sided p-value of the t-test against the leader, None for the leader and when undefined.
        values: single scores that the mean is of.
        tested: size of the sample in the test, which counts each of them ``counted`` times.
        dialogues, cases: dialogues they come from, and their different cases (label and case).
        labels: the labels used.
        published: the printed figure, e.g. ``0.94 (0.20)*``, when the article has one for this model on these labels.
        notes: what a reader must know, in sentences.
    """

    model: str
    rank: int | None
    mean: float | None
    deviation: float | None
    text: str
    leader: bool
    star: bool | None
    p: float | None
    values: int
    tested: int
    dialogues: int
    cases: int
    labels: tuple[str, ...]
    published: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CombinedTable:
    """The combined score by one definition (Table 6 of the article).

    Attributes:
        definition, title, summary: which definition, in words.
        alpha: p-value above which a model belongs to the leader group.
        rows: by labels, then by rank, then by name; rows without a mean last.
        warnings: where the published method claims more than the data bear, in sentences.
    """

    definition: str
    title: str
    summary: str
    alpha: float
    rows: tuple[CombinedRow, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferenceCell:
    """One format against the other for one model and task.

    Attributes:
        column: name of the column.
        side: short name of the better format when the test sees a difference, else None.
        strong: whether it is significant at the stronger level, printed bold.
        mark: as the article prints it: ``TTL``, ``**JSON**``, ``-``; empty when there is nothing to compare.
        p: two-sided p-value, None when undefined.
        first_mean, second_mean, first_values, second_values: what was compared.
        note: why there is no p-value, or what is left out; empty otherwise.
    """

    column: str
    side: str | None
    strong: bool
    mark: str
    p: float | None
    first_mean: float | None
    second_mean: float | None
    first_values: int
    second_values: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class PreferenceRow:
    """The cells of one model, the pooled one first."""

    model: str
    cells: tuple[PreferenceCell, ...]


@dataclass(frozen=True, slots=True)
class PreferenceTable:
    """Format preferences (Table 7 of the article).

    Attributes:
        first, second: short names of the formats.
        columns: names of the columns, the pooled one first.
        alpha, strong: levels of a mark and of a bold mark.
        rows: one for each model, by name.
        warnings: where the published method claims more than the data bear, in sentences.
    """

    first: str
    second: str
    columns: tuple[str, ...]
    alpha: float
    strong: float
    rows: tuple[PreferenceRow, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PublishedAnalysis:
    """All of the published analysis over some transcripts.

    Attributes:
        source: where the definitions and printed figures come from.
        models: all models, by name.
        capabilities: by definition, capability and model.
        combined: one table for each definition that combines.
        preferences: None when the configuration has none.
        notes: what is not part of it and why, in sentences.
    """

    source: str
    models: tuple[str, ...]
    capabilities: tuple[CapabilityScore, ...]
    combined: tuple[CombinedTable, ...]
    preferences: PreferenceTable | None
    notes: tuple[str, ...] = ()
