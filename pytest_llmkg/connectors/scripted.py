"""``scripted:FILE`` answers from a file that somebody wrote: for tests and for trying a suite out.

The file is JSON, or TOML when its name ends with ``.toml``::

    {
      "cases":   {"SomeLabel/some-case": ["answer of turn 1", "answer of turn 2"],
                  "OtherLabel/*": ["the same for every case of this label"]},
      "answers": ["for every other case: turn 1", "turn 2"]
    }

Either part may be absent. A case is looked up by its key ``label/id``, then among the keys with ``*``, ``?``
or ``[`` in the order of the file, then in ``answers``. The turn is the number of answers that the dialogue
already holds, so the same dialogue gets the same answer in any order and in any process. In place of a text
may stand an object:

- ``{"text": "...", "stop_reason": "length", "usage": {"input_tokens": 3, "output_tokens": 5, "cost": 0.1}}``
- ``{"error": "the endpoint is down"}``: the call fails with that text
- ``{"delay": 2.5, ...}``: seconds to wait before either of them
"""

from __future__ import annotations

import asyncio
import fnmatch
import json
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import ConnectorError, RecordError, UserError
from pytest_llmkg.plain import from_plain
from pytest_llmkg.records import Answer, ModelSpec, Usage
from pytest_llmkg.registry import unknown_name

if TYPE_CHECKING:
    from pytest_llmkg.contracts import AskRequest

__all__ = ["CONNECTOR", "ScriptedAnswer", "ScriptedConnector", "read_script"]

_PARTS = ("cases", "answers")


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """One entry of a script; either ``error`` or the other fields count. ``delay`` is in seconds."""

    text: str = ""
    stop_reason: str | None = "stop"
    usage: Usage = field(default_factory=Usage)
    error: str | None = None
    delay: float = 0.0


Script = Mapping[str, tuple[ScriptedAnswer, ...]]


def read_script(path: Path) -> Script:
    """The answers of ``path`` by case key or pattern; the key ``*`` stands last for the part ``answers``.

    Raises:
        UserError: the file is missing, or no script; names the file and the place in it.
    """
    data = _read_object(path)
    for key in data:
        if key not in _PARTS:
            raise UserError(f"{path}: {unknown_name('part', key, _PARTS)}")
    cases = data.get("cases", {})
    if not isinstance(cases, dict):
        raise UserError(f"{path}: 'cases' must be a table of lists of answers")
    if not cases and "answers" not in data:
        raise UserError(f"{path}: the script holds neither 'answers' nor 'cases'")
    script = {key: _entries(entries, f"{path}: cases[{key!r}]") for key, entries in cases.items()}
    if "answers" in data:
        script.setdefault("*", _entries(data["answers"], f"{path}: answers"))
    return script


def _read_object(path: Path) -> dict[str, object]:
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise UserError(f"{path}: the script cannot be read: {error.strerror}") from error
    except ValueError as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON"
        raise UserError(f"{path}: the script is not valid {kind}: {error}") from error
    except RecursionError as error:
        raise UserError(f"{path}: the script cannot be read: it is nested too deeply") from error
    if not isinstance(data, dict):
        raise UserError(f"{path}: the script must be an object with 'answers' or 'cases'")
    return data


def _entries(data: object, place: str) -> tuple[ScriptedAnswer, ...]:
    if not isinstance(data, list):
        raise UserError(f"{place}: must be a list of answers, one for each turn")
    return tuple(_entry(item, f"{place}[{i}]") for i, item in enumerate(data))


def _entry(item: object, place: str) -> ScriptedAnswer:
    if isinstance(item, str):
        return ScriptedAnswer(item)
    try:
        entry = from_plain(ScriptedAnswer, item, place)
    except RecordError as error:
        raise UserError(str(error)) from error
    if not 0 <= entry.delay < float("inf"):
        raise UserError(f"{place}.delay: must be a number of seconds, found {entry.delay}")
    return entry


class ScriptedConnector:
    """Looks each answer up in a script; keeps nothing but the script."""

    def __init__(self, spec: ModelSpec) -> None:
        self._id = spec.id
        self._path = Path(spec.model)
        self._script: Script | None = None

    async def ask(self, request: AskRequest) -> Answer:
        """The scripted answer for the request's case and turn.

        Raises:
            ConnectorError: the script holds none, says that the call fails, or waits beyond the time limit.
        """
        started = time.perf_counter()
        turn = sum(message.role == "assistant" for message in request.messages)
        entry = self._find(request.case_key, turn)
        if entry.delay:
            await asyncio.sleep(min(entry.delay, request.timeout))
        if entry.delay > request.timeout:
            raise ConnectorError(f"{self._id}: no answer within {request.timeout:g} s")
        if entry.error is not None:
            raise ConnectorError(f"{self._id}: {entry.error}")
        seconds = time.perf_counter() - started
        return Answer(entry.text, entry.stop_reason, entry.usage, seconds, self._id)

    async def close(self) -> None:
        """Nothing to free."""

    def _find(self, key: str, turn: int) -> ScriptedAnswer:
        if self._script is None:
            try:
                self._script = read_script(self._path)
            except UserError as error:
                raise ConnectorError(f"{self._id}: {error}") from error
        entries = self._script.get(key)
        if entries is None:
            # The catch-all goes last, wherever it stands in the file.
            patterns = sorted(self._script, key=lambda pattern: pattern == "*")
            matches = [pattern for pattern in patterns if fnmatch.fnmatchcase(key, pattern)]
            entries = self._script[matches[0]] if matches else ()
        if turn >= len(entries):
            raise ConnectorError(f"{self._id}: no scripted answer for case {key or '(without key)'!r}, turn {turn + 1}")
        return entries[turn]


def _check(spec: ModelSpec) -> None:
    if not spec.model:
        raise UserError(f"model {spec.id!r} names no file; write scripted:FILE")
    read_script(Path(spec.model))


CONNECTOR = ConnectorFactory(
    scheme="scripted",
    summary="Answers from a file that you write (scripted:FILE), for tests.",
    make=ScriptedConnector,
    check=_check,
    is_free=True,
)
