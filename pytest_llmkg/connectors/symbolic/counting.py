"""The node with the most edges of a named predicate."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.facts import load_facts
from pytest_llmkg.connectors.symbolic.prefixes import named_iris, prefixes_of

if TYPE_CHECKING:
    from pytest_llmkg.connectors.symbolic.request import Request
    from pytest_llmkg.contracts import KgEngine

__all__ = ["answer_count"]

_OUTGOING = re.compile(r"\bsubject of (?:the )?(?:most|largest|highest|greatest)\b|\boutgoing\b", re.IGNORECASE)


def answer_count(request: Request, engine: KgEngine) -> str | None:
    """The full IRI of the node with the most incoming (if so asked, outgoing) edges; the smallest IRI of equals.

    The predicate is the first name in the prompt's prose that is a predicate of the graph. None when there is none.
    """
    if request.graph is None:
        return None
    facts = load_facts(request.graph, engine)
    used = {p.value for _, p, _ in facts}
    asked = next(
        (iri for iri in named_iris(request.prose, prefixes_of(request.graph, request.prose)) if iri in used),
        None,
    )
    if asked is None:
        return None
    end = 0 if _OUTGOING.search(request.prose) else 2
    counts = Counter(t[end].value for t in facts if t[1].value == asked and t[end].kind == "iri")
    return min(counts, key=lambda iri: (-counts[iri], iri)) if counts else None
