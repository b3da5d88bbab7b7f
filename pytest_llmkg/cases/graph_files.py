"""Graphs that a user names on the command line (``--kg NAME=FILE``): cases hold their name and hash, never their text.

For ``--kg NAME=http://...`` the graph is behind that SPARQL endpoint, and cases hold the address.

A case of such a graph holds the text ``kg:NAME@sha256:...`` in its place; `NamedGraphs` is a graph engine that looks
it up.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import GraphText, KgEngine, QueryResult
from pytest_llmkg.endpoints import ENDPOINT_FORMAT, Endpoint, endpoint_graph
from pytest_llmkg.errors import RecordError, UserError
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.kg.wrapped import WrappedEngine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.contracts import Task

__all__ = [
    "GraphFile",
    "NamedGraphs",
    "graph_at",
    "graph_file",
    "is_reference",
    "named_graph",
    "parse_graph_option",
    "parse_place_option",
    "with_graphs",
]

_SUFFIXES = {".ttl": "turtle", ".nt": "nt", ".jsonld": "json-ld", ".rdf": "xml", ".owl": "xml", ".xml": "xml"}
_REFERENCE = re.compile(r"kg:([A-Za-z0-9._-]+)@sha256:([0-9a-f]{64})")
_LARGEST = 2**30


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A graph with the name that cases know it by; ``reference`` stands for it there, or is an endpoint's address."""

    name: str
    reference: str
    graph: GraphText

    @property
    def is_remote(self) -> bool:
        """Whether it is behind an endpoint."""
        return self.graph.format == ENDPOINT_FORMAT


def parse_graph_option(text: str) -> tuple[str, Path]:
    """Name and file of ``NAME=FILE``.

    Raises:
        UserError: ``text`` has another form, or names an endpoint.
    """
    name, place = parse_place_option(text)
    if isinstance(place, str):
        raise UserError(f"--kg takes NAME=FILE here, found the address of an endpoint: {place}")
    return name, place


def parse_place_option(text: str) -> tuple[str, Path | str]:
    """Name and place of ``NAME=FILE`` or ``NAME=URL``: a path, or the address of an endpoint as a text.

    Raises:
        UserError: ``text`` has another form, or the address is none.
    """
    name, sign, place = text.partition("=")
    if not sign or not place or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        shown = re.sub(r"(?<=//).*@", "***@", text)  # an address may hold a password
        raise UserError(
            f"--kg takes NAME=FILE, e.g. ck25=prod-inst.ttl, or NAME=http://HOST/PATH, found {shown!r:.200}"
        )
    if re.match(r"https?://", place, re.IGNORECASE):
        return name, Endpoint(place).url
    return name, Path(place)


def graph_at(name: str, place: Path | str) -> GraphFile:
    """The graph in a file, or behind the endpoint of an address.

    Raises:
        UserError: the file cannot be read, is too large or has an unknown suffix.
    """
    return GraphFile(name, place, endpoint_graph(place)) if isinstance(place, str) else graph_file(name, place)


def graph_file(name: str, path: Path) -> GraphFile:
    """The graph in ``path``; its format is told by its suffix.

    Raises:
        UserError: the file cannot be read, is too large or has an unknown suffix.
    """
    form = _SUFFIXES.get(path.suffix)
    if form is None:
        raise UserError(f"--kg {name}={path}: a graph file ends in {', '.join(_SUFFIXES)}")
    try:
        if path.stat().st_size > _LARGEST:
            raise UserError(f"--kg {name}={path}: larger than {_LARGEST // 2**30} GiB")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"--kg {name}={path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"--kg {name}={path}: not a text in UTF-8") from error
    return named_graph(name, GraphText(text, format_named(form).name))


def named_graph(name: str, graph: GraphText) -> GraphFile:
    """``graph`` under a name; its reference holds the hash of its text in UTF-8."""
    digest = hashlib.sha256(graph.text.encode("utf-8", "surrogatepass")).hexdigest()
    return GraphFile(name, f"kg:{name}@sha256:{digest}", graph)


def is_reference(text: str) -> bool:
    """Whether ``text`` stands for a graph of `graph_file`."""
    return _REFERENCE.fullmatch(text) is not None


class NamedGraphs(WrappedEngine):
    """A graph engine that knows ``graphs`` by name and leaves everything else to ``engine``."""

    def __init__(self, engine: KgEngine, graphs: Mapping[str, GraphFile]) -> None:
        super().__init__(engine)
        self._graphs = graphs

    def run_query(self, graph: GraphText, query: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Runs ``query`` on ``graph``, which may be a reference.

        Raises:
            RecordError: no graph of that name is at hand, or its file is another one than the case was made with.
        """
        return self._inner.run_query(self.found(graph), query, prefixes)

    def found(self, graph: GraphText) -> GraphText:
        """The graph that ``graph`` stands for, itself if it is no reference.

        Raises:
            RecordError: as for `run_query`.
        """
        found = _REFERENCE.fullmatch(graph.text) if len(graph.text) < 1000 else None
        if found is None:
            return graph
        named = self._graphs.get(found[1])
        if named is None:
            raise RecordError(f"the graph {found[1]!r} is not at hand; name its file with --kg {found[1]}=FILE")
        if named.reference != graph.text:
            raise RecordError(f"--kg {found[1]}: the file is another one than the case was made with (sha256 differs)")
        return named.graph


def with_graphs(task: Task, graphs: Mapping[str, GraphFile]) -> Task:
    """``task`` with an engine that knows ``graphs``."""
    if not graphs:
        return task
    return replace(
        task,
        prompt=lambda case, kg: task.prompt(case, NamedGraphs(kg, graphs)),
        evaluate=lambda case, answer, kg: task.evaluate(case, answer, NamedGraphs(kg, graphs)),
    )
