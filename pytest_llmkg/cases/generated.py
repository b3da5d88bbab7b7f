"""Graphs that are too large for a case file: a case holds a short text in their place, expanded where it is queried."""

from __future__ import annotations

import functools
import re

from pytest_llmkg.cases.company_graph import COMPANY_SEED, company_graph
from pytest_llmkg.cases.large_graph import LARGE_SEED, large_graph
from pytest_llmkg.errors import CaseFileError

__all__ = ["generated_reference", "resolve_graph"]

_REFERENCE = re.compile(r"generated:([a-z-]+)@(\d{1,18})")
_GENERATORS = {"company": (company_graph, COMPANY_SEED), "large": (large_graph, LARGE_SEED)}


def generated_reference(name: str) -> str:
    """The text that stands for the generated graph ``name`` in a case: ``generated:large@2718``.

    Raises:
        CaseFileError: no generator has that name.
    """
    if name not in _GENERATORS:
        raise CaseFileError(f"no generated graph {name!r}; known are: {', '.join(_GENERATORS)}")
    return f"generated:{name}@{_GENERATORS[name][1]}"


def resolve_graph(text: str) -> str:
    """The graph that ``text`` stands for; a text that is no reference is a graph itself.

    The same object is given back each time, so that whoever keeps graphs by content need not look at it twice.

    Raises:
        CaseFileError: a reference to a generator that does not exist.
    """
    found = _REFERENCE.fullmatch(text)
    return _generated(found[1], int(found[2])) if found else text


@functools.lru_cache(maxsize=2)
def _generated(name: str, seed: int) -> str:
    if name not in _GENERATORS:
        raise CaseFileError(f"no generated graph {name!r}; known are: {', '.join(_GENERATORS)}")
    return _GENERATORS[name][0](seed).text
