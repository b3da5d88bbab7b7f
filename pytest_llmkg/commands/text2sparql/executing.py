"""Runs reference and answered queries on a local graph, for the verbs that need their results."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_llmkg.cases.graph_files import GraphFile, graph_file, parse_graph_option
from pytest_llmkg.cases.question_sets.model import WELL_KNOWN
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg import RESCORING_LIMITS, Sandbox

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pytest_llmkg.cases.question_sets import QuestionSet
    from pytest_llmkg.contracts import QueryResult

__all__ = ["add_graph_option", "graph_for", "running"]


def add_graph_option(parser: argparse.ArgumentParser) -> None:
    """Adds ``--kg``."""
    parser.add_argument(
        "--kg",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="graph of a question set, e.g. ck25=prod-inst.ttl",
    )


def graph_for(questions: QuestionSet, options: Sequence[str]) -> GraphFile:
    """The graph of ``questions`` among those of ``--kg``.

    Raises:
        UserError: none has the name of the set, or its file cannot be read.
    """
    files: dict[str, Path] = dict(map(parse_graph_option, options))
    if questions.name not in files:
        raise UserError(f"{questions.path}: give the graph of this set: --kg {questions.name}=FILE")
    return graph_file(questions.name, files[questions.name])


@contextmanager
def running(questions: QuestionSet, graph: GraphFile) -> Iterator[Callable[[str], QueryResult]]:
    """What runs a query on ``graph`` with the prefixes of ``questions`` and the usual ones declared."""
    prefixes = {**WELL_KNOWN, **questions.prefixes}
    with Sandbox(RESCORING_LIMITS) as sandbox:
        yield lambda query: sandbox.run_query(graph.graph, query, prefixes)
