"""Tasks on SPARQL queries and their results."""

import pytest

from pytest_llmkg.plugin import BoundDialogue


@pytest.mark.llmkg("Sparql2AnswerList")
def test_sparql2answer(dialogue: BoundDialogue) -> None:
    """Work out the result of a query."""
    dialogue.hold()


@pytest.mark.llmkg("SparqlSyntaxFixingList")
def test_sparql_syntax_fix(dialogue: BoundDialogue) -> None:
    """Repair a query that does not parse."""
    dialogue.hold()


@pytest.mark.llmkg("Text2AnswerList")
def test_text2answer(dialogue: BoundDialogue) -> None:
    """Answer a question."""
    dialogue.hold()


@pytest.mark.llmkg("Text2SparqlList")
def test_text2sparql(dialogue: BoundDialogue) -> None:
    """Write a query for a question."""
    dialogue.hold()
