"""Signatures: which rules, in which version, on which engines made a score.

A signature is a line such as ``task:RdfSyntaxFixList|version:1.0|rules:published|engines:rdflib-7.6.0|llmkg:0.1.0``.
Two scores may be compared when their signatures agree in all but the program's own version.
"""

from __future__ import annotations

import functools
from importlib import metadata
from typing import TYPE_CHECKING

import pytest_llmkg
from pytest_llmkg.errors import RecordError

if TYPE_CHECKING:
    from pytest_llmkg.records import TaskInfo

__all__ = ["build_signature", "parse_signature"]


@functools.cache
def build_signature(task: TaskInfo, rules: str, engines: tuple[str, ...] = ()) -> str:
    """The signature of scores that ``task`` made by ``rules`` with the installed versions of ``engines``.

    Args:
        task: the task that scores.
        rules: ``published`` or ``corrected``.
        engines: distribution names of the libraries whose verdicts enter the score, e.g. ``rdflib``.
    """
    parts = {
        "task": task.name,
        "version": task.version,
        "rules": rules,
        "engines": ",".join(f"{name}-{metadata.version(name)}" for name in engines) or "none",
        "llmkg": pytest_llmkg.__version__,
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def parse_signature(signature: str) -> dict[str, str]:
    """The parts of a signature by name.

    Raises:
        RecordError: ``signature`` is not made of ``name:value`` parts.
    """
    parts = {}
    for part in signature.split("|"):
        key, colon, value = part.partition(":")
        if not colon or not key:
            raise RecordError(f"not a signature: {signature!r} (expected name:value parts joined by |)")
        parts[key] = value
    return parts
