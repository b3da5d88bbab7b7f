"""The lines of a run file: how they are written, sealed, found again and checked."""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.errors import RecordError, RunFileError, UserError
from pytest_llmkg.plain import Json, from_plain
from pytest_llmkg.records import Case, RunHeader, Transcript
from pytest_llmkg.sealing import Cipher, Lock, open_lock, private_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "FILE_NAME",
    "SCHEMA",
    "SEALED_LINES",
    "Line",
    "Receipt",
    "cipher_of",
    "decode_line",
    "encode_line",
    "open_line",
    "part_paths",
    "read_line",
    "read_transcript",
    "record_of",
    "scan",
    "seal_line",
]

SCHEMA = 1
"""Number of the layout that this version writes, and the newest that it reads."""

FILE_NAME = "run.jsonl"
"""Name of the run file inside a run directory."""

SEALED_LINES = "sealed_lines"
"""The setting of a header that holds the lock of a run file's sealed lines; absent or None when none is sealed."""

_BOUND = b"llmkg sealed line of a run file"
_DIGITS = 300  # of a whole number; from 309 on it is beyond every float


@dataclass(frozen=True, slots=True)
class Receipt:
    """Where a line stands: the file, the byte that it begins at, and its bytes without the newline."""

    path: Path
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a run file; ``data`` is its object, None when it is broken; ``number`` counts from 1."""

    receipt: Receipt
    number: int
    data: dict[str, Json] | None

    @property
    def place(self) -> str:
        """File and line, for complaints."""
        return f"{self.receipt.path}:{self.number}"


def part_paths(directory: Path) -> tuple[Path, ...]:
    """The parts of workers beside the run file of ``directory``, by name."""
    return tuple(sorted(path for path in directory.glob("run.*.jsonl") if path.is_file()))


def encode_line(kind: str, plain: Json) -> bytes:
    """The line of a record, without a newline."""
    return _json({"kind": kind, **plain} if isinstance(plain, dict) else {"kind": kind})


def seal_line(line: bytes, cipher: Cipher) -> bytes:
    """The sealed line that holds ``line``."""
    return _json({"kind": "sealed", "data": b64encode(cipher.seal(line, _BOUND)).decode("ascii")})


def _json(record: Json) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def decode_line(line: bytes) -> dict[str, Json] | None:
    """The object in ``line``, None if the line is broken, as it is with a number that no float can hold (``1e999``)."""
    try:
        data = _DECODER.decode(line.decode("utf-8"))
    except (ValueError, RecursionError):  # no JSON, or nested without end
        return None
    return data if isinstance(data, dict) else None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.20} is beyond all bounds")
    return number


def _int(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"a number of {len(text)} digits is beyond all bounds")
    return int(text)


# Made once, since json.loads would make one for each line.
_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_float, parse_int=_int)


def scan(path: Path) -> Iterator[Line]:
    """The lines of ``path`` one at a time, without blank ones; only the last one may come as broken.

    Raises:
        RunFileError: the file cannot be read, or a line that is not the last one is broken.
    """
    broken: Line | None = None
    offset = 0
    try:
        with path.open("rb") as file:
            for number, text in enumerate(file, 1):
                body = text.rstrip(b"\n")
                if body.strip():
                    if broken is not None:
                        raise _no_object(broken.place)
                    line = Line(Receipt(path, offset, len(body)), number, decode_line(body))
                    if line.data is None:
                        broken = line
                    else:
                        yield line
                offset += len(text)
    except FileNotFoundError as error:
        raise RunFileError(f"{path}: no such run file; give a run directory or a {FILE_NAME}") from error
    except OSError as error:
        raise RunFileError(f"{path}: cannot read the run file: {error.strerror}") from error
    if broken is not None:
        yield broken


def cipher_of(lock: Json, place: str) -> Cipher | None:
    """The cipher of a header's setting `SEALED_LINES`; None when nothing is sealed.

    Raises:
        RunFileError: the setting is broken, or the key is missing or another one.
    """
    if lock is None:
        return None
    try:
        return open_lock(from_plain(Lock, lock, "lock"), private_key())
    except RecordError as error:
        raise RunFileError(f"{place}: the header's setting {SEALED_LINES!r} is broken: {error}") from error
    except UserError as error:
        raise RunFileError(f"{place}: {error}") from error


def open_line(data: Mapping[str, Json], cipher: Cipher | None, place: str) -> dict[str, Json]:
    """The object inside a sealed line.

    Raises:
        RunFileError: there is no cipher, the line was changed, or it is of another run.
    """
    if cipher is None:
        raise RunFileError(f"{place}: the line is sealed, but the header has no setting {SEALED_LINES!r}; restore it")
    try:
        opened = decode_line(cipher.open(b64decode(str(data.get("data")), validate=True), _BOUND))
    except ValueError as error:
        raise RunFileError(f"{place}: was changed or damaged after it was sealed; restore it") from error
    except UserError as error:
        raise RunFileError(f"{place}: {error}") from error
    if opened is None:
        raise _no_object(place)
    return opened


def record_of(data: Mapping[str, Json], place: str) -> RunHeader | Case | Transcript:
    """The record of a line's object.

    Raises:
        RunFileError: an unknown kind, a newer schema, or a broken record.
    """
    kind = data.get("kind")
    fields = {name: value for name, value in data.items() if name != "kind"}
    if kind == "header":
        _check_schema(fields, place)
    try:
        if kind == "header":
            return from_plain(RunHeader, fields)
        if kind == "case":
            return from_plain(Case, fields)
        if kind == "transcript":
            return from_plain(Transcript, fields)
    except RecordError as error:
        raise RunFileError(f"{place}: broken {kind}: {error}; restore the file or delete that line") from error
    raise RunFileError(f"{place}: unknown kind of line {kind!r}; update pytest-llmkg or delete that line")


def _check_schema(data: Mapping[str, Json], place: str) -> None:
    schema = data.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise RunFileError(f"{place}: the header has no schema number; is this a run file?")
    if schema > SCHEMA:
        raise RunFileError(
            f"{place}: the run file has schema {schema}, but this version reads up to {SCHEMA}; update pytest-llmkg"
        )


def read_line(receipt: Receipt) -> bytes:
    """The line that ``receipt`` is of.

    Raises:
        RunFileError: the file cannot be read or ends before the line does.
    """
    try:
        with receipt.path.open("rb") as file:
            file.seek(receipt.offset)
            line = file.read(receipt.length)
    except OSError as error:
        raise RunFileError(f"{receipt.path}: cannot read the run file: {error.strerror}") from error
    if len(line) != receipt.length:
        raise RunFileError(f"{receipt.path}: ends before the line at byte {receipt.offset} does; was it changed?")
    return line


def read_transcript(receipt: Receipt, cipher: Cipher | None = None) -> Transcript:
    """The transcript that ``receipt`` is of; ``cipher`` opens it when it is sealed.

    Raises:
        RunFileError: it cannot be read, is sealed and cannot be opened, or no transcript stands there.
    """
    place = f"{receipt.path}, byte {receipt.offset}"
    data = decode_line(read_line(receipt))
    if data is None:
        raise _no_object(place)
    record = record_of(open_line(data, cipher, place) if data.get("kind") == "sealed" else data, place)
    if not isinstance(record, Transcript):
        raise RunFileError(f"{place}: expected a transcript, found a {type(record).__name__}; was the file changed?")
    return record


def _no_object(place: str) -> RunFileError:
    return RunFileError(
        f"{place}: the line is no JSON object, or holds a number beyond all bounds; restore the file or delete the line"
    )
