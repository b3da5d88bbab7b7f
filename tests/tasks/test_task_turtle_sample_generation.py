"""TurtleSampleGeneration, answer by answer, with the sandbox that runs in earnest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.errors import CaseFileError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Answer, Case, Evaluation
from pytest_llmkg.tasks.turtle_sample_generation import TASK

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

CASE = Case("persons", "TurtleSampleGeneration", "TurtleSampleGeneration-4", {"n": 4})
PREFIXES = "@prefix : <urn:x:> .\n@prefix foaf: <http://xmlns.com/foaf/0.1/> .\n"


def network(links: dict[str, str]) -> str:
    return PREFIXES + "".join(
        f":{name} a foaf:Person" + "".join(f" ;\n  foaf:knows :{other}" for other in known) + " .\n"
        for name, known in links.items()
    )


PERFECT = network({"a": "bc", "b": "cd", "c": "da", "d": "abc"})


def evaluate(text: str, kg: KgEngine) -> Evaluation:
    evaluation = TASK.evaluate(CASE, Answer(text), kg)
    to_plain(evaluation)  # can be stored
    return evaluation


def scores(text: str, kg: KgEngine) -> tuple[float, int, int, float, float, int, int]:
    """Published error and links, then corrected syntax, accuracy and links."""
    found = evaluate(text, kg).scores()
    assert found["parsable"] == 1.0
    assert found["persons_accuracy@2"] == max(0.0, 1 - abs(found["persons_relative_error@2"]))
    names = ("min_friends_ok", "max_friends_ok")
    links = [int(found[name + rules]) for rules in ("", "@2") for name in names]
    return (
        found["persons_relative_error"],
        links[0],
        links[1],
        found["parsable@2"],
        found["persons_accuracy@2"],
        links[2],
        links[3],
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PERFECT, (0, 1, 1, 1, 1, 1, 1)),
        (f"```turtle\n{PERFECT}```", (0, 1, 1, 1, 1, 1, 1)),
        # One of four is missing; those who know it still have two links, but not to persons.
        (network({"a": "bc", "b": "cd", "c": "da"}), (-0.25, 1, 1, 1, 0.75, 0, 1)),
        # Half as many again.
        (network(dict.fromkeys("abcdef", "ab")), (0.5, 1, 1, 1, 0.5, 0, 1)),
        # Three times as many are worth nothing, not less.
        (network(dict.fromkeys("abcdefghijkl", "xy")), (2.0, 1, 1, 1, 0, 0, 1)),
        # Who knows nobody is overlooked by the published rule.
        (network({"a": "bc", "b": "ac", "c": "ab", "d": ""}), (0, 1, 1, 1, 1, 0, 1)),
        # Nobody knows anybody.
        (network(dict.fromkeys("abcd", "")), (0, 0, 0, 1, 1, 0, 1)),
        # Knowing oneself, and one too many.
        (network({"a": "abcd", "b": "ac", "c": "ab", "d": "ab"}), (0, 1, 0, 1, 1, 1, 1)),
        (network({"a": "a", "b": "ac", "c": "ab", "d": "ab"}), (0, 0, 1, 1, 1, 0, 1)),
        # A missing sign costs its statement, and so a person whom two others know.
        (PERFECT.replace(":d a foaf:Person ;", ":d a foaf:Person"), (-0.25, 1, 1, 0, 0.75, 0, 1)),
        ("no turtle at all", (-1, 0, 0, 0, 0, 0, 0)),
        ("", (-1, 0, 0, 0, 0, 0, 0)),
        (PREFIXES, (-1, 0, 0, 0, 0, 0, 0)),
    ],
)
def test_scores(text: str, expected: tuple[float, ...], kg: KgEngine) -> None:
    assert scores(text, kg) == pytest.approx(expected)


def test_outcomes_and_info(kg: KgEngine) -> None:
    assert [evaluate(text, kg).outcome for text in (PERFECT, "x", " ")] == ["scored", "unparsable", "no_answer"]
    assert evaluate(PERFECT, kg).info == {"n_persons": 4}
    assert evaluate(PERFECT, kg).score_sets[1].notes == ()
    assert TASK.info.headline in evaluate(PERFECT, kg).scores()


@pytest.mark.parametrize("text", ["[ a " * 30_000, PERFECT * 200, ":a :b , ,\n" * 400, "\ud800\x00"])
def test_hostile_answers_are_scored_in_range(text: str, kg: KgEngine) -> None:
    found = evaluate(text, kg).score_sets[1].values
    assert all(0 <= value <= 1 for name, value in found.items() if name != "persons_relative_error@2")


def test_the_prompt_names_the_numbers(kg: KgEngine) -> None:
    (message,) = TASK.prompt(CASE, kg).messages
    assert "exactly 4 persons" in message.text
    assert "at least 2 and at most 3 other" in message.text


def test_too_few_persons_cannot_be_asked_for() -> None:
    assert TASK.generate is not None
    assert TASK.generate({"n": 3}, 0) == {"n": 3}
    with pytest.raises(CaseFileError, match="above 2"):
        TASK.generate({"n": 2}, 0)
