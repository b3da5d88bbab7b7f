"""Where a page keeps its dialogues: inside itself when they are few, else in files beside it that it loads by need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.errors import UserError
from pytest_llmkg.reporting.dialogues import dialogue_view
from pytest_llmkg.reporting.packing import packed, script_safe
from pytest_llmkg.reporting.writing import write_atomically

if TYPE_CHECKING:
    from pytest_llmkg.records import Case, TaskInfo, Transcript
    from pytest_llmkg.reporting.views import Report

__all__ = ["INLINE_LIMIT", "DialogueData", "DialogueFiles", "GroupData", "inline_data"]

INLINE_LIMIT = 2_000_000
"""Characters of dialogues that a page holds itself."""

_FILE_SIZE = 1_000_000
_FILE_NAME = re.compile(r"g\d{5}\.js")

Group = tuple[str, str]


@dataclass(frozen=True, slots=True)
class GroupData:
    """The dialogues of one model and label, by case and iteration.

    Attributes:
        texts: as JSON, the first ones; none when they are in files.
        files: (number of a file, place of its first dialogue) in order; none when they are in the page.
    """

    texts: tuple[str, ...] = ()
    files: tuple[tuple[int, int], ...] = ()


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
    _kept: dict[Group, list[str]] = field(default_factory=dict)
    _files: dict[Group, list[tuple[int, int]]] = field(default_factory=dict)
    _size: int = 0
    _number: int = 0
    _writing: bool = False

    def add(self, transcript: Transcript, info: TaskInfo | None, case: Case | None) -> None:
        """Takes one dialogue, with the texts that may be shown.

        Raises:
            UserError: a file cannot be written.
        """
        group = (transcript.model, transcript.label)
        if self._writing and group not in self._kept:
            self._write_all()
        text = packed(dialogue_view(transcript, info, case))
        self._kept.setdefault(group, []).append(text)
        self._size += len(text)
        if not self._writing and self._size > self.limit:
            self._writing = True

    def finish(self) -> DialogueData:
        """What the page needs to know; removes files of an earlier page.

        Raises:
            UserError: a file cannot be written or removed.
        """
        if not self._writing:
            self._clear()
            return DialogueData({group: GroupData(tuple(texts)) for group, texts in self._kept.items()})
        self._write_all()
        self._clear()
        groups = {group: GroupData(files=tuple(files)) for group, files in self._files.items()}
        return DialogueData(groups, self.folder.name, self.token)

    def _write_all(self) -> None:
        for group, texts in self._kept.items():
            start, size = 0, 0
            for place, text in enumerate(texts):
                if size and size + len(text) > _FILE_SIZE:
                    self._write(group, texts, start, place)
                    start, size = place, 0
                size += len(text)
            self._write(group, texts, start, len(texts))
        self._kept = {}

    def _write(self, group: Group, texts: list[str], start: int, end: int) -> None:
        self._files.setdefault(group, []).append((self._number, start))
        listed = ",\n".join(texts[start:end])
        text = f"llmkgDialogues({script_safe(self.token)},{self._number},[{listed}]);\n"
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


def inline_data(report: Report, limit: int = INLINE_LIMIT) -> DialogueData:
    """The dialogues of ``report`` for a page without files: the first of each group, as many as ``limit`` holds."""
    infos = {info.name: info for info in report.tasks}
    groups = {key: list(found) for key, found in groupby(report.transcripts, key=lambda t: (t.model, t.label))}
    texts: dict[Group, list[str]] = {key: [] for key in groups}
    size = 0
    for place in range(max(map(len, groups.values()), default=0)):
        for key, found in groups.items():
            if place < len(found) and size <= limit:
                transcript = found[place]
                view = dialogue_view(report.full(transcript), infos.get(transcript.task), report.shown_case(transcript))
                texts[key].append(packed(view))
                size += len(texts[key][-1])
        if size > limit:
            break
    return DialogueData({key: GroupData(tuple(found)) for key, found in texts.items()})
