"""Tasks on RDF graphs and their serialization formats."""

import pytest

from pytest_llmkg.plugin import BoundDialogue


@pytest.mark.llmkg("RdfConnectionExplainStatic")
def test_rdf_connection(dialogue: BoundDialogue) -> None:
    """List the nodes on the shortest connection."""
    dialogue.hold()


@pytest.mark.llmkg("RdfFriendCount")
def test_rdf_friend_count(dialogue: BoundDialogue) -> None:
    """Find the best known person."""
    dialogue.hold()


@pytest.mark.llmkg("RdfSyntaxFixList")
def test_rdf_syntax_fix(dialogue: BoundDialogue) -> None:
    """Repair a document that does not parse."""
    dialogue.hold()


@pytest.mark.llmkg("TurtleErrorsStatic")
def test_turtle_errors(dialogue: BoundDialogue) -> None:
    """Repair a Turtle document at one go."""
    dialogue.hold()
