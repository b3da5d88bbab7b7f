"""The server of the speed programs speaks HTTP as the measured clients do."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp

from tests.speed.mock_server import Service, serve


async def _ask(service: Service, *requests: str) -> list[Any]:
    server = await serve(service)
    port = server.sockets[0].getsockname()[1]
    async with server, aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:

        async def one(path: str) -> Any:
            if path.startswith("/v1"):
                body = {"model": "mock", "messages": [{"role": "user", "content": "x" * 100_000}]}
                async with session.post(path, json=body) as response:
                    return response.status, await response.json()
            async with session.get(path) as response:
                return response.status, await response.json()

        return list(await asyncio.gather(*(one(path) for path in requests)))


def test_an_answer_is_a_chat_completion_with_usage() -> None:
    service = Service("the answer", 0.0)
    [(status, body)] = asyncio.run(_ask(service, "/v1/chat/completions"))
    assert status == 200
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "the answer"}
    # The body is the text and some 70 characters of JSON, a quarter of which counts as tokens.
    assert 25_000 < body["usage"]["prompt_tokens"] < 25_050
    assert body["usage"]["total_tokens"] == body["usage"]["prompt_tokens"] + 2


def test_requests_are_counted_and_reset() -> None:
    service = Service("a", 0.05)
    asyncio.run(_ask(service, *["/v1/chat/completions"] * 7))
    counts = service.counts.plain()
    assert (counts["requests"], counts["in_flight"], counts["most_in_flight"]) == (7, 0, 7)
    assert counts["span"] >= 0.05
    assert [agent.partition("/")[0] for agent in counts["agents"]] == ["Python"]
    [(status, _)] = asyncio.run(_ask(service, "/reset"))
    assert status == 200
    assert service.counts.requests == 0
    assert service.counts.plain()["span"] is None


def test_a_path_that_does_not_exist_is_no_answer() -> None:
    [(status, body)] = asyncio.run(_ask(Service("a", 0.0), "/elsewhere"))
    assert status == 404
    assert body == {"error": {"message": "no such path"}}


def test_a_request_that_arrives_in_pieces_is_put_together() -> None:
    async def ask() -> bytes:
        server = await serve(Service("pieces", 0.0))
        async with server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])
            for piece in (
                b"POST /v1/chat/comple",
                b"tions HTTP/1.1\r\nHost: x\r\ncontent-",
                b"length: 4\r\n\r\n{",
                b"   ",
            ):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.01)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            writer.close()
            return body

    assert json.loads(asyncio.run(ask()))["choices"][0]["message"]["content"] == "pieces"
