"""Sealed files: a case file, or a graph of one, as ``NAME.sealed``, opened in memory only.

A sealed file is a JSON object in one fixed writing, so that every byte of it counts: what it is, the number of the
layout, the canary, the `Lock` and, in lines, the encrypted text. All of it but the encrypted text is bound to that
text, so a change anywhere makes the file unreadable. Inside, the canary stands once more before the text.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.errors import CaseFileError, RecordError, UserError
from pytest_llmkg.plain import Json, from_plain, to_plain
from pytest_llmkg.sealing import CANARY, Cipher, Lock, SealKey, open_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = [
    "LARGEST_FILE",
    "SUFFIX",
    "OpenedFile",
    "case_files_in",
    "open_sealed",
    "plain_name",
    "read_opened",
    "seal_text",
    "with_canary",
]

SUFFIX = ".sealed"
LARGEST_FILE = 64 * 2**20
"""Bytes that a case file or graph may have."""

_FORMAT = "llmkg sealed file: scrypt, AES-256-GCM"
_VERSION = 1
_LINE = 76


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """The text of a file; ``cipher`` is what opened it, None for a plain file."""

    text: str
    cipher: Cipher | None = None

    @property
    def sealed(self) -> bool:
        """Whether the file was sealed."""
        return self.cipher is not None


def seal_text(text: str, cipher: Cipher) -> bytes:
    """The content of the sealed file of ``text``; another one each time, since the nonce is fresh."""
    data = cipher.seal(f"{CANARY}\n{text}".encode(), _bound(cipher.lock))
    return _written(cipher.lock, data)


def open_sealed(content: bytes, place: str, private: SealKey | None) -> OpenedFile:
    """The text in the sealed file ``content``.

    Args:
        content: of the file; line ends may have become CR LF on the way.
        place: the file's name for complaints.
        private: the user's own key, None if there is none.

    Raises:
        CaseFileError: no sealed file, a newer layout, a missing or wrong key, or a byte that was changed.
    """
    try:
        lock, data = _parsed(content.replace(b"\r\n", b"\n"))
        cipher = open_lock(lock, private)
        text = cipher.open(data, _bound(lock)).decode("utf-8")
    except UserError as error:
        raise CaseFileError(f"{place}: {error}") from error
    return OpenedFile(text.partition("\n")[2], cipher)


def read_opened(path: Path, place: str, private: Callable[[], SealKey | None]) -> OpenedFile:
    """The text of ``path``, which is sealed when its name ends with `SUFFIX`; line ends of a plain one become LF.

    Args:
        path: the file.
        place: its name for complaints.
        private: gives the user's own key; asked for sealed files only.

    Raises:
        CaseFileError: it cannot be read, is too large, is no UTF-8, or is sealed and cannot be opened.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise CaseFileError(f"{place}: larger than {LARGEST_FILE // 2**20} MiB; split the file")
        if path.suffix == SUFFIX:
            content = path.read_bytes()
            return open_sealed(content, place, _key(private, place))
        return OpenedFile(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CaseFileError(f"{place}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CaseFileError(f"{place}: not a text in UTF-8: {error}") from error


def case_files_in(folder: Path) -> Iterable[Path]:
    """The case files of ``folder``, plain and sealed, in the order of their plain names.

    Raises:
        CaseFileError: one is there in both forms, so that nobody knows which one counts.
    """
    found: dict[str, Path] = {}
    for path in (*folder.glob("*.toml"), *folder.glob(f"*.toml{SUFFIX}")):
        if plain_name(path.name) in found:
            raise CaseFileError(f"{path}: is there plain, too; delete one of the two")
        found[plain_name(path.name)] = path
    return [found[name] for name in sorted(found)]


def plain_name(name: str) -> str:
    """The name of a sealed file without `SUFFIX`."""
    return name.removesuffix(SUFFIX)


def with_canary(text: str) -> str:
    """A case file with the canary, as a comment on top unless it is there already."""
    return text if CANARY in text else f"# {CANARY}\n{text}"


def _key(private: Callable[[], SealKey | None], place: str) -> SealKey | None:
    try:
        return private()
    except UserError as error:
        raise CaseFileError(f"{place}: {error}") from error


def _bound(lock: Lock) -> bytes:
    """What the encrypted text is bound to: everything that stands in clear beside it."""
    return _json(_head(lock)).encode("utf-8")


def _head(lock: Lock) -> dict[str, Json]:
    return {"format": _FORMAT, "version": _VERSION, "canary": CANARY, "lock": to_plain(lock)}


def _written(lock: Lock, data: bytes) -> bytes:
    text = b64encode(data).decode("ascii")
    lines: list[Json] = [text[start : start + _LINE] for start in range(0, len(text), _LINE)]
    return (_json({**_head(lock), "data": lines}) + "\n").encode("utf-8")


def _json(data: Json) -> str:
    return json.dumps(data, ensure_ascii=False, indent=0)


def _parsed(content: bytes) -> tuple[Lock, bytes]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError("is no sealed file, or was cut off or damaged; restore it") from error
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise UserError(f"is no sealed file: field 'format' must be {_FORMAT!r}")
    version = found.get("version")
    if version != _VERSION:
        raise UserError(f"has layout {version!r:.20}, this version reads {_VERSION}; update pytest-llmkg")
    try:
        lock = from_plain(Lock, found.get("lock"), "lock")
        data = b64decode("".join(found.get("data", ())), validate=True)
    except (RecordError, ValueError, TypeError) as error:
        raise UserError("was changed or damaged after it was sealed; restore it") from error
    # Another writing of the same object would leave bytes that no authentication tag covers.
    if _written(lock, data) != content:
        raise UserError("was changed or damaged after it was sealed; restore it")
    return lock, data
