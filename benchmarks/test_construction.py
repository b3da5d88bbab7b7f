"""Tasks that write a graph: from a text, from given numbers, from a faulty document."""

import pytest

from pytest_llmkg.plugin import BoundDialogue


@pytest.mark.llmkg("FactExtractStatic")
def test_fact_extract(dialogue: BoundDialogue) -> None:
    """State the asked facts of a data sheet."""
    dialogue.hold()


@pytest.mark.llmkg("TurtleSampleGeneration")
def test_turtle_sample_generation(dialogue: BoundDialogue) -> None:
    """Write a graph of so many persons."""
    dialogue.hold()


@pytest.mark.llmkg("TurtleErrorsStatic")
def test_turtle_errors(dialogue: BoundDialogue) -> None:
    """Repair a document without a parser's message."""
    dialogue.hold()
