"""Runs in pieces: a run file, parts of workers, and ways to be killed in between."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pytest_llmkg.store import FILE_NAME, RunWriter, part_paths
from tests.builders import make_header, make_transcript, make_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_llmkg.records import RunHeader, Transcript

__all__ = ["Stages", "dialogue", "write_part", "write_run"]


def dialogue(iteration: int, text: str = "Zürich", *, failed: bool = False, second: int = 0) -> Transcript:
    """The nth dialogue of one case, begun in this second; a failed one kept the turn that it had paid for."""
    from dataclasses import replace

    made = make_transcript(make_turn({"f1": 0.5}, text=text), iteration=iteration, error="down" if failed else None)
    return replace(made, started=f"2026-01-01T00:00:{second:02d}+00:00")


def write_run(directory: Path, transcripts: Sequence[Transcript] = (), header: RunHeader | None = None) -> Path:
    """A run directory with these transcripts."""
    with RunWriter(directory / FILE_NAME) as writer:
        writer.header(header or make_header("m"))
        for transcript in transcripts:
            writer.transcript(transcript)
    return directory


def write_part(directory: Path, name: str, transcripts: Sequence[Transcript]) -> Path:
    """A worker's part in a run directory."""
    with RunWriter.part(directory, name) as writer:
        for transcript in transcripts:
            writer.transcript(transcript)
    return writer.path


class Stages:
    """Copies of a run directory at all moments at which its process could have been killed.

    Every write to the run file is cut at its first byte, in its middle, before its newline and behind it; every part
    that is removed is a moment of its own.
    """

    def __init__(self, directory: Path, into: Path) -> None:
        self._directory = directory
        self._into = into
        self.copies: list[Path] = []

    def take(self) -> Path:
        """One more copy of the directory as it is now."""
        copy = self._into / f"{len(self.copies):04d}"
        shutil.copytree(self._directory, copy)
        self.copies.append(copy)
        return copy

    def writing(self, line: bytes) -> None:
        """Copies in which a part of ``line`` has been appended."""
        for cut in sorted({0, 1, len(line) // 2, len(line) - 1}):
            with (self.take() / FILE_NAME).open("ab") as file:
                file.write(line[:cut])

    def removing(self, unlink: Callable[[Path], None]) -> Callable[..., None]:
        """``unlink`` with a copy before and after each part."""

        def remove(path: Path, missing_ok: bool = False) -> None:
            if path in part_paths(self._directory):
                self.take()
            unlink(path)
            self.take()

        return remove
