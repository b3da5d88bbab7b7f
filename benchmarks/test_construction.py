"""Tasks in which a graph is built."""

import pytest

from pytest_llmkg.plugin import BoundDialogue


@pytest.mark.llmkg("FactExtractStatic")
def test_fact_extract(dialogue: BoundDialogue) -> None:
    """Write the facts of a text as a graph."""
    dialogue.hold()


@pytest.mark.llmkg("TurtleSampleGeneration")
def test_turtle_sample(dialogue: BoundDialogue) -> None:
    """Make a graph of a wanted size."""
    dialogue.hold()
