"""Signatures name every choice behind a score."""

from __future__ import annotations

from importlib import metadata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pytest_llmkg
from pytest_llmkg.errors import RecordError
from pytest_llmkg.signature import build_signature, parse_signature
from tests.builders import DIALOGUE, FLAT


def test_signature_names_task_version_rules_and_engines() -> None:
    assert build_signature(FLAT, "published", ("rdflib", "pyoxigraph")) == (
        f"task:Flat|version:1|rules:published"
        f"|engines:rdflib-{metadata.version('rdflib')},pyoxigraph-{metadata.version('pyoxigraph')}"
        f"|llmkg:{pytest_llmkg.__version__}"
    )


def test_parts_can_be_read_back() -> None:
    assert parse_signature(build_signature(DIALOGUE, "corrected")) == {
        "task": "Talk",
        "version": "1",
        "rules": "corrected",
        "engines": "none",
        "llmkg": pytest_llmkg.__version__,
    }


def test_other_rules_engines_or_tasks_give_another_signature() -> None:
    signatures = {
        build_signature(FLAT, "published"),
        build_signature(FLAT, "corrected"),
        build_signature(DIALOGUE, "published"),
        build_signature(FLAT, "published", ("rdflib",)),
    }
    assert len(signatures) == 4


@pytest.mark.parametrize("text", ["", "task", "task:x|rules", ":x", "task:x||rules:y"])
def test_other_texts_are_no_signatures(text: str) -> None:
    with pytest.raises(RecordError, match="not a signature"):
        parse_signature(text)


part = st.text(st.characters(exclude_characters="|:", codec="utf-8"), min_size=1)


@given(st.dictionaries(part, part, min_size=1))
def test_any_parts_survive(parts: dict[str, str]) -> None:
    assert parse_signature("|".join(f"{k}:{v}" for k, v in parts.items())) == parts
