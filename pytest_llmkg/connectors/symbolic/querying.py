"""SPARQL queries from questions: plans by templates, tried out on the shown graph."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.facts import load_facts
from pytest_llmkg.connectors.symbolic.lexicon import build_lexicon, read_table
from pytest_llmkg.connectors.symbolic.planning import Planner, show_plan
from pytest_llmkg.connectors.symbolic.prefixes import prefixes_of
from pytest_llmkg.connectors.symbolic.questions import read_question
from pytest_llmkg.extraction import find_query

if TYPE_CHECKING:
    from pytest_llmkg.connectors.symbolic.reading import Request
    from pytest_llmkg.contracts import GraphText, KgEngine

__all__ = ["answer_query"]

_TRIED = 16
_MOST_FACTS = 5_000


def answer_query(request: Request, engine: KgEngine) -> str | None:
    """A fenced SPARQL query: the best plan that was not given before and finds something, else the best one left.

    None when the question's words fit nothing in the graph, or the graph is too large to search for paths.
    """
    if request.graph is None:
        return None
    facts = load_facts(request.graph, engine)
    if not facts or len(facts) > _MOST_FACTS:
        return None
    prefixes = prefixes_of(request.graph, request.prose)
    lexicon = build_lexicon(facts, read_table(request.table, prefixes))
    planner = Planner(read_question(request.question, lexicon), facts, lexicon, prefixes)
    given = {find_query(answer) for answer in request.given}
    texts = dict.fromkeys(show_plan(plan) for plan in planner.plans())
    left = [text for text in islice(texts, _TRIED) if text not in given]
    chosen = next((t for t in left if _finds(t, request.graph, prefixes, engine)), left[0] if left else None)
    return None if chosen is None else f"```sparql\n{chosen}\n```"


def _finds(query: str, graph: GraphText, prefixes: dict[str, str], engine: KgEngine) -> bool:
    result = engine.run_query(graph, query, prefixes)
    return result.error is None and any(term is not None and term.value != "0" for row in result.rows for term in row)
