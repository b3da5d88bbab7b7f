"""The command line ``llmkg``: one parser over `pytest_llmkg.commands`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import pytest_llmkg
from pytest_llmkg.commands import discover_commands
from pytest_llmkg.errors import LlmkgError, UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Returns:
        Its exit status; 2 for what the user can mend, told in one line on standard error.
    """
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except UserError as error:
        print(f"llmkg: error: {error}", file=sys.stderr)
        return 2
    except LlmkgError as error:
        print(f"llmkg: failed: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of our output (head, less) has gone; there is nobody left to tell.
        sys.stderr.close()
        return 0
    except OSError as error:
        # Of files that no command speaks of itself: a name that is too long, a disk that is full.
        place = "" if error.filename is None else f"{error.filename!s:.200}: "
        print(f"llmkg: error: {place}{error.strerror or error}", file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="llmkg", description="Measure how well language models work with knowledge graphs.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"pytest-llmkg {pytest_llmkg.__version__}")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in discover_commands():
        verb = verbs.add_parser(
            command.name,
            help=command.summary,
            description=command.summary,
            epilog=f"example: {command.example}",
            allow_abbrev=False,
        )
        command.arguments(verb)
        verb.set_defaults(run=command.run)
    return parser
