"""The one pass over all dialogues of a report: keeps what is counted, and counts what needs their texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.effort import asks_question
from pytest_llmkg.analysis.error_categories import CategoryRow, ErrorCounts, ErrorTotals
from pytest_llmkg.records import Case, TaskInfo, Transcript
from pytest_llmkg.reporting.sources import Key, slim, without_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Each = Callable[[Transcript, TaskInfo | None, Case | None], None]

__all__ = ["Mistakes", "Reading", "shown_case", "shown_part"]


@dataclass(frozen=True, slots=True)
class Mistakes:
    """Why answered queries are wrong.

    Attributes:
        totals: answers and wrong ones by model, of tasks that turn questions into queries.
        rows: by model and category, with examples whose texts may be shown.
        kinds: by dialogue the categories of its final answer, where there are any.
    """

    totals: tuple[ErrorTotals, ...] = ()
    rows: tuple[CategoryRow, ...] = ()
    kinds: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Reading:
    """Reads dialogues and keeps what is counted.

    Attributes:
        cases: by ``label/id``.
        hide: whether texts of sealed cases must not be shown.
        infos: tasks by name.
        transcripts: those that were read, without long texts.
        asking: task labels that put questions to systems.
    """

    cases: Mapping[str, Case]
    hide: bool
    infos: Mapping[str, TaskInfo]
    transcripts: list[Transcript] = field(default_factory=list)
    asking: set[str] = field(default_factory=set)
    _errors: ErrorCounts = field(default_factory=ErrorCounts)
    _kinds: dict[Key, tuple[str, ...]] = field(default_factory=dict)

    def read(self, readers: Mapping[Key, Callable[[], Transcript]], order: Iterable[Key], each: Each | None) -> None:
        """Reads the dialogues of ``order``; ``each`` gets every one with the texts that may be shown."""
        for key in order:
            whole = readers[key]()
            shown = shown_part(whole, self.cases, hide=self.hide)
            case = shown_case(whole, self.cases, hide=self.hide)
            if each is not None:
                each(shown, self.infos.get(whole.task), case)
            if asks_question(whole):
                self.asking.add(whole.label)
            kinds = self._errors.add(whole, case, hidden=shown is not whole)
            if kinds:
                self._kinds[key] = kinds
            self.transcripts.append(slim(shown))

    def mistakes(self) -> Mistakes:
        """What was counted of wrong answers."""
        return Mistakes(self._errors.totals(), self._errors.rows(), self._kinds)


def shown_case(transcript: Transcript, cases: Mapping[str, Case], *, hide: bool) -> Case | None:
    """The case of ``transcript``; None when it is unknown, or sealed while ``hide`` is set."""
    case = cases.get(f"{transcript.label}/{transcript.case}")
    return None if case is None or (hide and case.sealed) else case


def shown_part(transcript: Transcript, cases: Mapping[str, Case], *, hide: bool) -> Transcript:
    """``transcript``, without its texts where its case is sealed (or unknown) and ``hide`` is set."""
    if hide and shown_case(transcript, cases, hide=True) is None:
        return without_texts(transcript)
    return transcript
