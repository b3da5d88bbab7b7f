"""Tasks on RDF graphs and their serialization formats."""

import pytest

from pytest_llmkg.plugin import BoundDialogue


@pytest.mark.llmkg("RdfSyntaxFixList")
def test_rdf_syntax_fix(dialogue: BoundDialogue) -> None:
    """Repair a document that does not parse."""
    dialogue.hold()


@pytest.mark.llmkg("RdfFriendCount")
def test_rdf_friend_count(dialogue: BoundDialogue) -> None:
    """Find the best known person."""
    dialogue.hold()
