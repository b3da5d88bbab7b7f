"""What the prompts of tasks on a knowledge graph show of it: its prefixes, its schema, and stores beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.errors import RecordError
from pytest_llmkg.tasks.kgqa_schema import schema_text
from pytest_llmkg.tasks.kgqa_scoring import graph_of, services_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.contracts import KgEngine
    from pytest_llmkg.records import Case

__all__ = ["prefix_lines", "shown_context"]

_CONTEXTS = {"schema", "none"}
_SCHEMA = """
The graph has these classes, each with its properties and, in brackets, what these lead to; frequent ones come first:
```
{schema}
```
"""
_SERVICE = """
Your query may also ask another store, by SERVICE <{name}> {{ ... }}.{has}
"""
_SERVICE_SCHEMA = """ It has these classes:
```
{schema}
```"""


def shown_context(case: Case, kg: KgEngine) -> str:
    """The classes and properties of the graph as the case's ``context`` says, and the stores that SERVICE may name.

    Raises:
        RecordError: an unknown ``context``, or a schema that cannot be told within the limits.
    """
    context = case.text("context") if "context" in case.data else "schema"
    if context not in _CONTEXTS:
        raise RecordError(
            f"case {case.label}/{case.id}: field 'context' must be 'schema' or 'none', found {context!r:.40}"
        )
    prefixes = case.mapping("prefixes")
    schema = schema_text(graph_of(case), kg, prefixes) if context == "schema" else ""
    shown = _SCHEMA.format(schema=schema) if schema else ""
    for name, graph in services_of(case).items():
        of_service = schema_text(graph, kg, prefixes) if context == "schema" else ""
        has = _SERVICE_SCHEMA.format(schema=of_service) if of_service else ""
        shown += _SERVICE.format(name=name, has=has)
    return shown


def prefix_lines(prefixes: Mapping[str, str]) -> str:
    """A line for each prefix."""
    return "\n".join(f"{prefix}: <{namespace}>" for prefix, namespace in prefixes.items()) or "(none)"
