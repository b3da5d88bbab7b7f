"""Where a page keeps its dialogues: inside itself when they are few, else in files beside it that it loads by need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.errors import UserError
from pytest_llmkg.reporting.dialogues import case_view, dialogue_view
from pytest_llmkg.reporting.packing import compact, packed, packed_case
from pytest_llmkg.reporting.writing import write_atomically

if TYPE_CHECKING:
    from pytest_llmkg.records import Case, TaskInfo, Transcript
    from pytest_llmkg.reporting.views import Report

__all__ = ["INLINE_LIMIT", "DialogueData", "DialogueFiles", "GroupData", "inline_data"]

INLINE_LIMIT = 2_000_000
"""Characters of dialogues that a page holds itself."""

_FILE_SIZE = 1_000_000
_MOST_UNWRITTEN = 8_000_000
_FILE_NAME = re.compile(r"g\d{5}\.js")

Group = tuple[str, str]


@dataclass(slots=True)
class GroupData:
    """The dialogues of one model and label, by case and iteration.

    Attributes:
        texts: as JSON, the first ones; none when they are in files.
        cases: for each text the JSON of its case, empty where it is unknown or must not be shown.
        files: (number of a file, place of its first dialogue) in order; none when they are in the page.
        written: how many dialogues are in files.
    """

    texts: list[str] = field(default_factory=list)
    cases: list[str] = field(default_factory=list)
    files: list[tuple[int, int]] = field(default_factory=list)
    written: int = 0

    def add(self, text: str, case: str) -> int:
        """Takes a dialogue; returns by how many characters the group has grown."""
        size = len(text) + (0 if case in self.cases else len(case))
        self.texts.append(text)
        self.cases.append(case)
        return size

    def part(self, start: int = 0, end: int | None = None) -> str:
        """Two lists as JSON: dialogues, and their cases, each once."""
        cases = dict.fromkeys(case for case in self.cases[start:end] if case)
        return f"[{','.join(self.texts[start:end])}],[{','.join(cases)}]"


@dataclass(frozen=True, slots=True)
class DialogueData:
    """The dialogues of a page.

    Attributes:
        groups: by (model, label).
        folder: name of the folder beside the page that holds the files, None when there are none.
        token: what every file says so that none of another page is taken for one of this.
    """

    groups: Mapping[Group, GroupData]
    folder: str | None = None
    token: str = ""

    @property
    def is_inline(self) -> bool:
        """Whether the page holds them itself."""
        return self.folder is None


@dataclass(slots=True)
class DialogueFiles:
    """Takes dialogues one at a time, those of one model and label together, and writes files when they are many.

    Attributes:
        folder: for the files; it is made when it is needed.
        token: of the page.
        limit: characters up to which nothing is written.
    """

    folder: Path
    token: str
    limit: int = INLINE_LIMIT
    _groups: dict[Group, GroupData] = field(default_factory=dict)
    _waiting: list[GroupData] = field(default_factory=list)
    _cases: dict[tuple[str, str], str] = field(default_factory=dict)
    _size: int = 0
    _unwritten: int = 0
    _number: int = 0

    def add(self, transcript: Transcript, info: TaskInfo | None, case: Case | None) -> None:
        """Takes one dialogue, with the texts that may be shown.

        Raises:
            UserError: a file cannot be written.
        """
        group = self._groups.setdefault((transcript.model, transcript.label), GroupData())
        if self._size > self.limit and (not group.texts or self._unwritten > _MOST_UNWRITTEN):
            self._write_waiting()
        if not group.texts:
            self._waiting.append(group)
        text = packed(dialogue_view(transcript, info, case, alone=False))
        size = group.add(text, _case_text(case, self._cases))
        self._size += size
        self._unwritten += size

    def finish(self) -> DialogueData:
        """What the page needs to know; removes files of an earlier page.

        Raises:
            UserError: a file cannot be written or removed.
        """
        is_large = self._size > self.limit
        if is_large:
            self._write_waiting()
        self._clear()
        return DialogueData(self._groups, self.folder.name if is_large else None, self.token if is_large else "")

    def _write_waiting(self) -> None:
        for group in self._waiting:
            start, size = 0, 0
            for place, text in enumerate(group.texts):
                if size and size + len(text) > _FILE_SIZE:
                    self._write(group, start, place)
                    start, size = place, 0
                size += len(text)
            self._write(group, start, len(group.texts))
            group.written += len(group.texts)
            group.texts, group.cases = [], []
        self._waiting, self._unwritten = [], 0

    def _write(self, group: GroupData, start: int, end: int) -> None:
        group.files.append((self._number, group.written + start))
        text = f"llmkgDialogues({compact(self.token)},{self._number},{group.part(start, end)});\n"
        write_atomically(self.folder / _name(self._number), text)
        self._number += 1

    def _clear(self) -> None:
        """Removes what a page before this one left, and the folder when it is empty."""
        own = {_name(number) for number in range(self._number)}
        try:
            for path in self.folder.iterdir() if self.folder.is_dir() else ():
                if _FILE_NAME.fullmatch(path.name) and path.name not in own:
                    path.unlink()
            if not own and self.folder.is_dir() and not any(self.folder.iterdir()):
                self.folder.rmdir()
        except OSError as error:
            raise UserError(f"{self.folder}: cannot remove files of an older page: {error.strerror}") from error


def _name(number: int) -> str:
    return f"g{number:05d}.js"


def _case_text(case: Case | None, known: dict[tuple[str, str], str]) -> str:
    if case is None:
        return ""
    if (case.label, case.id) not in known:
        known[case.label, case.id] = packed_case(case_view(case))
    return known[case.label, case.id]


def inline_data(report: Report, limit: int = INLINE_LIMIT) -> DialogueData:
    """The dialogues of ``report`` for a page without files: the first of each group, as many as ``limit`` holds."""
    infos = {info.name: info for info in report.tasks}
    found = {key: list(group) for key, group in groupby(report.transcripts, key=lambda t: (t.model, t.label))}
    groups = {key: GroupData() for key in found}
    cases: dict[tuple[str, str], str] = {}
    size = 0
    for place in range(max(map(len, found.values()), default=0)):
        for key, transcripts in found.items():
            if place < len(transcripts) and size <= limit:
                one = transcripts[place]
                case = report.shown_case(one)
                view = dialogue_view(report.full(one), infos.get(one.task), case, alone=False)
                size += groups[key].add(packed(view), _case_text(case, cases))
        if size > limit:
            break
    return DialogueData(groups)
