"""``symbolic``: a baseline without any language model, which answers from the prompt's text alone.

It reads the dialogue's messages as a person with a graph library and no understanding would: it takes graphs, queries
and questions from the prompt (`reading`), and works the answer out (`answering`, `counting`, `drafting`,
`evaluating`, `extracting`, `inventing`, `querying`, `repairing`, `walking`). It never sees a case's reference, gives
the same answer in every process, needs no network, and says so where it cannot answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import UserError

if TYPE_CHECKING:
    from pytest_llmkg.contracts import Connector
    from pytest_llmkg.records import ModelSpec

__all__ = ["CONNECTOR"]


def _make(spec: ModelSpec) -> Connector:
    # Its two dozen modules are of no use to a session with other models.
    from pytest_llmkg.connectors.symbolic.connector import SymbolicConnector

    return SymbolicConnector(spec)


def _check(spec: ModelSpec) -> None:
    """Complains about an argument behind ``symbolic:``, since the baseline takes none."""
    if spec.model not in {"", "symbolic"}:
        raise UserError(f"the model 'symbolic' takes no argument, found {spec.model!r}; write just 'symbolic'")


CONNECTOR = ConnectorFactory(
    scheme="symbolic",
    summary="Built-in baseline: no language model, works answers out from the prompt with a graph library; offline.",
    make=_make,
    check=_check,
    is_free=True,
    at_once=2,
)
