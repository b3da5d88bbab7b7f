"""Which of several transcripts of one dialogue counts, and which do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from pytest_llmkg.store.lines import Receipt, read_line

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.records import Transcript

__all__ = ["Counting", "DialogueKey", "Entry", "counts_before", "key_of"]

T = TypeVar("T")


class DialogueKey(NamedTuple):
    """Which dialogue: the case (by label and id), the model id and which time it was asked."""

    label: str
    case: str
    model: str
    iteration: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A transcript of a dialogue.

    Attributes:
        receipt: where it stands.
        failed: whether it ended as an error.
        started: when the dialogue began (UTC, ISO 8601).
        sealed: whether its line is sealed.
    """

    receipt: Receipt
    failed: bool
    started: str
    sealed: bool


def key_of(transcript: Transcript) -> DialogueKey:
    """Which dialogue ``transcript`` is of."""
    return DialogueKey(transcript.label, transcript.case, transcript.model, transcript.iteration)


class Counting(Generic[T]):
    """Finds the transcript that counts of each dialogue, when all are added in the order of their files and lines.

    Of one file an evaluated one counts before one that ended as an error, and else the later one. The winners of
    several files are compared likewise, where later means begun later; of those begun in the same second the longer
    line counts.
    """

    def __init__(self) -> None:
        self._before: dict[DialogueKey, tuple[Entry, T]] = {}
        self._now: dict[DialogueKey, tuple[Entry, T]] = {}
        self._lost: list[tuple[DialogueKey, Entry, T]] = []
        self._files: list[Path] = []

    def add(self, key: DialogueKey, entry: Entry, value: T) -> None:
        """Adds a transcript, as whatever ``value`` the caller keeps of it."""
        if not self._files or entry.receipt.path != self._files[-1]:
            self.all()
            self._files.append(entry.receipt.path)
        old = self._now.get(key)
        if old is not None and not old[0].failed and entry.failed:
            self._lost.append((key, entry, value))
            return
        if old is not None:
            self._lost.append((key, *old))
        self._now[key] = (entry, value)

    def all(self) -> dict[DialogueKey, tuple[Entry, T]]:
        """What counts of all that was added, in the order that the dialogues were first found."""
        for key, new in self._now.items():
            old = self._before.get(key)
            if old is None:
                self._before[key] = new
            elif counts_before(new[0], old[0]):
                self._before[key] = new
                self._lost.append((key, *old))
            else:
                self._lost.append((key, *new))
        self._now = {}
        return self._before

    def others(self) -> list[tuple[DialogueKey, Entry, T]]:
        """What does not count, in the order of files and lines.

        A line that stands in two files, since a part was absorbed by half, is one attempt: it comes once, from the
        first file, and not at all if it counts.
        """
        counting = self.all()
        seen: dict[DialogueKey, list[Entry]] = {}
        found = []
        for key, entry, value in sorted(self._lost, key=self._place):
            known = seen.setdefault(key, [counting[key][0]])
            if not any(_is_same(entry, other) for other in known):
                known.append(entry)
                found.append((key, entry, value))
        return found

    def _place(self, lost: tuple[DialogueKey, Entry, T]) -> tuple[int, int]:
        receipt = lost[1].receipt
        return self._files.index(receipt.path), receipt.offset


def _is_same(one: Entry, other: Entry) -> bool:
    """Whether two lines are one attempt; few are read for it, since most attempts begin at times of their own."""
    if one.started != other.started or one.receipt.length != other.receipt.length:
        return False
    return read_line(one.receipt) == read_line(other.receipt)


def counts_before(new: Entry, old: Entry) -> bool:
    """Whether ``new``, of a later file, counts and not ``old``."""
    if new.failed != old.failed:
        return old.failed
    if new.started != old.started:
        return new.started > old.started
    # Begun in the same second. The choice must not depend on the order of the files, since a run file that absorbed
    # parts half may hold the very line that comes again here.
    one, other = new.receipt, old.receipt
    if one == other or one.length != other.length:
        return one.length > other.length
    return read_line(one) > read_line(other)
