"""The turn loop with small connectors and tasks made here."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.contracts import AskRequest, KgEngine, Task, UnansweredError
from pytest_llmkg.dialogue import MAX_ANSWER_CHARACTERS, Dialogue, hold_dialogue
from pytest_llmkg.errors import ConnectorError, EngineError
from pytest_llmkg.plain import from_plain, to_plain
from pytest_llmkg.records import (
    Answer,
    Case,
    Evaluation,
    FailedCall,
    Feedback,
    Message,
    Prompt,
    Question,
    ScoreSet,
    TaskInfo,
    Transcript,
    Turn,
    Usage,
)
from pytest_llmkg.scheduling.loop_thread import LoopThread

NO_KG = cast("KgEngine", object())
CASE = Case("c1", "Guess", "Guess-easy", {"word": "kelp"})


@dataclass
class Speaker:
    """Gives its answers in turn; an exception among them is raised instead."""

    replies: Sequence[str | Answer | BaseException]
    requests: list[AskRequest] = field(default_factory=list)

    async def ask(self, request: AskRequest) -> Answer:
        self.requests.append(request)
        reply = self.replies[len(self.requests) - 1]
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, Answer) else Answer(reply, "stop")

    async def close(self) -> None:
        """Holds nothing."""


def prompt(case: Case, _kg: KgEngine) -> Prompt:
    return Prompt((Message("system", "You guess."), Message("user", "Which word?")))


def evaluate(case: Case, answer: Answer, _kg: KgEngine) -> Evaluation:
    return Evaluation("scored", (ScoreSet("s", {"f1": float(answer.text == case.text("word"))}),))


def feedback(_case: Case, turn: Turn) -> Feedback | None:
    return None if turn.evaluation.scores()["f1"] else Feedback("wrong", f"Not {turn.answer.text}.")


GUESS = Task(
    TaskInfo("Guess", "1", "RDF", "Guesses.", "max_f1", 3, ("f1",)), {"word": "text"}, prompt, evaluate, feedback
)


def dialogue(*replies: str | Answer | BaseException, task: Task = GUESS, max_turns: int | None = None) -> Dialogue:
    return Dialogue(CASE, task, "m", Speaker(replies), timeout=5, max_turns=max_turns)


def hold(talk: Dialogue) -> Transcript:
    return asyncio.run(hold_dialogue(talk, NO_KG))


def texts(transcript: Transcript) -> list[str]:
    return [turn.answer.text for turn in transcript.turns]


def test_ends_when_there_is_no_hint() -> None:
    transcript = hold(dialogue("kelp"))
    assert texts(transcript) == ["kelp"]
    assert transcript.turns[0].feedback is None
    assert (transcript.case, transcript.label, transcript.task, transcript.model) == ("c1", "Guess-easy", "Guess", "m")
    assert transcript.iteration == 1
    assert transcript.error is None
    assert transcript.unevaluated is None
    assert transcript.outcome == "scored"


def test_the_question_of_the_first_prompt_is_told_in_all_turns_and_kept() -> None:
    question = Question("Which word?", "words", "en", "http://words.example/", {"w": "http://words.example/#"})
    talk = dialogue("sand", "kelp", task=dataclasses.replace(GUESS, prompt=lambda _c, _kg: Prompt.user("?", question)))
    transcript = hold(talk)
    assert [request.question for request in cast("Speaker", talk.connector).requests] == [question, question]
    assert [turn.prompt.question for turn in transcript.turns] == [question, None]
    assert from_plain(Transcript, to_plain(transcript)) == transcript


def test_hint_is_the_next_user_message_and_the_history_grows() -> None:
    talk = dialogue("sand", "rope", "kelp")
    transcript = hold(talk)
    start = (Message("system", "You guess."), Message("user", "Which word?"))
    second = (*start, Message("assistant", "sand"), Message("user", "Not sand."))
    third = (*second, Message("assistant", "rope"), Message("user", "Not rope."))
    requests = cast("Speaker", talk.connector).requests
    assert [request.messages for request in requests] == [start, second, third]
    assert [turn.prompt for turn in transcript.turns] == [
        Prompt(start),
        Prompt.user("Not sand."),
        Prompt.user("Not rope."),
    ]
    assert [turn.feedback for turn in transcript.turns] == ["wrong", "wrong", None]


def test_connector_learns_case_iteration_and_time_limit_only() -> None:
    talk = dataclasses.replace(dialogue("kelp"), iteration=4, timeout=7.5)
    transcript = hold(talk)
    (request,) = cast("Speaker", talk.connector).requests
    assert (request.case_key, request.iteration, request.timeout) == ("Guess-easy/c1", 4, 7.5)
    assert "kelp" not in str(request)
    assert transcript.iteration == 4


@pytest.mark.parametrize(("limit", "turns"), [(None, 3), (1, 1), (2, 2), (3, 3), (9, 3)])
def test_turn_limit(limit: int | None, turns: int) -> None:
    transcript = hold(dialogue("a", "b", "c", "kelp", max_turns=limit))
    assert len(transcript.turns) == turns
    # After the last allowed turn no hint is asked for.
    assert [turn.feedback for turn in transcript.turns] == ["wrong"] * (turns - 1) + [None]


def test_feedback_is_not_asked_after_the_last_turn() -> None:
    asked: list[str] = []

    def counting(case: Case, turn: Turn) -> Feedback | None:
        asked.append(turn.answer.text)
        return feedback(case, turn)

    hold(dialogue("a", "b", "c", task=dataclasses.replace(GUESS, feedback=counting)))
    assert asked == ["a", "b"]


def test_error_after_the_first_turn_keeps_that_turn() -> None:
    transcript = hold(dialogue("sand", ConnectorError("endpoint x: 503")))
    assert texts(transcript) == ["sand"]
    assert transcript.turns[0].feedback == "wrong"
    assert transcript.error == "endpoint x: 503"
    assert transcript.unevaluated is None
    assert transcript.outcome == "error"


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (ConnectorError("refused"), "refused"),
        (ConnectorError(), "ConnectorError"),
        (EngineError("two\n  lines"), "two lines"),
        (ValueError("odd"), "ValueError: odd"),
        (KeyError("x"), "KeyError: 'x'"),
        (RecursionError(), "RecursionError:"),
    ],
)
def test_any_error_is_told_in_one_sentence(problem: Exception, told: str) -> None:
    transcript = hold(dialogue(problem))
    assert transcript.error == told
    assert transcript.turns == ()


def test_answer_that_cannot_be_evaluated_is_kept() -> None:
    def failing(_case: Case, answer: Answer, _kg: KgEngine) -> Evaluation:
        if answer.text == "rope":
            raise ZeroDivisionError("no lines")
        return evaluate(CASE, answer, NO_KG)

    paid = Answer("rope", "stop", Usage(10, 20, 0.5), 1.5, "m-2026")
    transcript = hold(dialogue("sand", paid, task=dataclasses.replace(GUESS, evaluate=failing)))
    assert texts(transcript) == ["sand"]
    assert transcript.error == "ZeroDivisionError: no lines"
    assert transcript.unevaluated == paid
    assert from_plain(Transcript, to_plain(transcript)) == transcript


def test_error_in_feedback_keeps_the_evaluated_turn() -> None:
    def failing(_case: Case, _turn: Turn) -> Feedback | None:
        raise LookupError("no hint")

    transcript = hold(dialogue("sand", task=dataclasses.replace(GUESS, feedback=failing)))
    assert texts(transcript) == ["sand"]
    assert transcript.error == "LookupError: no hint"
    assert transcript.unevaluated is None


def test_error_in_the_prompt_calls_no_model() -> None:
    def failing(_case: Case, _kg: KgEngine) -> Prompt:
        raise EngineError("no engine")

    talk = dialogue("kelp", task=dataclasses.replace(GUESS, prompt=failing))
    assert hold(talk).error == "no engine"
    assert cast("Speaker", talk.connector).requests == []


class Silent(Speaker):
    """Gives its answers in turn and then none any more."""

    async def ask(self, request: AskRequest) -> Answer:
        if len(self.requests) == len(self.replies):
            self.requests.append(request)
            await asyncio.Event().wait()
        return await super().ask(request)


@pytest.mark.parametrize("replies", [(), ("sand",), ("sand", "rope")])
def test_the_time_limit_of_a_dialogue_keeps_what_was_answered(replies: tuple[str, ...]) -> None:
    transcript = hold(dataclasses.replace(dialogue(), connector=Silent(replies), limit=0.1))
    assert transcript.error == "the dialogue did not end within 0.1 s"
    assert texts(transcript) == list(replies)
    assert transcript.unevaluated is None


def test_the_time_limit_keeps_an_answer_that_is_being_evaluated() -> None:
    evaluated = threading.Event()

    def slow(_case: Case, answer: Answer, _kg: KgEngine) -> Evaluation:
        evaluated.wait(30)
        return evaluate(CASE, answer, NO_KG)

    async def scenario() -> Transcript:
        talk = dialogue("kelp", task=dataclasses.replace(GUESS, evaluate=slow))
        try:
            return await hold_dialogue(dataclasses.replace(talk, limit=0.1), NO_KG)
        finally:
            evaluated.set()

    transcript = asyncio.run(scenario())
    assert transcript.error == "the dialogue did not end within 0.1 s"
    assert transcript.turns == ()
    assert transcript.unevaluated is not None
    assert transcript.unevaluated.text == "kelp"


def test_a_time_out_of_somebody_else_is_not_told_as_the_limit() -> None:
    transcript = hold(dataclasses.replace(dialogue(TimeoutError("socket")), limit=600.0))
    assert transcript.error == "TimeoutError: socket"
    assert hold(dataclasses.replace(dialogue("kelp"), limit=600.0)).error is None


def test_calls_that_failed_are_kept_in_the_transcript() -> None:
    failed = (FailedCall("503", 503), FailedCall("cut off", usage=Usage(7, cost=0.25), seconds=1.0))
    before = FailedCall("429", 429)
    transcript = hold(dialogue(Answer("sand", failed_calls=(before,)), UnansweredError("cut off (call 2)", failed)))
    assert transcript.error == "cut off (call 2)"
    assert transcript.failed_calls == failed
    assert transcript.turns[0].answer.failed_calls == (before,)
    assert hold(dialogue(ConnectorError("503"))).failed_calls == ()
    assert from_plain(Transcript, to_plain(transcript)) == transcript


def test_overlong_answers_are_cut() -> None:
    longest = "x" * MAX_ANSWER_CHARACTERS
    whole = hold(dialogue(longest, max_turns=1)).turns[0].answer
    assert (whole.text, whole.stop_reason) == (longest, "stop")
    cut = hold(dialogue(longest + "y", max_turns=1)).turns[0].answer
    assert (cut.text, cut.stop_reason) == (longest, "cut at 1000000 characters")


def test_lone_surrogates_are_replaced_before_anything_reads_them() -> None:
    talk = dialogue("sa\ud800nd", "kelp")
    transcript = hold(talk)
    assert texts(transcript) == ["sa\ufffdnd", "kelp"]
    messages = cast("Speaker", talk.connector).requests[1].messages
    assert messages[2:] == (Message("assistant", "sa\ufffdnd"), Message("user", "Not sa\ufffdnd."))
    assert hold(dialogue(ConnectorError("bad \udc80 byte"))).error == "bad \ufffd byte"


def test_answer_of_a_wrong_type_is_an_error_not_a_score() -> None:
    transcript = hold(dialogue(Answer(cast("str", None))))
    assert transcript.outcome == "error"
    assert transcript.error is not None


def test_known_seconds_are_kept_and_unknown_ones_measured() -> None:
    assert hold(dialogue(Answer("kelp", seconds=12.5))).turns[0].answer.seconds == 12.5
    assert 0 <= hold(dialogue("kelp")).turns[0].answer.seconds < 60


def cancelled_after(*replies: str) -> Transcript:
    """What a dialogue comes to that is cancelled while it waits for the answer after these."""

    async def scenario() -> Transcript:
        asked = asyncio.Event()

        class Waiting(Silent):
            async def ask(self, request: AskRequest) -> Answer:
                if len(self.requests) == len(self.replies):
                    asked.set()
                return await super().ask(request)

        task = asyncio.ensure_future(hold_dialogue(dataclasses.replace(dialogue(), connector=Waiting(replies)), NO_KG))
        await asked.wait()
        task.cancel()
        return await task

    return asyncio.run(scenario())


def test_cancellation_before_any_answer_goes_through() -> None:
    with pytest.raises(asyncio.CancelledError):
        cancelled_after()


@pytest.mark.parametrize("replies", [("sand",), ("sand", "rope")])
def test_cancellation_after_an_answer_gives_what_was_paid_for(replies: tuple[str, ...]) -> None:
    transcript = cancelled_after(*replies)
    assert transcript.error == "the dialogue was interrupted"
    assert texts(transcript) == list(replies)
    assert transcript.outcome == "error"


def test_cancellation_while_the_first_answer_is_evaluated_keeps_it() -> None:
    entered, evaluated = threading.Event(), threading.Event()

    def slow(_case: Case, answer: Answer, _kg: KgEngine) -> Evaluation:
        entered.set()
        evaluated.wait(30)
        return evaluate(CASE, answer, NO_KG)

    async def scenario() -> Transcript:
        talk = dialogue("kelp", task=dataclasses.replace(GUESS, evaluate=slow))
        task = asyncio.ensure_future(hold_dialogue(talk, NO_KG))
        try:
            await asyncio.to_thread(entered.wait, 30)
            task.cancel()
            return await task
        finally:
            evaluated.set()

    transcript = asyncio.run(scenario())
    assert transcript.error == "the dialogue was interrupted"
    assert transcript.unevaluated is not None
    assert transcript.unevaluated.text == "kelp"


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit])
def test_interruptions_go_through(signal: type[BaseException]) -> None:
    with pytest.raises(signal):
        hold(dialogue(signal()))


def test_prompts_and_evaluations_run_off_the_loop() -> None:
    threads: dict[str, int] = {}

    def noting_prompt(case: Case, kg: KgEngine) -> Prompt:
        threads["prompt"] = threading.get_ident()
        return prompt(case, kg)

    def noting_evaluate(case: Case, answer: Answer, kg: KgEngine) -> Evaluation:
        threads["evaluate"] = threading.get_ident()
        return evaluate(case, answer, kg)

    talk = dialogue("kelp", task=dataclasses.replace(GUESS, prompt=noting_prompt, evaluate=noting_evaluate))
    hold(talk)
    assert threads.keys() == {"prompt", "evaluate"}
    assert threading.get_ident() not in threads.values()
    with ThreadPoolExecutor(1) as scorers:
        own = scorers.submit(threading.get_ident).result()
        again = dataclasses.replace(talk, connector=Speaker(["kelp"]))
        asyncio.run(hold_dialogue(again, NO_KG, scorers))
    assert set(threads.values()) == {own}


def test_several_dialogues_are_in_flight_on_one_loop() -> None:
    """All ask before any is answered, which only works when they run at the same time."""

    class Together(Speaker):
        barrier: asyncio.Barrier | None = None

        async def ask(self, request: AskRequest) -> Answer:
            if self.barrier is None:
                self.barrier = asyncio.Barrier(8)
            await self.barrier.wait()
            return Answer(request.case_key.rpartition("/")[2])

    connector = Together(())
    cases = [dataclasses.replace(CASE, id=f"c{n}", data={"word": f"c{n}"}) for n in range(8)]

    async def all_at_once() -> list[Transcript]:
        talks = [Dialogue(case, GUESS, "m", connector, timeout=30) for case in cases]
        return await asyncio.gather(*(hold_dialogue(talk, NO_KG) for talk in talks))

    loop = LoopThread()
    try:
        transcripts = loop.run(all_at_once())
    finally:
        loop.close()
    assert [transcript.case for transcript in transcripts] == [case.id for case in cases]
    assert [texts(transcript) for transcript in transcripts] == [[case.id] for case in cases]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text(st.characters()), min_size=3, max_size=3))
def test_a_transcript_of_any_answers_can_be_stored(answers: list[str]) -> None:
    transcript = hold(dialogue(*answers))
    assert transcript.error is None
    assert from_plain(Transcript, to_plain(transcript)) == transcript


def test_calls_that_failed_are_known_though_the_time_is_over() -> None:
    class Busy(Speaker):
        async def ask(self, request: AskRequest) -> Answer:
            request.failed_calls.append(FailedCall("busy", 429, Usage(3, 0, 0.5)))
            await asyncio.Event().wait()
            return Answer("never")

    transcript = hold(dataclasses.replace(dialogue(), connector=Busy(()), limit=0.05))
    assert transcript.error == "the dialogue did not end within 0.05 s"
    assert transcript.failed_calls == (FailedCall("busy", 429, Usage(3, 0, 0.5)),)


def test_failed_calls_of_an_answered_turn_stand_at_its_answer_only() -> None:
    class Second(Speaker):
        async def ask(self, request: AskRequest) -> Answer:
            request.failed_calls.append(FailedCall("busy", 429))
            answer = await super().ask(request)
            return dataclasses.replace(answer, failed_calls=tuple(request.failed_calls))

    transcript = hold(dataclasses.replace(dialogue(), connector=Second(("sand", ConnectorError("down")))))
    assert [len(turn.answer.failed_calls) for turn in transcript.turns] == [1]
    assert [call.error for call in transcript.failed_calls] == ["busy"]


def test_long_errors_are_cut() -> None:
    error = hold(dialogue(ConnectorError("x" * 1_000_000))).error
    assert error is not None
    assert len(error) <= 4000
