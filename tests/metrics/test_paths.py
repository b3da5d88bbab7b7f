from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from pytest_llmkg.metrics.paths import path_scores

# As published; it takes minutes for an answer of a million line ends.
PUBLISHED = re.compile(r"^[\s:\-]*(https?://\S+\s*)$", re.MULTILINE)
PARTS = st.sampled_from(
    [" ", "\n", "\r", "\t", "-", ":", "x", "\u2028", "\x0b", "\x85", "http://a", "https://b/x", "http://", "h"]
)


@given(st.lists(PARTS, max_size=14).map("".join))
@example("\n \n:-\nhttp://a \n\n x")
def test_lines_are_listed_as_by_the_published_pattern(text: str) -> None:
    listed = PUBLISHED.findall(text)
    _, counts = path_scores(text, ("http://a", "https://b/x"))
    assert counts["listLineCount"] == len(listed)
    assert counts["listCorrectCount"] == len(set(listed) & {"http://a", "https://b/x"})
    assert counts["listTrimCorrectCount"] == len({iri.strip() for iri in listed} & {"http://a", "https://b/x"})


def test_a_million_line_ends_are_read_in_time() -> None:
    scores, counts = path_scores("\n" * 1_000_000 + ": -\n" * 200_000 + "http://a", ("http://a",))
    assert counts["listTrimCorrectCount"] == 1
    assert scores["listTrimRecall"] == 1
