"""Records survive the way to plain JSON types and back, and nothing else gets in."""

from __future__ import annotations

import json
import math
from enum import Enum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.errors import RecordError
from pytest_llmkg.plain import clean_text, from_plain, to_plain
from pytest_llmkg.records import Answer, Case, Evaluation, Message, ScoreSet, Transcript, Turn, Usage
from tests import strategies
from tests.builders import make_transcript, make_turn

EXACT = {type(None), bool, int, float, str, list, dict}


def all_types(value: object) -> set[type]:
    found: set[type] = {type(value)}
    if isinstance(value, dict):
        found |= {type(key) for key in value}
    for part in [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []:
        found |= all_types(part)
    return found


@given(strategies.records)
def test_every_record_survives_json(record: Any) -> None:
    plain = to_plain(record)
    text = json.dumps(plain, allow_nan=False)
    assert from_plain(type(record), json.loads(text)) == record


@given(strategies.records)
def test_plain_data_has_exact_builtin_types_only(record: object) -> None:
    assert all_types(to_plain(record)) <= EXACT


@given(st.text())
def test_clean_text_can_be_written_and_changes_surrogates_only(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    assert len(cleaned) == len(text)
    assert all(a == b or 0xD800 <= ord(b) <= 0xDFFF for a, b in zip(cleaned, text, strict=True))


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert clean_text("a\ud800b\udfffc") == "a\ufffdb\ufffdc"
    assert to_plain({"k\ud83d": "\ude00"}) == {"k\ufffd": "\ufffd"}


def test_subclasses_of_builtins_become_exact() -> None:
    class Colour(StrEnum):
        RED = "red"

    class OldColour(str, Enum):  # noqa: UP042  (libraries still send such ones)
        BLUE = "blue"

    class Text(str):
        __slots__ = ()

    class Count(int):
        pass

    plain = to_plain({Text("a"): Text("b"), "n": Count(3), "t": (1, 2.5)})
    assert plain == {"a": "b", "n": 3, "t": [1, 2.5]}
    assert all_types(plain) <= EXACT
    colours = to_plain([Colour.RED, OldColour.BLUE])
    assert colours == ["red", "blue"]
    assert all_types(colours) <= EXACT


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_cannot_hold_are_refused(number: float) -> None:
    with pytest.raises(RecordError, match="JSON cannot"):
        to_plain(ScoreSet("s", {"f1": number}))


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", object(), 3j, Answer])
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(RecordError, match="no plain JSON type"):
        to_plain({"x": value})


def test_keys_must_be_strings() -> None:
    with pytest.raises(RecordError, match="the key 1; keys must be strings"):
        to_plain({1: "x"})


def plain_transcript() -> dict[str, Any]:
    data = to_plain(make_transcript(make_turn({"f1": 1})))
    assert isinstance(data, dict)
    return data


def test_missing_field_is_named_with_its_place() -> None:
    data = plain_transcript()
    del data["turns"][0]["answer"]["text"]
    with pytest.raises(RecordError, match=r"^\$\.turns\[0\]\.answer: Answer lacks the field 'text'$"):
        from_plain(Transcript, data)


def test_unknown_field_is_named_with_its_place() -> None:
    data = plain_transcript()
    data["turns"][0]["evaluation"]["verdict"] = "good"
    with pytest.raises(RecordError, match=r"^\$\.turns\[0\]\.evaluation: unknown field 'verdict' of Evaluation$"):
        from_plain(Transcript, data)


def test_fields_with_a_default_may_be_missing() -> None:
    data = plain_transcript()
    for name in ("error", "unevaluated"):
        data.pop(name)
    assert from_plain(Transcript, data) == make_transcript(make_turn({"f1": 1}))


@pytest.mark.parametrize(
    ("record", "data", "complaint"),
    [
        (Message, [], r"\$: expected an object for Message, found a list"),
        (Message, {"role": "tool", "text": ""}, r"\$\.role: expected one of system, user, assistant, found 'tool'"),
        (Message, {"role": "user", "text": 3}, r"\$\.text: expected str, found a number"),
        (Message, {"role": ["user"], "text": ""}, r"\$\.role: expected one of"),
        (Usage, {"cost": "1"}, r"\$\.cost: expected float, found a string"),
        (Usage, {"input_tokens": True}, r"\$\.input_tokens: expected int, found a boolean"),
        (Usage, {"input_tokens": 1.5}, r"\$\.input_tokens: expected int, found a number"),
        (Answer, {"text": "", "usage": None}, r"\$\.usage: expected an object for Usage, found null"),
        (ScoreSet, {"signature": "", "values": {"f1": "1"}}, r"\$\.values\.f1: expected int or float, found a string"),
        (ScoreSet, {"signature": "", "values": {"f1": True}}, r"\$\.values\.f1: expected int or float"),
        (ScoreSet, {"signature": "", "values": []}, r"\$\.values: expected an object, found a list"),
        (Evaluation, {"outcome": "scored", "score_sets": {}}, r"\$\.score_sets: expected a list, found an object"),
        (Turn, {}, r"\$: Turn lacks the field 'prompt'"),
    ],
)
def test_wrong_types_are_told_with_their_place(record: type[Any], data: object, complaint: str) -> None:
    with pytest.raises(RecordError, match=complaint):
        from_plain(record, data)


def test_a_whole_number_is_good_for_a_float() -> None:
    assert from_plain(Usage, {"cost": 2}) == Usage(cost=2)


CASE = Case("c1", "T", "T-turtle", {"t": "x", "n": 3, "flag": True, "l": ["a"], "mixed": ["a", 1], "m": {"": "u"}})


def test_fields_of_a_case_are_read_by_type() -> None:
    assert CASE.text("t") == "x"
    assert CASE.integer("n") == 3
    assert CASE.texts("l") == ("a",)
    assert CASE.mapping("m") == {"": "u"}


@pytest.mark.parametrize(
    ("read", "name"),
    [
        ("text", "n"),
        ("text", "absent"),
        ("integer", "t"),
        ("integer", "flag"),
        ("texts", "mixed"),
        ("texts", "t"),
        ("mapping", "l"),
        ("mapping", "absent"),
    ],
)
def test_a_case_complains_about_a_field_of_another_type(read: str, name: str) -> None:
    with pytest.raises(RecordError, match=rf"^case T-turtle/c1: field '{name}' must be a "):
        getattr(CASE, read)(name)


def test_outcome_of_a_transcript() -> None:
    turn = make_turn({"f1": 0}, "unparsable")
    assert make_transcript(turn).outcome == "unparsable"
    assert make_transcript(turn, error="endpoint down").outcome == "error"
    assert make_transcript().outcome == "error"


def test_scores_of_several_rules_are_joined_by_name() -> None:
    sets = (ScoreSet("published", {"f1": 0.5, "recall": 1}), ScoreSet("corrected", {"f1@2": 1.0}))
    assert Evaluation("scored", sets).scores() == {"f1": 0.5, "recall": 1, "f1@2": 1.0}
