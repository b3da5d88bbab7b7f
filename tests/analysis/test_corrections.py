"""Published against corrected headline scores, dialogue by dialogue and as means."""

from __future__ import annotations

import pytest

from pytest_llmkg.analysis.corrections import ALL_MODELS, Change, changes_of, correction_rows
from pytest_llmkg.records import Answer, Evaluation, Prompt, ScoreSet, TaskInfo, Transcript, Turn
from pytest_llmkg.reporting.rescoring import render_corrections

FLAT = TaskInfo("Flat", "1", "RDF", "?", "f1")
TALK = TaskInfo("Talk", "1", "RDF", "?", "max_combined", max_turns=3, aggregated=("combined",))


def turn(name: str, published: float, corrected: float, *notes: str) -> Turn:
    sets = (ScoreSet("p", {name: published}), ScoreSet("c", {f"{name}@2": corrected}, notes))
    return Turn(Prompt(()), Answer("?"), Evaluation("scored", sets))


def talk(*turns: Turn) -> Transcript:
    return Transcript("c", "L", "T", "m", 1, turns, "", 0.0)


def test_one_turn() -> None:
    dialogue = talk(turn("f1", 0.5, 1, "fences"))
    assert changes_of(dialogue, dialogue, FLAT) == (Change("f1", 0.5, 1.0, ("fences",)),)


def test_first_and_best_turn_of_a_dialogue_have_their_own_causes() -> None:
    dialogue = talk(turn("combined", 0.2, 1, "prefixes"), turn("combined", 0.6, 0.8, "columns", "prefixes"))
    first, best = changes_of(dialogue, dialogue, TALK)
    assert first == Change("0_combined", 0.2, 1.0, ("prefixes",))
    assert best == Change("max_combined", 0.6, 1.0, ("prefixes", "columns"))


def test_a_headline_by_corrected_rules_is_compared_with_the_published_score_of_the_same_turn() -> None:
    asked = TaskInfo("Asked", "1", "RDF", "?", "last_set_F@2", max_turns=3, aggregated=("set_F", "set_F@2"))
    dialogue = talk(turn("set_F", 0.5, 1, "numbers"), turn("set_F", 0, 0.25))
    assert changes_of(dialogue, dialogue, asked) == (
        Change("0_set_F", 0.5, 1.0, ("numbers",)),
        Change("last_set_F", 0.0, 0.25, ("numbers",)),
    )


def test_another_engine_is_a_cause() -> None:
    before, after = talk(turn("combined", 0.2, 0.2)), talk(turn("combined", 1, 1))
    assert changes_of(before, after, TALK)[0] == Change("0_combined", 0.2, 1.0, ("engine",))


def test_nothing_moved_has_no_cause_and_what_moved_has_one() -> None:
    same, moved = talk(turn("f1", 1, 1, "fences")), talk(turn("f1", 1, 0.5))
    assert changes_of(same, same, FLAT) == (Change("f1", 1.0, 1.0),)
    assert changes_of(moved, moved, FLAT)[0].causes == ("rules",)


def test_a_score_that_only_one_rule_gives_is_left_out() -> None:
    alone = talk(Turn(Prompt(()), Answer("?"), Evaluation("scored", (ScoreSet("p", {"f1": 1}),))))
    assert changes_of(alone, alone, FLAT) == ()


def test_rows_are_means_with_the_causes_of_what_changed() -> None:
    changes = [
        ("m", "L", Change("f1", 0.5, 1.0, ("fences", "order"))),
        ("m", "L", Change("f1", 1.0, 1.0)),
        ("m", "L", Change("f1", 0.0, 0.25, ("order",))),
        ("m", "K", Change("f1", 0.0, 0.0)),
    ]
    first, second = correction_rows(changes)
    assert (first.label, first.n, first.changed) == ("L", 3, 2)
    assert first.published == pytest.approx(0.5)
    assert first.corrected == pytest.approx(0.75)
    assert first.causes == (("order", 2), ("fences", 1))
    assert (second.label, second.changed, second.causes) == ("K", 0, ())


def test_several_models_also_together() -> None:
    rows = correction_rows([(model, "L", Change("f1", 0.0, float(model == "a"), ("x",))) for model in "ab"])
    assert [(row.model, row.n, row.corrected) for row in rows] == [("a", 1, 1.0), ("b", 1, 0.0), (ALL_MODELS, 2, 0.5)]
    assert correction_rows([]) == []


ROWS = correction_rows([("a|b", "L", Change("f1", 0.5, 0.49996, ("x",)))])


def test_table_as_text_is_aligned() -> None:
    head, row = render_corrections(ROWS, "text").splitlines()
    assert row.split() == ["a|b", "L", "f1", "1", "0.500", "0.500", "+0.000", "1", "x", "1"]
    assert head.index("published") + len("published") == row.index("0.500") + len("0.500")


def test_table_as_markdown_escapes_its_sign() -> None:
    lines = render_corrections(ROWS, "md").splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("| a\\|b | L |")
    assert all(line.replace("\\|", "").count("|") == 10 for line in lines)


def test_table_as_csv() -> None:
    assert render_corrections(ROWS, "csv").splitlines()[1] == "a|b,L,f1,1,0.500,0.500,+0.000,1,x 1"
