"""Run files: append-only JSON Lines of plain records.

The first line is the header, then follow cases (once each) and transcripts (one for each finished dialogue),
every line an object whose first key ``kind`` says which. Each line goes to the operating system before the
call returns, so a process that is killed loses nothing that it had finished. Aggregates are never stored,
always computed.

A header whose settings hold a `pytest_llmkg.sealing.Lock` as ``sealed_lines`` makes the file keep sealed cases
secret: their lines, and those of their transcripts, are stored as ``{"kind":"sealed","data":"..."}``.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pytest_llmkg.errors import RecordError, RunFileError, UserError
from pytest_llmkg.plain import Json, from_plain, to_plain
from pytest_llmkg.records import Case, RunHeader, Transcript
from pytest_llmkg.sealing import Cipher, Lock, open_lock, private_key

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["FILE_NAME", "SCHEMA", "SEALED_LINES", "Run", "RunWriter", "read_run"]

SCHEMA = 1
"""Number of the layout that this version writes, and the newest that it reads."""

FILE_NAME = "run.jsonl"
"""Name of the run file inside a run directory."""

SEALED_LINES = "sealed_lines"
"""The setting of a header that holds the lock of a run file's sealed lines; absent or None when none is sealed."""

_BOUND = b"llmkg sealed line of a run file"


@dataclass(frozen=True, slots=True)
class Run:
    """What a run file holds.

    Attributes:
        header: its first line.
        cases: by ``label/id``.
        transcripts: in the order they were finished; of several for the same case, label, model and
            iteration the last one counts and takes the place of the first.
        truncated: True when the last line was cut off, which happens when the process was killed while it
            wrote.
    """

    header: RunHeader
    cases: Mapping[str, Case]
    transcripts: tuple[Transcript, ...]
    truncated: bool = False


class RunWriter:
    """Appends records to a run file.

    Args:
        path: the file; its directory is made. Unless ``resume`` is set it must not exist, so that no run is
            lost.
        resume: go on with an existing file; a last line that was cut off is removed first.

    Raises:
        RunFileError: the file exists (or, to resume, cannot be read), or cannot be written, or is to be sealed
            with a key that is missing.
    """

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        self.path = path
        self._cases: dict[str, Json] = {}
        self._has_header = False
        self._cipher: Cipher | None = None
        try:
            if resume:
                self._adopt()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab" if resume else "xb", buffering=0)
        except FileExistsError as error:
            raise RunFileError(f"{path}: the run file exists already; choose another directory or resume it") from error
        except OSError as error:
            raise RunFileError(f"{path}: cannot write the run file: {error.strerror}") from error

    def header(self, header: RunHeader) -> None:
        """Writes the first line; exactly once for each file."""
        if self._has_header:
            raise RunFileError(f"{self.path}: the run file has a header already")
        self._cipher = _cipher_of(header, f"{self.path}:1")
        self._write("header", to_plain(header))
        self._has_header = True

    def case(self, case: Case) -> None:
        """Writes ``case`` unless the file holds it; the same label and id with other data is an error."""
        key, plain = f"{case.label}/{case.id}", to_plain(case)
        if key not in self._cases:
            self._write("case", plain, secret=case.sealed)
            self._cases[key] = plain
        elif self._cases[key] != plain:
            raise RunFileError(f"{self.path}: case {key} differs from the one in this run file; start a new run")

    def transcript(self, transcript: Transcript) -> None:
        """Writes a finished dialogue; where lines are sealed, those of unknown cases are sealed to be safe."""
        case = self._cases.get(f"{transcript.label}/{transcript.case}")
        secret = not isinstance(case, dict) or bool(case["sealed"])
        self._write("transcript", to_plain(transcript), secret=secret)

    def close(self) -> None:
        """Closes the file; calling it again does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _adopt(self) -> None:
        run = read_run(self.path)
        self._has_header = True
        self._cipher = _cipher_of(run.header, f"{self.path}:1")
        self._cases = {key: to_plain(case) for key, case in run.cases.items()}
        _mend_end(self.path, truncated=run.truncated)

    def _write(self, kind: str, plain: Json, *, secret: bool = False) -> None:
        if kind != "header" and not self._has_header:
            raise RunFileError(f"{self.path}: the header must be written first")
        line = _json({"kind": kind, **plain} if isinstance(plain, dict) else {"kind": kind})
        if secret and self._cipher is not None:
            sealed = b64encode(self._cipher.seal(line, _BOUND)).decode("ascii")
            line = _json({"kind": "sealed", "data": sealed})
        rest = memoryview(line + b"\n")
        try:
            while rest:  # an unbuffered write may take only a part
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise RunFileError(f"{self.path}: cannot write the run file: {error.strerror}") from error


def _json(record: Json) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def _mend_end(path: Path, *, truncated: bool) -> None:
    """Makes ``path`` end with a whole line and a newline."""
    data = path.read_bytes()
    body = data.rstrip(b"\n")
    if truncated:
        with path.open("r+b") as file:
            file.truncate(body.rfind(b"\n") + 1)
    elif body == data:
        with path.open("ab") as file:
            file.write(b"\n")


def read_run(path: Path) -> Run:
    """The run in the file ``path``, or in ``run.jsonl`` of the directory ``path``.

    Raises:
        RunFileError: no such file, no header, an unknown kind of line, a newer schema, or a broken line that
            is not the last one, or a sealed line whose key is missing, wrong, or that was changed; the text
            names file and line.
    """
    if path.is_dir():
        path = path / FILE_NAME
    lines = _lines(path)
    header: RunHeader | None = None
    cases: dict[str, Case] = {}
    transcripts: dict[tuple[str, str, str, int], Transcript] = {}
    truncated, cipher = False, None
    for number, line in lines:
        place = f"{path}:{number}"
        data = _parse(line)
        if data is None and number == lines[-1][0]:
            truncated = True
            break
        if data is not None and header is not None and data.get("kind") == "sealed":
            cipher = cipher or _cipher_of(header, place)
            data = _opened(data, cipher, place)
        record = _record(data, place, first=header is None)
        if isinstance(record, RunHeader):
            header = record
        elif isinstance(record, Case):
            cases[f"{record.label}/{record.id}"] = record
        else:
            transcripts[(record.case, record.label, record.model, record.iteration)] = record
    if header is None:
        raise RunFileError(f"{path}: the run file has no header, so it holds no results; start the run again")
    return Run(header, cases, tuple(transcripts.values()), truncated)


def _lines(path: Path) -> list[tuple[int, bytes]]:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise RunFileError(f"{path}: no such run file; give a run directory or a {FILE_NAME}") from error
    except OSError as error:
        raise RunFileError(f"{path}: cannot read the run file: {error.strerror}") from error
    return [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]


def _parse(line: bytes) -> dict[str, Json] | None:
    """The object in ``line``, None if the line is broken."""
    try:
        data = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):  # no JSON, or nested without end
        return None
    return data if isinstance(data, dict) else None


def _cipher_of(header: RunHeader, place: str) -> Cipher | None:
    lock = header.settings.get(SEALED_LINES)
    if lock is None:
        return None
    try:
        return open_lock(from_plain(Lock, lock, "lock"), private_key())
    except RecordError as error:
        raise RunFileError(f"{place}: the header's setting {SEALED_LINES!r} is broken: {error}") from error
    except UserError as error:
        raise RunFileError(f"{place}: {error}") from error


def _opened(data: Mapping[str, Json], cipher: Cipher | None, place: str) -> dict[str, Json] | None:
    if cipher is None:
        raise RunFileError(f"{place}: the line is sealed, but the header has no setting {SEALED_LINES!r}; restore it")
    try:
        return _parse(cipher.open(b64decode(str(data.get("data")), validate=True), _BOUND))
    except ValueError as error:
        raise RunFileError(f"{place}: was changed or damaged after it was sealed; restore it") from error
    except UserError as error:
        raise RunFileError(f"{place}: {error}") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _record(data: dict[str, Json] | None, place: str, *, first: bool) -> RunHeader | Case | Transcript:
    if data is None:
        raise RunFileError(f"{place}: the line is no JSON object; restore the file or delete that line")
    kind = data.pop("kind", None)
    if first != (kind == "header"):
        expected = "expected the header first" if first else "a second header"
        raise RunFileError(f"{place}: {expected}, found a line of kind {kind!r}; is this a run file?")
    if kind == "header":
        _check_schema(data, place)
    try:
        if kind == "header":
            return from_plain(RunHeader, data)
        if kind == "case":
            return from_plain(Case, data)
        if kind == "transcript":
            return from_plain(Transcript, data)
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
