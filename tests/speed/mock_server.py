"""An OpenAI-compatible server that costs as little CPU as possible, so that it hardly disturbs what is measured.

    python -m tests.speed.mock_server --latency-ms 200 --answer "a text"

Prints its port as the first line and serves until it is terminated, on the loopback interface only:

- any ``POST`` whose path ends with ``/chat/completions``: the same answer after the same latency, with usage. The
  number of prompt tokens is a quarter of the length of the request's body; ``model`` is always ``mock``.
- ``GET /stats``: what it has seen since ``POST /reset``, see `Counts`.

The bytes of an answer are made once; HTTP is read by hand: one request at a time on a connection, as all clients
here send them, and the body is never parsed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.speed.tables import say

__all__ = ["Counts", "MockProtocol", "serve"]


@dataclass(slots=True)
class Counts:
    """What the server has seen.

    Attributes:
        requests, most_in_flight, connections: chat requests, the most of them at once, connections opened.
        first, last: monotonic seconds of the first request's arrival and the last answer's sending.
        agents: what the clients of chat requests call themselves.
        cpu: CPU seconds of the server's process.
    """

    requests: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    connections: int = 0
    first: float | None = None
    last: float | None = None
    agents: list[str] = field(default_factory=list)
    cpu_from: float = field(default_factory=time.process_time)

    def plain(self) -> dict[str, Any]:
        """The counts with the CPU seconds and the span from first to last."""
        counts = asdict(self)
        counts["cpu"] = time.process_time() - self.cpu_from
        counts["span"] = self.last - self.first if self.first is not None and self.last is not None else None
        return counts


@dataclass(slots=True)
class Service:
    """What all connections share."""

    answer: str
    latency: float
    counts: Counts = field(default_factory=Counts)
    _made: dict[int, bytes] = field(default_factory=dict)

    def completion(self, prompt_bytes: int) -> bytes:
        """A chat completion as an HTTP response, made once for each length of a prompt."""
        if prompt_bytes not in self._made:
            self._made[prompt_bytes] = self._new_completion(prompt_bytes)
        return self._made[prompt_bytes]

    def _new_completion(self, prompt_bytes: int) -> bytes:
        tokens_in, tokens_out = max(1, prompt_bytes // 4), max(1, len(self.answer) // 4)
        return _response(
            {
                "id": "chatcmpl-mock",
                "object": "chat.completion",
                "created": 1_700_000_000,
                "model": "mock",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "stop",
                        "logprobs": None,
                        "message": {"role": "assistant", "content": self.answer},
                    }
                ],
                "usage": {
                    "prompt_tokens": tokens_in,
                    "completion_tokens": tokens_out,
                    "total_tokens": tokens_in + tokens_out,
                },
            }
        )


class MockProtocol(asyncio.Protocol):
    """One connection."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._counted: Counts | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
        self._service.counts.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        end = received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(received[:end])
        length = int(_header(head, b"content-length") or 0)
        if len(received) < end + 4 + length:
            if b"100-continue" in head.lower():
                self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        del received[: end + 4 + length]
        self._answer(head, length)

    def _answer(self, head: bytes, length: int) -> None:
        counts, path = self._service.counts, head.split(b" ", 2)[1].split(b"?")[0]
        if path.endswith(b"/chat/completions"):
            counts.requests += 1
            counts.in_flight += 1
            counts.most_in_flight = max(counts.most_in_flight, counts.in_flight)
            if counts is not self._counted:  # once for each connection, and again after a reset
                self._counted = counts
                agent = _header(head, b"user-agent").decode("latin-1")
                counts.agents += [] if agent in counts.agents else [agent]
            counts.first = time.monotonic() if counts.first is None else counts.first
            self._loop.call_later(self._service.latency, self._complete, self._service.completion(length))
        elif path == b"/stats":
            self._send(_response(counts.plain()))
        elif path == b"/reset":
            self._service.counts = Counts()
            self._send(_response({"ok": True}))
        else:
            self._send(_response({"error": {"message": "no such path"}}, b"404 Not Found"))

    def _complete(self, response: bytes) -> None:
        counts = self._service.counts
        counts.in_flight -= 1
        counts.last = time.monotonic()
        self._send(response)

    def _send(self, response: bytes) -> None:
        if self._transport is not None:
            self._transport.write(response)


def _header(head: bytes, name: bytes) -> bytes:
    """The header ``name``, empty when there is none."""
    at = head.lower().find(b"\r\n%b:" % name)
    return head[at + len(name) + 3 :].split(b"\r\n", 1)[0].strip() if at >= 0 else b""


def _response(body: object, status: bytes = b"200 OK") -> bytes:
    content = json.dumps(body).encode("utf-8")
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(content))
    return head + content


async def serve(service: Service, port: int = 0) -> asyncio.Server:
    """The server, listening on the loopback interface; ``port`` 0 takes a free one."""
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: MockProtocol(service), "127.0.0.1", port, backlog=4096)


async def _main(service: Service, port: int) -> None:
    server = await serve(service, port)
    say(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server with a fixed answer.")
    parser.add_argument("--latency-ms", type=float, default=200.0)
    parser.add_argument("--answer", default="ok")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(Service(options.answer, options.latency_ms / 1000), options.port))
