"""Callables as models: both forms, sync and async, and everything that can be wrong with one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.connectors.python_callable import CONNECTOR, CallableConnector
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import ConnectorError, UserError
from pytest_llmkg.records import Answer, Message, ModelSpec, Question, Usage

if TYPE_CHECKING:
    from pathlib import Path

Run = Callable[[Coroutine[Any, Any, Any]], Any]

MODULE = """
import asyncio, threading, time
from pytest_llmkg.records import Answer, Usage

threads = []
calls = []

def on_question(question, dataset, k=3):
    threads.append(threading.current_thread().name)
    calls.append((question, dataset))
    return "SELECT * { ?s ?p ?o }"

async def on_question_async(question, dataset):
    await asyncio.sleep(0)
    return f"ASK {{}} # {dataset}"

def on_messages(messages):
    return f"{len(messages)} {messages[-1]['role']}: {messages[-1]['content']}"

class System:
    async def __call__(self, question, dataset):
        return Answer("ASK {}", "stop", Usage(5, 1, 0.25), seconds=2.5, stages={"retrieve": 0.5})
    def ask(self, messages):
        return "from a method"

system = System()
def lazy(question, dataset): return on_question_async(question, dataset)
def none(question, dataset): return None
def fails(messages): raise ValueError("no luck")
def late(messages): raise TimeoutError("of its own")
def leaves(messages): raise SystemExit(3)
def slow(messages): time.sleep(1.5)
def three(a, b, c): return ""
def ends(messages): return next(iter(()))
def lengthy(messages): raise ValueError("line\\n" * 10_000)
class Mute(Exception):
    def __str__(self): raise ZeroDivisionError
def mute(messages): raise Mute
def yields(messages): yield "text"
def halves(messages): return "a\\ud800"
class Text(str): pass
def own_text(messages): return Text("text")
def prints(messages):
    print("out loud")
    return "text"
def textless(question, dataset): return Answer(None, "stop")
def countless(question, dataset): return Answer("ASK {}", "stop", Usage(1, 1, float("nan")))
def endless(messages): return Answer("text", "stop", stages={"model": float("inf")})
def holds(messages): return Answer("text", "stop", notes={"x": object()})
def keyword(*, question): return ""
number = 7
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "callables_under_test.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "callables_under_test", raising=False)
    return "callables_under_test"


QUESTION = Question("Who?", "lifts", "en", "urn:dataset")


def spec(argument: str) -> ModelSpec:
    return ModelSpec(f"python:{argument}", argument, "python")


def ask(
    run: Run, argument: str, *messages: Message, question: Question | None = QUESTION, timeout: float = 30.0
) -> Answer:
    CONNECTOR.check(spec(argument))
    connector = CONNECTOR.make(spec(argument))
    answer: Answer = run(connector.ask(AskRequest((Message("user", "prompt"), *messages), "L/c", 1, timeout, question)))
    run(connector.close())
    return answer


def test_a_plain_function_gets_question_and_dataset_off_the_loop(run: Run, module: str) -> None:
    answer = ask(run, f"{module}:on_question")
    assert answer.text == "```sparql\nSELECT * { ?s ?p ?o }\n```"
    assert answer.usage == Usage()
    assert answer.seconds > 0
    import callables_under_test as made  # type: ignore[import-not-found]  # written by the fixture

    assert made.calls == [("Who?", "urn:dataset")]
    assert made.threads != [threading.main_thread().name]


def test_without_dataset_the_name_of_the_graph_is_given(run: Run, module: str) -> None:
    assert "# lifts" in ask(run, f"{module}:on_question_async", question=Question("Who?", "lifts")).text


@pytest.mark.parametrize("name", ["on_question_async", "lazy"])
def test_what_is_awaitable_is_awaited(run: Run, module: str, name: str) -> None:
    assert ask(run, f"{module}:{name}").text == "```sparql\nASK {} # urn:dataset\n```"


def test_an_answer_with_usage_seconds_and_stages_is_kept(run: Run, module: str) -> None:
    answer = ask(run, f"{module}:system")
    assert answer == Answer("```sparql\nASK {}\n```", "stop", Usage(5, 1, 0.25), 2.5, stages={"retrieve": 0.5})


def test_a_callable_of_messages_sees_the_whole_dialogue_of_any_task(run: Run, module: str) -> None:
    later = (Message("assistant", "a"), Message("user", "b"))
    assert ask(run, f"{module}:on_messages", *later, question=None).text == "3 user: b"
    assert ask(run, f"{module}:system.ask").text == "from a method"


def test_a_system_for_questions_stands_by_its_answer(run: Run, module: str) -> None:
    answer = ask(run, f"{module}:on_question", Message("assistant", "ASK {}"), Message("user", "hint"))
    assert answer.text == "ASK {}"
    assert answer.notes == {"repeated": True}


def test_once_usage_was_told_a_repeated_answer_took_nothing(run: Run, module: str) -> None:
    connector = CallableConnector(spec(f"{module}:system"))
    first = AskRequest((Message("user", "p"),), "L/c", 1, 5.0, QUESTION)
    second = AskRequest((*first.messages, Message("assistant", "x"), Message("user", "h")), "L/c", 1, 5.0, QUESTION)
    run(connector.ask(first))
    assert run(connector.ask(second)).usage == Usage(0, 0, 0.0)


@pytest.mark.parametrize(
    ("name", "question", "pattern"),
    [
        ("on_question", None, "L asks none"),
        ("none", QUESTION, "returned a NoneType; a text or an Answer is needed"),
        ("fails", None, "ValueError: no luck"),
        ("late", None, "TimeoutError: of its own"),
        ("ends", None, "RuntimeError: StopIteration"),
        ("lengthy", None, "^.{,50}ValueError: (line ){400}$"),
        ("mute", None, "Mute: .its text cannot be had"),
        ("yields", None, "returned a generator; a text or an Answer"),
        ("textless", QUESTION, "returned an Answer that is none: .*text: expected str"),
        ("countless", QUESTION, "returned an Answer that is none: a record holds the number nan"),
        ("endless", None, "returned an Answer that is none: a record holds the number inf"),
        ("holds", None, "returned an Answer that is none: a record holds a object"),
        ("slow", None, r"no answer within 0.2 s"),
    ],
)
def test_what_goes_wrong_is_an_error_of_the_dialogue(
    run: Run, module: str, name: str, question: Question | None, pattern: str
) -> None:
    with pytest.raises(ConnectorError, match=pattern):
        ask(run, f"{module}:{name}", question=question, timeout=0.2 if name == "slow" else 30.0)


def test_texts_are_plain_and_can_be_written(run: Run, module: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(run, f"{module}:halves", question=None).text == "a\ufffd"
    assert type(ask(run, f"{module}:own_text", question=None).text) is str
    assert ask(run, f"{module}:prints", question=None).text == "text"
    assert capsys.readouterr().out == "out loud\n"


def test_sys_exit_is_left_to_the_session_that_contains_it(module: str) -> None:
    connector = CallableConnector(spec(f"{module}:leaves"))

    async def contained() -> object:
        try:
            await connector.ask(AskRequest((Message("user", "p"),)))
        except SystemExit as error:
            return error.code
        return None

    assert asyncio.run(contained()) == 3


@pytest.mark.parametrize(
    ("argument", "pattern"),
    [
        ("", "write python:module:callable"),
        ("module_only", "write python:module:callable"),
        ("no_such_module_here:f", "No module named 'no_such_module_here'; put its folder on PYTHONPATH"),
        ("callables_under_test:no_such", "has no attribute 'no_such'"),
        ("callables_under_test:number", "is a int, which is no callable"),
        ("callables_under_test:three", r"takes \(a, b, c\); it must take \(question, dataset\) or \(messages\)"),
        ("callables_under_test:keyword", r"takes \(question\); it must"),
        ("broken_under_test:f", "importing broken_under_test failed: ZeroDivisionError"),
        ("leaving_under_test:f", "importing leaving_under_test failed: SystemExit"),
    ],
)
@pytest.mark.usefixtures("module")
def test_what_can_never_work_is_named_before_anything_runs(argument: str, pattern: str, tmp_path: Path) -> None:
    (tmp_path / "broken_under_test.py").write_text("1 / 0", encoding="utf-8")
    (tmp_path / "leaving_under_test.py").write_text("raise SystemExit(1)", encoding="utf-8")
    with pytest.raises(UserError, match=pattern):
        CONNECTOR.check(spec(argument))
