"""`llmkg text2sparql`: files and API of the TEXT2SPARQL challenge; a module with a `VERB` is one of its verbs."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from pytest_llmkg.commands import Command

if TYPE_CHECKING:
    import argparse

__all__ = ["COMMANDS"]


def _arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        command = getattr(importlib.import_module(f"{__name__}.{module.name}"), "VERB", None)
        if isinstance(command, Command):
            verb = verbs.add_parser(
                command.name,
                help=command.summary,
                description=command.summary,
                epilog=f"example: {command.example}",
                allow_abbrev=False,
            )
            command.arguments(verb)
            verb.set_defaults(run_verb=command.run)


def _run(options: argparse.Namespace) -> int:
    status: int = options.run_verb(options)
    return status


COMMANDS = (
    Command(
        name="text2sparql",
        summary="Works with files and API of the TEXT2SPARQL challenge.",
        example="llmkg text2sparql evaluate NAME true.json answers.json --questions questions.yml",
        arguments=_arguments,
        run=_run,
    ),
)
