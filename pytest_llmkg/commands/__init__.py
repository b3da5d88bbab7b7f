"""The commands of ``llmkg``, by topic; every module of this folder lists its own in ``COMMANDS``."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Command", "discover_commands"]


@dataclass(frozen=True, slots=True)
class Command:
    """A verb of the command line.

    Attributes:
        name: the verb.
        summary: one sentence for ``llmkg --help``.
        example: a line that works, shown by ``llmkg NAME --help``.
        arguments: adds the verb's own arguments to its parser.
        run: does the work and returns the exit status.
    """

    name: str
    summary: str
    example: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def discover_commands() -> tuple[Command, ...]:
    """All commands, in the order of their file names; a file may hold several."""
    found: list[Command] = []
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        found.extend(importlib.import_module(f"{__name__}.{module.name}").COMMANDS)
    return tuple(found)
