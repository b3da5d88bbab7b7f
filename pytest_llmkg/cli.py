"""The command line ``llmkg``: one parser over `pytest_llmkg.commands`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

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
        _tell("error", str(error))
        return 2
    except LlmkgError as error:
        _tell("failed", str(error))
        return 1
    except BrokenPipeError:
        # The reader of our output (head, less) has gone; there is nobody left to tell.
        sys.stderr.close()
        return 0
    except OSError as error:
        # Of files that no command speaks of itself: a name that is too long, a disk that is full.
        place = "" if error.filename is None else f"{error.filename!s:.200}: "
        _tell("error", f"{place}{error.strerror or error}")
        return 2
    return status


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints, which repeat arguments, are one line; those of its commands are of its class, too."""

    def error(self, message: str) -> NoReturn:
        super().error(_one_line(message))


def _tell(kind: str, text: str) -> None:
    print(f"llmkg: {kind}: {_one_line(text)}", file=sys.stderr)


def _one_line(text: str) -> str:
    """``text`` with what cannot be printed escaped.

    Names of models, files and cases are repeated in complaints; none may begin a line of its own, which a terminal or
    a continuous integration would take for a command.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
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
