"""Result files of LLM-KG-Bench on disk: JSON lists of records, perhaps compressed or encrypted."""

from __future__ import annotations

import gzip
import io
import json
import math
import struct
import zlib
from typing import TYPE_CHECKING

from pytest_llmkg.errors import RunFileError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_llmkg.plain import Json

__all__ = ["is_result_file", "read_records", "write_records"]

_ENDINGS = (".json", ".gz", ".zip")
_LARGEST_FILE = 2 * 2**30
_DEEPEST = 100
_MOST_NAMED = 5
# What damaged bytes make the library raise, besides its own error.
_ZIP_ERRORS = (
    RuntimeError,
    NotImplementedError,
    EOFError,
    ValueError,
    LookupError,
    OverflowError,
    struct.error,
    zlib.error,
)


def is_result_file(path: Path) -> bool:
    """Whether ``path`` is named like a result file, not like a run file of this program."""
    return path.suffix in _ENDINGS


def read_records(path: Path, password: str | None = None) -> list[dict[str, Json]]:
    """The records of a result file: JSON, gzipped JSON, or an AES-encrypted zip, which is opened in memory only.

    Raises:
        RunFileError: not such a file, or a wrong or missing password.
    """
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise RunFileError(f"{path}: larger than {_LARGEST_FILE // 2**30} GiB")
        content = path.read_bytes()
        if path.suffix == ".zip":
            content = _unzipped(path, content, password)
        elif path.suffix == ".gz":
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
                content = _limited(path, packed.read(_LARGEST_FILE + 1))
        # NaN and infinities are no JSON, but Python programs write them; they become null.
        records = json.loads(content, parse_constant=_nothing, parse_float=_finite)
    except OSError as error:
        raise RunFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (EOFError, ValueError, RecursionError, zlib.error) as error:  # also bad UTF-8, numbers of 5,000 digits
        raise RunFileError(f"{path}: not a complete JSON file: {error}") from error
    if not isinstance(records, list) or not all(isinstance(r, dict) and "taskInfo" in r for r in records):
        raise RunFileError(f"{path}: not an LLM-KG-Bench result file (a list of records with 'taskInfo')")
    if _is_deep(records):
        raise RunFileError(f"{path}: nested deeper than {_DEEPEST} levels, which no result file is")
    return records


def _nothing(_constant: str) -> None:
    """What stands for a constant that JSON does not have."""


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _is_deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _limited(path: Path, content: bytes) -> bytes:
    if len(content) > _LARGEST_FILE:
        raise RunFileError(f"{path}: larger than {_LARGEST_FILE // 2**30} GiB when unpacked")
    return content


def _unzipped(path: Path, content: bytes, password: str | None) -> bytes:
    import pyzipper

    try:
        with pyzipper.AESZipFile(io.BytesIO(content)) as archive:
            names = [name for name in archive.namelist() if name.endswith(".json") and "result" in name]
            if len(names) != 1:
                raise _not_one(path, names)
            archive.setpassword((password or "").encode())
            with archive.open(names[0]) as packed:
                return _limited(path, packed.read(_LARGEST_FILE + 1))
    except (*_ZIP_ERRORS, pyzipper.BadZipFile) as error:
        hint = (
            "the password is wrong or the file is damaged"
            if password
            else "give --password or set LLMKG_PASSWORD if it is encrypted"
        )
        raise RunFileError(f"{path}: the archive cannot be opened ({error}); {hint}") from error


def _not_one(path: Path, names: Sequence[str]) -> RunFileError:
    """The complaint about an archive with no result file, or with several: which one counts nobody can tell.

    Several may be of several models, or the same dialogues scored twice.
    """
    if not names:
        return RunFileError(f"{path}: holds no result file (*result*.json)")
    shown = ", ".join(f"{name!r:.100}" for name in names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
    return RunFileError(
        f"{path}: holds {len(names)} result files ({shown}); unpack it and give those that are meant one by one"
    )


def write_records(path: Path, records: Sequence[object], password: str | None = None) -> None:
    """Writes ``records`` as the ending of ``path`` says: JSON, ``.gz``, or a ``.zip`` encrypted by ``password``.

    Raises:
        RunFileError: the file cannot be written, or a zip has no password.
    """
    content = json.dumps(records, indent=2, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    elif path.suffix == ".zip":
        content = _zipped(path, content, password)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise RunFileError(f"{path}: cannot be written: {error.strerror or error}") from error


def _zipped(path: Path, content: bytes, password: str | None) -> bytes:
    import pyzipper

    if not password:
        raise RunFileError(f"{path}: an archive needs a password; give --password or set LLMKG_PASSWORD")
    memory = io.BytesIO()
    with pyzipper.AESZipFile(memory, "w", compression=pyzipper.ZIP_DEFLATED, encryption=pyzipper.WZ_AES) as archive:
        archive.setpassword(password.encode())
        archive.writestr(f"{path.stem}_result.json", content)
    return memory.getvalue()
