"""SPARQL queries from questions: plans by templates, tried out on the shown graph."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.facts import load_facts
from pytest_llmkg.connectors.symbolic.lexicon import build_lexicon, read_table
from pytest_llmkg.connectors.symbolic.planning import Planner, show_plan
from pytest_llmkg.connectors.symbolic.prefixes import prefixes_of
from pytest_llmkg.connectors.symbolic.questions import read_question
from pytest_llmkg.connectors.symbolic.sketching import Known, is_schema, sketch_list, sketch_schema
from pytest_llmkg.extraction import find_query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.connectors.symbolic.request import Request
    from pytest_llmkg.contracts import GraphText, KgEngine

__all__ = ["answer_query", "find_plan", "planned_queries"]

_TRIED = 16
# ``the town with the label "Dry Ford"``: the words before the label ask for nothing.
_DESCRIBED = re.compile(r"\s+(?:with|that has|which has|having) the (?:label|name|title)\s+(?=[\"'])")
_MOST_FACTS = 5_000


def answer_query(request: Request, engine: KgEngine) -> str | None:
    """A fenced SPARQL query: the best plan that was not given before and finds something, else the best one left.

    None when the question's words fit nothing in the graph, or the graph is too large to search for paths.
    """
    chosen = find_plan(request, engine)
    return None if chosen is None else f"```sparql\n{chosen}\n```"


def find_plan(request: Request, engine: KgEngine) -> str | None:
    """The SPARQL text of that plan."""
    known = _known(request, engine)
    given = {find_query(answer) for answer in request.given}
    left = [text for text in planned_queries(request, known) if text not in given]
    found = (
        _first_that_finds(left, request.graph, known.prefixes, engine) if request.graph and not known.made_up else None
    )
    return found or (left[0] if left else None)


def planned_queries(request: Request, known: Known) -> tuple[str, ...]:
    """The first plans for the question on what is known, the best first; none when that is too much to search."""
    if not known.facts or len(known.facts) > _MOST_FACTS:
        return ()
    lexicon = build_lexicon(known.facts, known.labels)
    labelled = request.graph is not None and known.made_up  # things are found by their labels, there are no others
    question = request.question if labelled else _DESCRIBED.sub(" ", request.question)
    planner = Planner(read_question(question, lexicon), known.facts, lexicon, known.prefixes)
    return tuple(islice(dict.fromkeys(show_plan(plan) for plan in planner.plans()), _TRIED))


def _known(request: Request, engine: KgEngine) -> Known:
    """What the prompt shows to plan on; made up where it shows no facts."""
    if request.graph is None:
        return sketch_list(request.table or "", request.prose, request.question)
    facts = load_facts(request.graph, engine)
    prefixes = prefixes_of(request.graph, request.prose)
    labels = read_table(request.table, prefixes)
    if len(facts) <= _MOST_FACTS and is_schema(facts):
        return Known(sketch_schema(facts, request.question), labels, prefixes, made_up=True)
    return Known(facts, labels, prefixes)


def _first_that_finds(
    queries: Sequence[str], graph: GraphText, prefixes: Mapping[str, str], engine: KgEngine
) -> str | None:
    for query in queries:
        result = engine.run_query(graph, query, prefixes)
        if result.timed_out:
            return None
        if any(term is not None and term.value != "0" for row in result.rows for term in row):
            return query
    return None
