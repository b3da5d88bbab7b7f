"""Answers kept across runs, so that the same question to the same model is paid for once.

A folder of small JSON files, one for each answer, named after a hash of all that the answer depends on. Any number of
processes may use it at once: a file is written beside its place and then moved there, so that a reader finds nothing
or the whole. Errors are never kept.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.errors import LlmkgError, RecordError
from pytest_llmkg.plain import Json, from_plain, to_plain
from pytest_llmkg.records import Answer

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.contracts import AskRequest
    from pytest_llmkg.records import ModelSpec

__all__ = ["SCHEMA", "AnswerCache"]

SCHEMA = 1
"""Number of the layout of a cache file; files of other layouts are not read."""

# https://bford.info/cachedir/: programs that make backups leave out folders with such a file.
_TAG = """\
Signature: 8a477f597d28d172789f06886806bc55
# Answers of language models, kept by pytest-llmkg. See https://bford.info/cachedir/
"""
_IGNORE = "# Answers can hold texts of sealed cases; they do not belong into a repository.\n*\n"


class AnswerCache:
    """Answers by model, settings, messages and iteration, in the folder ``directory``, which need not exist yet."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def get(self, spec: ModelSpec, request: AskRequest) -> Answer | None:
        """The answer that was kept for this call, marked as ``from_cache``; None when there is none that can be used.

        A file that cannot be read, is broken or belongs to another call is none; the next `put` replaces it.
        """
        asked = _asked(spec, request)
        try:
            data = json.loads(self._path(asked).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(data, dict) or data.get("schema") != SCHEMA or data.get("request") != asked:
            return None
        try:
            return replace(from_plain(Answer, data.get("answer")), from_cache=True)
        except RecordError:
            return None

    def put(self, spec: ModelSpec, request: AskRequest, answer: Answer) -> None:
        """Keeps ``answer`` without the calls that failed before it, which will not have failed for who reads it.

        Raises:
            LlmkgError: the folder cannot be written; the answer itself is none the worse for it.
        """
        asked = _asked(spec, request)
        kept = replace(answer, failed_calls=(), from_cache=False)
        content: Json = {"schema": SCHEMA, "request": asked, "answer": to_plain(kept)}
        path = self._path(asked)
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
        try:
            self._prepare(path.parent)
            _write(path, f"{text}\n".encode())
        except OSError as error:
            raise LlmkgError(
                f"{self.directory}: the answer was not kept for other runs: {error.strerror}; make room, let the "
                "folder be written, or choose another --llmkg-cache"
            ) from error

    def _path(self, asked: Json) -> Path:
        key = hashlib.sha256(json.dumps(asked, ensure_ascii=False, sort_keys=True).encode("utf-8")).hexdigest()
        return self.directory / key[:2] / f"{key[2:]}.json"

    def _prepare(self, folder: Path) -> None:
        if folder.is_dir():
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        for name, text in (("CACHEDIR.TAG", _TAG), (".gitignore", _IGNORE)):
            if not (self.directory / name).exists():
                _write(self.directory / name, text.encode("utf-8"))
        folder.mkdir(exist_ok=True)


def _asked(spec: ModelSpec, request: AskRequest) -> dict[str, Json]:
    """All that the answer depends on: the endpoint, the settings, the messages, and which time they are asked.

    Not the model's alias, its price or its limits. User and password in its address are left out, being secret.
    """
    asked: dict[str, object] = {
        "connector": spec.connector,
        "model": spec.model,
        "api_base": None if spec.api_base is None else re.sub(r"(?<=//)[^/?#]*@", "", spec.api_base),
        # A table of models may say 0 where another one says 0.0.
        "temperature": None if spec.temperature is None else float(spec.temperature),
        "max_tokens": spec.max_tokens,
        "top_p": None if spec.top_p is None else float(spec.top_p),
        "seed": spec.seed,
        "extra": spec.extra,
        "messages": request.messages,
        "iteration": request.iteration,
    }
    return {name: to_plain(value) for name, value in asked.items()}


def _write(path: Path, content: bytes) -> None:
    """Puts a file with ``content`` at ``path``, whole or not at all."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except BaseException:  # also a Ctrl-C must not leave half a file behind
        with suppress(OSError):
            temporary.unlink()
        raise
