"""``llmkg schema`` and ``llmkg examples``: what the retrieval pipeline looks at, for people and for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.cases.graph_files import graph_file
from pytest_llmkg.cases.question_sets.model import WELL_KNOWN
from pytest_llmkg.commands import Command
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg import Limits, Sandbox
from pytest_llmkg.pipelines.examples import examples_as_shacl, load_examples
from pytest_llmkg.pipelines.settings import PipelineSettings
from pytest_llmkg.pipelines.shapes import kept_classes, schema_block
from pytest_llmkg.pipelines.void import void_text
from pytest_llmkg.reporting.files import write_atomically

if TYPE_CHECKING:
    import argparse

__all__ = ["COMMANDS"]

_PATIENT = Limits(parse_seconds=600.0, graph_characters=2**30, memory_bytes=16 * 2**30)
_BASE = "https://example.org/examples/"


def _schema_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("graph", metavar="GRAPH", type=Path, help="a graph file")
    add("--format", choices=("void", "shex", "list", "turtle"), default="shex", help="default: %(default)s")
    add("--dataset", metavar="IRI", default="urn:llmkg:graph", help="of the graph, for VoID (default: %(default)s)")
    add("--prefix", metavar="NAME=IRI", action="append", default=[], help="to shorten names with (repeatable)")
    add("--out", type=Path, help="file to write (default: standard output)")


def _schema(options: argparse.Namespace) -> int:
    prefixes = dict(_prefix(text) for text in options.prefix)
    with Sandbox(_PATIENT) as engine:
        profile = engine.profile(graph_file("graph", options.graph).graph)
    if profile.error is not None:
        raise UserError(f"{options.graph}: {profile.error}")
    if options.format == "void":
        return _write(void_text(profile, options.dataset), options.out)
    settings = PipelineSettings(schema_form=options.format, top_properties=10_000, top_ranges=10_000)
    known = {**WELL_KNOWN, **prefixes}
    text = schema_block(kept_classes(profile, settings), profile.labels, known, settings)
    return _write("\n".join(text.splitlines()[1:-1]) + "\n", options.out)


def _prefix(text: str) -> tuple[str, str]:
    name, sign, iri = text.partition("=")
    if not sign or not iri:
        raise UserError(f"--prefix takes NAME=IRI, found {text!r}")
    return name, iri


def _examples_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "questions",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="question sets: YAML, QALD, LC-QuAD, GRASP, SHACL",
    )
    add("--base", metavar="IRI", default=_BASE, help="what the names of examples begin with (default: %(default)s)")
    add("--endpoint", metavar="URL", help="where the queries can be run")
    add("--out", type=Path, help="file to write (default: standard output)")


def _examples(options: argparse.Namespace) -> int:
    return _write(examples_as_shacl(load_examples(options.questions), options.base, options.endpoint), options.out)


def _write(text: str, path: Path | None) -> int:
    if path is None:
        sys.stdout.write(text)
    else:
        write_atomically(path, text)
        print(f"wrote {path}")
    return 0


COMMANDS = (
    Command(
        "schema",
        "Counts the classes of a graph, their properties and what these lead to, and writes them as shapes or VoID.",
        "llmkg schema company.ttl --format void --dataset https://example.org/company --out void.ttl",
        _schema_arguments,
        _schema,
    ),
    Command(
        "examples",
        "Writes question sets as SHACL examples, the format of sib-swiss/sparql-examples that SPARQL-LLM loads.",
        "llmkg examples questions.yml --endpoint https://example.org/sparql --out examples.ttl",
        _examples_arguments,
        _examples,
    ),
)
