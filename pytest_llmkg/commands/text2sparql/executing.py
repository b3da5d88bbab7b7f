"""Runs reference and answered queries on a graph, embedded or at an endpoint, for the verbs that need their results."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.cases.graph_files import GraphFile, graph_at, parse_place_option
from pytest_llmkg.cases.question_sets.model import WELL_KNOWN
from pytest_llmkg.endpoints import EndpointEngine, Endpoints
from pytest_llmkg.endpoints.tables import load_endpoint_table
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg import RESCORING_LIMITS, Sandbox
from pytest_llmkg.models import model_table_paths

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from pytest_llmkg.cases.question_sets import QuestionSet
    from pytest_llmkg.contracts import GraphText, KgEngine, QueryResult

__all__ = ["add_graph_option", "check_graph", "configured_endpoints", "graph_for", "graphs_named", "running"]


def add_graph_option(parser: argparse.ArgumentParser) -> None:
    """Adds ``--kg``."""
    parser.add_argument(
        "--kg",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="graph of a question set: a file, or NAME=URL of a SPARQL endpoint; e.g. ck25=prod-inst.ttl",
    )


def graphs_named(options: Sequence[str]) -> dict[str, GraphFile]:
    """The graphs of ``--kg`` by name; none is asked anything yet.

    Raises:
        UserError: an option has another form, names a graph twice, or its file cannot be read.
    """
    places: dict[str, Path | str] = {}
    for name, place in map(parse_place_option, options):
        if name in places:
            raise UserError(f"--kg {name}=...: the graph {name!r} is given twice")
        places[name] = place
    return {name: graph_at(name, place) for name, place in places.items()}


def graph_for(questions: QuestionSet, options: Sequence[str]) -> GraphFile:
    """The graph of ``questions`` among those of ``--kg``.

    Raises:
        UserError: none has the name of the set, or its file cannot be read.
    """
    graphs = graphs_named(options)
    if questions.name not in graphs:
        raise UserError(f"{questions.path}: give the graph of this set: --kg {questions.name}=FILE")
    return graphs[questions.name]


def configured_endpoints() -> Endpoints:
    """What asks endpoints, with the settings of the tables of the working directory (``[endpoints."URL"]``).

    Raises:
        ModelFileError: a table that cannot be read, or an unknown setting.
    """
    return Endpoints(load_endpoint_table(model_table_paths(Path.cwd())))


def check_graph(name: str, graph: GraphText, engine: KgEngine) -> None:
    """Asks ``graph`` once, so that one that cannot be asked is not taken for many broken queries.

    Raises:
        UserError: it does not parse.
        EndpointError: its endpoint gives nothing.
    """
    error = engine.run_query(graph, "ASK {}", {}).error
    if error is not None:
        raise UserError(f"--kg {name}=...: {error}")


@contextmanager
def running(questions: QuestionSet, graph: GraphFile) -> Iterator[Callable[[str], QueryResult]]:
    """What runs a query on ``graph`` with the prefixes of ``questions`` and the usual ones declared.

    Raises:
        UserError: the graph does not parse.
        EndpointError: its endpoint gives nothing.
    """
    prefixes, endpoints = {**WELL_KNOWN, **questions.prefixes}, configured_endpoints()
    with Sandbox(RESCORING_LIMITS) as sandbox:
        engine = EndpointEngine(sandbox, endpoints)
        try:
            check_graph(graph.name, graph.graph, engine)
            yield lambda query: engine.run_query(graph.graph, query, prefixes)
        finally:
            endpoints.close()
