"""Graphs that are too large for a case file: a case holds a short text in their place, expanded where it is queried."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.errors import CaseFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pytest_llmkg.records import Case

__all__ = ["examples_file", "generated_contents", "generated_reference", "resolve_graph"]

_REFERENCE = re.compile(r"generated:([a-z-]+)@(\d{1,18})")
_KNOWN = ("company", "large")


def generated_reference(name: str) -> str:
    """The text that stands for the generated graph ``name`` in a case: ``generated:large@2718``.

    Raises:
        CaseFileError: no generator has that name.
    """
    return f"generated:{name}@{_generator(name)[1]}"


def resolve_graph(text: str) -> str:
    """The graph that ``text`` stands for; a text that is no reference is a graph itself.

    The same object is given back each time, so that whoever keeps graphs by content need not look at it twice.

    Raises:
        CaseFileError: a reference to a generator that does not exist.
    """
    found = _REFERENCE.fullmatch(text)
    return _generated(found[1], int(found[2])) if found else text


def examples_file(text: str) -> Path | None:
    """The example questions that come with the graph that ``text`` refers to; None for a graph without any.

    For ``generated:company@4242`` that is ``examples/company-4242.ttl`` of the shipped data.
    """
    found = _REFERENCE.fullmatch(text)
    path = fixtures_root() / "examples" / f"{found[1]}-{found[2]}.ttl" if found else None
    return path if path is not None and path.is_file() else None


def generated_contents(cases: Iterable[Case]) -> dict[str, str]:
    """What stands behind the references in the fields ``graph`` and ``services`` of ``cases``, as hashes.

    A generator that makes another graph of the same seed, in a newer version or with another version of Python, and
    other examples can be seen by them.

    Returns:
        By reference the hash of the graph, and by ``REFERENCE: examples`` that of the shipped example questions, or
        ``none``.
    """
    found: dict[str, str] = {}
    for case in cases:
        services = case.data.get("services")
        for text in (case.data.get("graph"), *(services.values() if isinstance(services, Mapping) else ())):
            known = _REFERENCE.fullmatch(text) if isinstance(text, str) else None
            if known is None or known[1] not in _KNOWN or known[0] in found:
                continue
            examples = examples_file(known[0])
            found[known[0]] = _graph_hash(known[1], int(known[2]))
            found[f"{known[0]}: examples"] = "none" if examples is None else _sha256(examples.read_bytes())
    return found


@functools.lru_cache(maxsize=8)
def _graph_hash(name: str, seed: int) -> str:
    """Made once in a process: it takes as long as the graph, some tenths of a second."""
    return _sha256(_generated(name, seed).encode("utf-8"))


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@functools.lru_cache(maxsize=2)
def _generated(name: str, seed: int) -> str:
    return _generator(name)[0](seed)


def _generator(name: str) -> tuple[Callable[[int], str], int]:
    """What makes the graph ``name`` of a seed, and the seed of the shipped one; loaded by the cases that need it."""
    if name == "company":
        from pytest_llmkg.cases.company_graph import COMPANY_SEED, company_graph

        return lambda seed: company_graph(seed).text, COMPANY_SEED
    if name == "large":
        from pytest_llmkg.cases.large_graph import LARGE_SEED, large_graph

        return lambda seed: large_graph(seed).text, LARGE_SEED
    raise CaseFileError(f"no generated graph {name!r}; known are: {', '.join(_KNOWN)}")
