"""Questions on real knowledge graphs."""

import pytest

from pytest_llmkg.plugin import BoundDialogue


@pytest.mark.llmkg("Text2SparqlKgqa")
def test_kgqa(dialogue: BoundDialogue) -> None:
    """Write a query for a question in one of several languages."""
    dialogue.hold()


@pytest.mark.llmkg("Text2SparqlAgent")
def test_kgqa_agent(dialogue: BoundDialogue) -> None:
    """Look around in a graph by queries, then write the one that answers a question."""
    dialogue.hold()
