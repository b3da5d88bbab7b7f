"""The address of a dialogue inside a leaderboard page, for this page and for every other report."""

from __future__ import annotations

from urllib.parse import quote

from pytest_llmkg.reporting.formats import visible

__all__ = ["dialogue_fragment"]


def dialogue_fragment(label: str, case: str, model: str, iteration: int) -> str:
    """What stands behind ``#``: ``d=label/case/model/iteration``, each part percent-encoded.

    The page accepts parts that were not encoded, too, also a model with slashes.
    """
    return f"d={_quoted(label)}/{_quoted(case)}/{_quoted(model)}/{iteration}"


def _quoted(text: str) -> str:
    # The characters that encodeURIComponent of a browser leaves as they are.
    return quote(visible(text), safe="-_.!~*'()", errors="replace")
