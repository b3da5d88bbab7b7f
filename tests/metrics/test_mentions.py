"""Naming exactly one person."""

from __future__ import annotations

import pytest

from pytest_llmkg.metrics.mentions import final_mention, match_mentions, room_for

RIGHT = "person-00000004"
IRI = f"https://kg.example/people/{RIGHT}"  # 41 characters


@pytest.mark.parametrize(
    ("text", "mentioned", "precision", "recall", "f1"),
    [
        (IRI, ["4"], 1.0, 1, 1.0),
        (f"<{IRI}>\n", ["4"], 1.0, 1, 1.0),
        (f"people:{RIGHT}", ["4"], 1.0, 1, 1.0),
        # Every mention counts, also of the same person: 1/2, F1 = 2 * 0.5 / 1.5
        (f"{RIGHT} {RIGHT}", ["4", "4"], 0.5, 1, 2 / 3),
        # 1/4, F1 = 2 * 0.25 / 1.25
        (f"person-1, person-02, person-3 and {RIGHT}", ["1", "2", "3", "4"], 0.25, 1, 0.4),
        ("person-00000003", ["3"], 0, 0, 0),
        # Without its zeros it is a mention, but not the name.
        ("person-4", ["4"], 0, 0, 0),
        ("person-0000000X", ["X"], 0, 0, 0),
        ("Person-00000004", [], 0, 0, 0),
        ("person-", [], 0, 0, 0),
        ("person-000", ["0"], 0, 0, 0),
        ("", [], 0, 0, 0),
        # A longer name begins with the right one.
        ("person-000000045", ["45"], 1.0, 1, 1.0),
    ],
)
def test_answers(text: str, mentioned: list[str], precision: float, recall: int, f1: float) -> None:
    match = match_mentions(text, RIGHT)
    assert list(match.mentioned) == mentioned
    assert (match.precision, match.recall) == (precision, recall)
    assert match.f1 == pytest.approx(f1, abs=1e-15)


def test_the_zero_values_are_whole_numbers_as_published() -> None:
    match = match_mentions("nobody", RIGHT)
    assert [type(value) for value in (match.precision, match.recall, match.f1)] == [int, int, int]
    assert type(match_mentions(IRI, RIGHT).f1) is float


def test_a_name_of_another_kind_is_found_without_a_mention() -> None:
    match = match_mentions("it is dana", "dana")
    assert (match.mentioned, match.precision, match.recall, match.f1) == ((), 1.0, 1, 1.0)


@pytest.mark.parametrize(
    ("text", "room"),
    [
        (IRI, 1),
        (f"<{IRI}>", 1),  # 43: room for the angle brackets
        (f"<{IRI}>\n", 43 / 44),  # none for a line break
        (f"{IRI} it is", 43 / 47),
        ("x" * 86, 0.5),
        ("", 1),
    ],
)
def test_room(text: str, room: float) -> None:
    assert len(IRI) == 41
    assert room_for(IRI, text) == room


def test_a_text_with_room_gets_a_whole_1() -> None:
    assert type(room_for(IRI, IRI)) is int


@pytest.mark.parametrize("mark", ["", "_", "__", "*", "`", "_**"])
def test_marks_of_emphasis_are_no_part_of_the_final_name(mark: str) -> None:
    assert final_mention(f"It is {mark}{IRI}{mark[::-1]}.") == "4"
