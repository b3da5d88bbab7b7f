"""One table for all connectors: what is tried again, what is scored by rule, what ends the dialogue."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.connectors.failures import Refusal, Verdict, judge, read_refusal, retry_after
from pytest_llmkg.records import Usage

AGAIN, FEWER, FINAL = Verdict(retryable=True), Verdict(retryable=True, overloaded=True), Verdict()
OVERFLOW, FILTERED = Verdict(stop_reason="context_length"), Verdict(stop_reason="content_filter")


def openai(message: str, code: object = None, kind: str = "invalid_request_error", **more: object) -> object:
    return {"error": {"message": message, "type": kind, "code": code, "param": None, **more}}


@pytest.mark.parametrize(
    ("status", "body", "verdict"),
    [
        (408, openai("x"), AGAIN),
        (409, openai("x"), AGAIN),
        (429, openai("Rate limit reached", "rate_limit_exceeded"), FEWER),
        (429, openai("You exceeded your quota", "insufficient_quota"), Verdict(advice="quota")),
        (429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your quota"}}, FEWER),
        (402, openai("Insufficient credits"), Verdict(advice="quota")),
        (500, openai("x"), AGAIN),
        (501, openai("x"), AGAIN),
        (502, "<html>", AGAIN),
        (503, openai("x"), FEWER),
        (504, openai("x"), AGAIN),
        (520, "", AGAIN),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, FEWER),
        (400, openai("x"), FINAL),
        (401, openai("Incorrect API key"), Verdict(advice="key")),
        (403, openai("x"), Verdict(advice="key")),
        (404, openai("The model `x` does not exist", "model_not_found"), Verdict(advice="model")),
        (404, "404 page not found", Verdict(advice="address")),
        (404, {"error": {"message": 'model "x" not found, try pulling it first'}}, Verdict(advice="model")),
        (404, {"error": {"type": "not_found_error", "message": "model: claude-x"}}, Verdict(advice="model")),
        (404, {"error": {"message": "models/x is not found for API version v1"}}, Verdict(advice="model")),
        (400, {"error": {"status": "INVALID_ARGUMENT", "message": "API key not valid."}}, Verdict(advice="key")),
        (400, {"error": {"message": "Your credit balance is too low"}}, Verdict(advice="quota")),
        (405, {"detail": "Method Not Allowed"}, Verdict(advice="address")),
        (302, "", Verdict(advice="address")),
        (413, "request entity too large", FINAL),
        (418, "", FINAL),
        (422, {"detail": [{"loc": ["body", "seed"], "msg": "value is not a valid integer"}]}, FINAL),
        (200, openai("x"), AGAIN),
        (200, {"error": {"code": 429, "message": "Provider is full"}}, FEWER),
        (200, {"error": {"code": 401, "message": "No auth"}}, Verdict(advice="key")),
        (200, {}, AGAIN),
    ],
)  # fmt: skip
def test_what_follows_from_a_status(status: int, body: object, verdict: Verdict) -> None:
    assert judge(read_refusal(status, {}, body)) == verdict


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, openai("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 "
                     "tokens.", "context_length_exceeded")),
        (400, openai("Your input exceeds the context window of this model.", "context_length_exceeded")),
        (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you "
               "requested 5100 tokens (5000 in the messages, 100 in the completion).", "code": 400}),
        (400, openai("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 400)),
        (400, openai("'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum context length "
                     "is 4096 tokens and your request has 4000 input tokens (512 > 4096 - 4000).", 400)),
        (400, {"error": {"code": 400, "type": "exceed_context_size_error", "message": "the request exceeds the "
               "available context size. try increasing the context size or enable context shift"}}),
        (500, {"error": "input length exceeds maximum context length"}),
        (400, {"error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 "
               "maximum"}}),
        (400, {"error": {"message": "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, "
               "decrease input length"}}),
        (400, [{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "The input token count (1100000) "
                "exceeds the maximum number of tokens allowed (1048576)."}}]),
        (400, {"object": "error", "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum "
               "context length", "type": "invalid_request_prompt"}),
        (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 "
               "`inputs` tokens"}),
        (400, {"error": {"message": "The input (5000 tokens) is longer than the model's context length (4096)."}}),
        (400, {"message": "Input is too long for requested model."}),
        (200, {"error": {"code": 400, "message": "Provider returned error",
                         "metadata": {"raw": '{"code":"context_length_exceeded"}'}}}),
        (413, openai("Please reduce the length of the messages or completion.", "context_length_exceeded")),
    ],
)  # fmt: skip
def test_a_dialogue_that_is_too_long_is_an_answer_of_a_kind(status: int, body: object) -> None:
    assert judge(read_refusal(status, {}, body)) == OVERFLOW


@pytest.mark.parametrize(
    "message",
    [
        (
            "This model's maximum context length is 4096 tokens. However, you requested 8200 tokens (10 in the "
            "messages, 8190 in the completion). Please reduce the length of the messages or completion."
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 "
            "tokens and your request has 10 input tokens"
        ),
        "max_tokens=8192 cannot be greater than max_model_len=4096: maximum model length",
    ],
)
def test_a_limit_of_tokens_that_fits_no_dialogue_is_a_mistake_in_the_model_table(message: str) -> None:
    assert judge(Refusal(message, 400)) == Verdict(advice="max_tokens")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, openai("The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
                     "content_filter", innererror={"code": "ResponsibleAIPolicyViolation"})),
        (400, openai("x", None, innererror={"code": "ResponsibleAIPolicyViolation"})),
        (400, openai("Your request was rejected", "content_policy_violation")),
        (400, {"error": {"message": "Output blocked by content filtering policy"}}),
        (403, {"error": {"code": 403, "message": "x requires moderation. Your input was flagged for violence"}}),
    ],
)  # fmt: skip
def test_a_filtered_dialogue_is_an_answer_of_a_kind(status: int, body: object) -> None:
    assert judge(read_refusal(status, {}, body)) == FILTERED


@pytest.mark.parametrize("status", [401, 404, 429, 503])
def test_other_statuses_are_not_taken_for_an_overflow_because_of_their_words(status: int) -> None:
    assert judge(Refusal("prompt is too long: content_filter", status)).stop_reason is None


def test_no_connection_no_answer_in_time_and_garbage_are_worth_another_try_unless_known_to_be_final() -> None:
    assert judge(Refusal("the connection failed")) == AGAIN
    assert judge(Refusal("no certificate", is_final=True)) == FINAL
    assert judge(Refusal("the endpoint sent no JSON", 200)) == AGAIN


@pytest.mark.parametrize(
    ("body", "message", "parameter"),
    [
        (openai("m", "c", param="top_p"), "m", "top_p"),
        ({"error": "m"}, "m", ""),
        ({"detail": "m"}, "m", ""),
        ({"message": "m", "object": "error"}, "m", ""),
        ([{"error": {"message": "m"}}], "m", ""),
        ({"error": {"message": "m", "metadata": {"raw": "why"}}}, "m: why", ""),
        (
            {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "m"}, {"msg": "n"}]},
            "seed: m; n",
            "seed",
        ),
        ("m", "m", ""),
        (None, "", ""),
        (42, "", ""),
    ],
)
def test_the_words_are_found_in_many_shapes(body: object, message: str, parameter: str) -> None:
    refusal = read_refusal(400, {}, body)
    assert (refusal.message, refusal.parameter, refusal.status) == (message, parameter, 400)


def test_tokens_of_a_failed_call_are_kept() -> None:
    body = {"error": {"message": "m"}, "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    assert read_refusal(500, {}, body).usage == Usage(5, 2)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "param", "detail", "loc", "msg", "metadata", "usage"]), inner
        )
    ),
)


@given(st.sampled_from([200, 400, 429, 500]), json_values)
def test_any_json_is_a_refusal_with_a_verdict(status: int, body: Any) -> None:
    refusal = read_refusal(status, {}, body)
    verdict = judge(refusal)
    assert isinstance(refusal.message, str)
    assert not (verdict.retryable and verdict.stop_reason)


NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "1e9"}, 86_400.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({"retry-after": format_datetime(NOON, usegmt=True)}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
    ],
)
def test_the_wait_that_an_endpoint_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOON.timestamp() - 30) == seconds


@given(st.text())
def test_any_header_is_a_wait_or_none(value: str) -> None:
    seconds = retry_after({"retry-after": value})
    assert seconds is None or 0 <= seconds <= 86_400
