"""Every shipped case can be won, is lost by silence, and does not give its answer away."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.analysis.dialogue import headline
from pytest_llmkg.cases.files import load_case_files
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.metrics.paths import shortest_path
from pytest_llmkg.plain import from_plain, to_plain
from pytest_llmkg.records import Case, Number, Transcript
from pytest_llmkg.rescore import rescore_answers
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

TASKS = discover_tasks()
TESTED = (
    "RdfConnectionExplainStatic",
    "RdfFriendCount",
    "RdfSyntaxFixList",
    "Sparql2AnswerList",
    "SparqlSyntaxFixingList",
    "Text2AnswerList",
    "Text2SparqlList",
)
ROOT = fixtures_root()
CASES = [case for case in load_case_files([ROOT / "cases"], ROOT / "graphs", TASKS, seed=20_26) if case.task in TESTED]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.label}-{case.id}")

# Cases whose perfect answer cannot get 1 under the published rules; a new one must be listed here with its reason.
UNWINNABLE: dict[tuple[str, str], str] = {}

# What a case keeps for the scorer, by task.
HIDDEN = {
    "RdfConnectionExplainStatic": set(),
    "RdfSyntaxFixList": {"reference", "note"},
    "SparqlSyntaxFixingList": {"query", "result", "note"},
    "Text2AnswerList": {"result", "query"},
    "RdfFriendCount": {"specialNodeIri", "specialFriends", "specialIndex"},
    "Sparql2AnswerList": {"result", "question"},
    "Text2SparqlList": {"query", "result"},
}
SHOWN = {
    "RdfConnectionExplainStatic": {"graph", "start", "end"},
    "RdfSyntaxFixList": {"broken"},
    "SparqlSyntaxFixingList": {"broken", "question"},
    "Text2AnswerList": {"graph", "question"},
    "RdfFriendCount": {"graph"},
    "Sparql2AnswerList": {"graph", "query"},
    "Text2SparqlList": {"graph", "question", "labels", "shown"},
}


def shown_fields(case: Case) -> set[str]:
    """The fields whose text the prompt must hold; a schema or an extract (``shown``) takes the place of the graph."""
    names = SHOWN[case.task] & case.data.keys()
    return names - {"graph"} if "shown" in names else names


def perfect_answer(case: Case, kg: KgEngine) -> str:
    """What an all-knowing model would say, made of the reference."""
    if case.task == "RdfConnectionExplainStatic":
        triples = kg.check_rdf(GraphText(case.text("graph"), case.text("format"))).triples
        return "\n".join(shortest_path(triples, case.text("start"), case.text("end")))
    if case.task == "RdfSyntaxFixList":
        return f"```\n{case.text('reference')}```"
    if case.task == "RdfFriendCount":
        return case.text("specialNodeIri")
    if case.task in {"Sparql2AnswerList", "Text2AnswerList"}:
        return "\n".join(case.texts("result")) or "EMPTY"
    return f"```sparql\n{case.text('query')}\n```"


def dialogue(case: Case, answers: list[str], kg: KgEngine) -> Transcript:
    turns = rescore_answers(TASKS.get(case.task), case, answers, kg)
    return Transcript(case.id, case.label, case.task, "m", 1, turns, "2026-01-01T00:00:00Z", 0.0)


def score(case: Case, answers: list[str], kg: KgEngine) -> Number:
    value = headline(dialogue(case, answers, kg), TASKS.get(case.task).info)
    assert value is not None
    return value


def prompt_text(case: Case, kg: KgEngine) -> str:
    (message,) = TASKS.get(case.task).prompt(case, kg).messages
    assert message.role == "user"
    return message.text


def test_all_tasks_have_cases() -> None:
    assert {case.task for case in CASES} == set(TESTED)


@every_case
def test_perfect_answer_gets_1_and_ends_the_dialogue(case: Case, kg: KgEngine) -> None:
    transcript = dialogue(case, [perfect_answer(case, kg)], kg)
    value = headline(transcript, TASKS.get(case.task).info)
    if (case.label, case.id) in UNWINNABLE:
        assert value is not None
        assert value < 1 - 1e-9, "the case can be won; take it off the list"
    else:
        assert transcript.outcome == "scored"
        assert value == pytest.approx(1, abs=1e-9)
    assert transcript.turns[0].feedback is None
    assert from_plain(Transcript, to_plain(transcript)) == transcript


@every_case
def test_silence_gets_the_worst_score(case: Case, kg: KgEngine) -> None:
    info = TASKS.get(case.task).info
    transcript = dialogue(case, [""] * info.max_turns, kg)
    assert {turn.evaluation.outcome for turn in transcript.turns} == {"no_answer"}
    assert [turn.feedback for turn in transcript.turns] == ["syntax"] * (info.max_turns - 1) + [None]
    assert headline(transcript, info) == 0
    assert set(transcript.turns[0].evaluation.scores().values()) == {0}


@every_case
def test_a_refusal_scores_low(case: Case, kg: KgEngine) -> None:
    # The published count rule gives any single line a quarter where the right result is 1.
    assert score(case, ["I am sorry, but I cannot help with that."], kg) <= 0.25


@every_case
def test_the_prompt_shows_what_belongs_to_it(case: Case, kg: KgEngine) -> None:
    prompt = prompt_text(case, kg)
    for name in shown_fields(case):
        assert case.text(name).strip("\n") in prompt
    assert "{" not in re.sub(r"```.*?```", "", prompt, flags=re.DOTALL)  # no place of a template is left open


@every_case
def test_the_prompt_does_not_show_the_reference(case: Case, kg: KgEngine) -> None:
    prompt = prompt_text(case, kg)
    rest = prompt
    for name in shown_fields(case):
        rest = rest.replace(case.text(name).strip("\n"), "")
    for name in HIDDEN[case.task] & case.data.keys():
        value = case.data[name]
        if name in {"reference", "query", "note", "question"}:
            assert case.text(name).strip() not in prompt
        elif isinstance(value, str) or (isinstance(value, list) and value):
            # The values are in the graph, of course; the words around it must not single them out.
            for text in value if isinstance(value, list) else [value]:
                if not str(text).isdecimal():
                    assert not re.search(rf"(?<!\w){re.escape(str(text))}(?!\w)", rest)


@every_case
def test_the_unchanged_prompt_is_no_good_answer(case: Case, kg: KgEngine) -> None:
    assert score(case, [prompt_text(case, kg)], kg) < 0.5


def test_the_same_question_gives_the_same_prompt(kg: KgEngine) -> None:
    again = load_case_files([ROOT / "cases"], ROOT / "graphs", TASKS, seed=20_26)
    prompts = {(case.label, case.id): prompt_text(case, kg) for case in CASES}
    assert {
        (case.label, case.id): prompt_text(case, kg) for case in again if (case.label, case.id) in prompts
    } == prompts
