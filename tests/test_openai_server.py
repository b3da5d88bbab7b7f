"""The test server itself, spoken to without any client library."""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import Any

import pytest

from tests.openai_server import Fault, OpenAIServer, echo

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


def post(server: OpenAIServer, path: str = "/v1/chat/completions", body: object = CHAT) -> tuple[int, Any, Any]:
    """Status, body and headers of one request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body))
        response = connection.getresponse()
        return response.status, json.loads(response.read()), response.headers
    finally:
        connection.close()


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/chat/completions"])
def test_a_chat_request_gets_a_completion(path: str) -> None:
    with OpenAIServer(reply=echo) as server:
        status, done, _ = post(server, path)
    assert status == 200
    assert done["choices"][0]["message"] == {"role": "assistant", "content": "Hello"}
    assert done["choices"][0]["finish_reason"] == "stop"
    assert done["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert (server.count, server.requests, server.paths) == (1, [CHAT], [path])


def test_the_models_can_be_listed() -> None:
    with OpenAIServer() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", "/v1/models")
        models = json.loads(connection.getresponse().read())
        connection.close()
    assert [model["id"] for model in models["data"]] == ["test-model"]


@pytest.mark.parametrize(
    ("path", "body", "status"), [("/v1/chat/completions", b"{", 400), ("/v1/nowhere", CHAT, 404), ("/x", CHAT, 404)]
)
def test_what_is_no_chat_request_is_refused_and_not_counted(path: str, body: object, status: int) -> None:
    with OpenAIServer() as server:
        assert post(server, path, body)[0] == status
    assert server.count == 0


def test_faults_come_in_their_order_and_then_every_so_often() -> None:
    limit = Fault("status", 429, retry_after=0.5, message="slow down")
    with OpenAIServer(every=(3, Fault("status", 503))) as server:
        server.faults.extend([limit, None, Fault("no_choices")])
        statuses = []
        for number in range(9):
            status, body, headers = post(server)
            statuses.append(status)
            if number == 0:
                assert (headers["Retry-After"], body["error"]["message"]) == ("0.5", "slow down")
            if number == 2:
                assert body["choices"] == []
    assert statuses == [429, 200, 200, 200, 200, 503, 200, 200, 503]


def test_a_reset_is_no_answer() -> None:
    with OpenAIServer() as server:
        server.faults.append(Fault("reset"))
        with pytest.raises(ConnectionError):
            post(server)


def test_requests_are_answered_at_the_same_time_and_the_peak_is_known() -> None:
    with OpenAIServer(latency=0.2) as server:
        threads = [threading.Thread(target=post, args=(server,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert server.count == 8
    assert 2 <= server.peak <= 8


def test_the_end_of_the_server_does_not_wait_for_a_hanging_answer() -> None:
    with OpenAIServer() as server:
        server.faults.append(Fault("hang", seconds=3600))
        asker = threading.Thread(target=post, args=(server,))
        asker.start()
        while server.count == 0:
            time.sleep(0.01)
    asker.join(timeout=20)
    assert not asker.is_alive()
