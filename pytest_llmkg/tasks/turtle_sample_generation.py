"""TurtleSampleGeneration: write a graph of N persons who know each other, in Turtle.

Rules as published with LLM-KG-Bench (2023, recorded as SyntheticDatasetGeneration 1.0). The published headline,
``persons_relative_error``, is best at 0 and can be negative; so that rankings and means work, this project's headline
is ``persons_accuracy@2`` = max(0, 1 - |persons_relative_error|), from 0 to 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.contracts import GraphText, KgEngine, Task
from pytest_llmkg.errors import CaseFileError
from pytest_llmkg.extraction import fenced_blocks
from pytest_llmkg.metrics.persons import person_graph, relative_error
from pytest_llmkg.records import Answer, Case, Evaluation, Number, Outcome, Prompt, ScoreSet, TaskInfo
from pytest_llmkg.signature import build_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.plain import Json

__all__ = ["TASK"]

INFO = TaskInfo(
    name="TurtleSampleGeneration",
    version="1.0",
    family="KG construction",
    summary="Writes a graph with an asked number of persons and of links between them.",
    headline="persons_accuracy@2",
    bloom=("Understand", "Create"),
    knowledge=("Conceptual", "Procedural"),
    complexity="Medium",
)

_FEWEST = 2
_PROMPT = """\
Invent a small social network and write it as an RDF graph in Turtle. It has exactly {n} persons, each of the type \
foaf:Person (namespace http://xmlns.com/foaf/0.1/) with a node of its own. Every person is linked by foaf:knows to at \
least {fewest} and at most {most} other persons of the network.

Reply with the Turtle document only."""


def generate(entry: Mapping[str, Json], _seed: int) -> Mapping[str, Json]:
    """The case of an entry; nothing is drawn.

    Raises:
        CaseFileError: fewer persons than the links need.
    """
    n = entry["n"]
    if not isinstance(n, int) or n <= _FEWEST:
        raise CaseFileError(f"parameter 'n' must be above {_FEWEST}, so that each person can know {_FEWEST}; found {n}")
    return entry


def prompt(case: Case, _kg: KgEngine) -> Prompt:
    """Asks for the graph."""
    n = case.integer("n")
    return Prompt.user(_PROMPT.format(n=n, fewest=_FEWEST, most=n - 1))


def evaluate(case: Case, answer: Answer, kg: KgEngine) -> Evaluation:
    """Scores numbers of persons and links.

    Published: the whole answer is parsed without its faulty lines, and only persons that know somebody count for the
    links. Corrected: the first code block; every person counts, with links to other persons of the graph only.
    """
    n = case.integer("n")
    rest = kg.parse_tolerantly(GraphText(answer.text, "turtle"))
    graph = person_graph(rest.triples)
    linked = graph.linked_counts()
    values: dict[str, Number] = {
        "parsable": 1.0,  # in every record, whatever the answer
        "persons_relative_error": relative_error(graph.count, n),
        "min_friends_ok": int(min(linked, default=0) >= _FEWEST),
        "max_friends_ok": int(max(linked, default=n) <= n - 1),
    }
    info: dict[str, Json] = {"n_persons": n}
    corrected, notes = _corrected(answer.text, n, kg, values)
    outcome: Outcome = "scored" if graph.count else "unparsable" if answer.text.strip() else "no_answer"
    score_sets = (
        ScoreSet(build_signature(INFO, "published", ("rdflib",)), values),
        ScoreSet(build_signature(INFO, "corrected", ("rdflib",)), corrected, notes),
    )
    return Evaluation(outcome, score_sets, info)


def _corrected(
    text: str, n: int, kg: KgEngine, published: Mapping[str, Number]
) -> tuple[dict[str, Number], tuple[str, ...]]:
    blocks = fenced_blocks(text)
    rest = kg.parse_tolerantly(GraphText(blocks[0].content if blocks else text, "turtle"))
    graph = person_graph(rest.triples)
    friends = graph.friend_counts()
    error = relative_error(graph.count, n)
    values: dict[str, Number] = {
        "parsable@2": int(bool(rest.triples) and not rest.dropped_lines),
        "persons_relative_error@2": error,
        "persons_accuracy@2": max(0.0, 1 - abs(error)),
        "min_friends_ok@2": int(bool(friends) and min(friends) >= _FEWEST),
        "max_friends_ok@2": int(bool(friends) and max(friends) <= n - 1),
    }
    links = ("min_friends_ok", "max_friends_ok")
    causes = {
        "faulty lines": values["parsable@2"] != published["parsable"],
        "fences": values["persons_relative_error@2"] != published["persons_relative_error"],
        "links to persons": any(values[f"{name}@2"] != published[name] for name in links),
    }
    return values, tuple(name for name, applies in causes.items() if applies)


TASK = Task(info=INFO, fields={"n": "integer"}, prompt=prompt, evaluate=evaluate, generate=generate)
