"""``symbolic``: a baseline without any language model, which answers from the prompt's text alone.

It reads the dialogue's messages as a person with a graph library and no understanding would: it takes graphs, queries
and questions from the prompt (`reading`), and works the answer out (`answering`, `counting`, `evaluating`,
`extracting`, `inventing`, `querying`, `repairing`, `walking`). It never sees a case's reference, gives the same answer
in every process, needs no network, and says so where it cannot answer.
"""

from __future__ import annotations

from pytest_llmkg.connectors.symbolic.connector import CANNOT, SymbolicConnector, check_spec
from pytest_llmkg.contracts import ConnectorFactory

__all__ = ["CANNOT", "CONNECTOR", "SymbolicConnector"]

CONNECTOR = ConnectorFactory(
    scheme="symbolic",
    summary="Built-in baseline: no language model, works answers out from the prompt with a graph library; offline.",
    make=SymbolicConnector,
    check=check_spec,
    is_free=True,
    at_once=2,
)
