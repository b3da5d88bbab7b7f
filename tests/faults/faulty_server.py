"""An OpenAI-compatible server in a process of its own that fails often and writes down what it did.

    python -m tests.faults.faulty_server --log server.jsonl --seed 7 --faults

Prints its port once it listens. It answers "the square of N" with a number that depends on N only. Of each 100
requests 10 are refused as too many (half of them with ``Retry-After``), 5 fail with 500, 5 lose their connection and 2
get no JSON, in an order drawn from the seed.

The log has two lines for each request: one before anything is sent, which says what will be, and one afterwards; a
server that was killed in between leaves the first one alone. It is appended to when the server is started again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import socket
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.speed.tables import say

__all__ = ["FATES", "wanted_answer"]

FATES = {"429": 5, "429 later": 5, "500": 5, "reset": 5, "garbage": 2}
"""Of 100 requests, how many end so; the others are answered."""

_RETRY_AFTER = "0.2"
_STATUS = {"200": "OK", "429": "Too Many Requests", "500": "Internal Server Error", "404": "Not Found"}


def wanted_answer(number: int) -> int:
    """What the server says the square of ``number`` is: for each seventh one something else."""
    return number * number + (1 if number % 7 == 0 else 0)


@dataclass
class FaultyServer:
    """The server's state.

    Attributes:
        log: descriptor of the log, for appending.
        latency: seconds before each answer.
        random: draws the order of faults; None for a server without any.
        count: requests so far, those of earlier processes included.
    """

    log: int
    latency: float
    random: random.Random | None
    count: int = 0

    def __post_init__(self) -> None:
        self._fates: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"(?i)content-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                if not await self._answer(json.loads(body), writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client went away
        finally:
            writer.close()

    async def _answer(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        self.count += 1
        number, fate = self.count, self._next_fate()
        asked = re.search(r"square of (\d+)", body["messages"][-1]["content"])
        n = int(asked[1]) if asked else 0
        tokens = {"prompt_tokens": 100 + number % 17, "completion_tokens": 10 + number % 5}
        request = {"id": number, "model": body["model"], "n": n, "fate": fate, **tokens}
        self._note({**request, "event": "came"})
        await asyncio.sleep(self.latency)
        if fate == "reset":
            # Closing with a linger time of zero sends a reset instead of the usual goodbye.
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.close()
        else:
            writer.write(_response(fate, str(wanted_answer(n)), {**tokens, "served": f"request-{number}"}))
            await writer.drain()
        self._note({"id": number, "event": "sent"})
        return fate != "reset"

    def _next_fate(self) -> str:
        if self.random is None:
            return "answer"
        if not self._fates:
            self._fates = [fate for fate, times in FATES.items() for _ in range(times)]
            self._fates += ["answer"] * (100 - len(self._fates))
            self.random.shuffle(self._fates)
        return self._fates.pop()

    def _note(self, line: dict[str, Any]) -> None:
        os.write(self.log, json.dumps(line).encode() + b"\n")  # at once and whole


def _response(fate: str, text: str, told: dict[str, Any]) -> bytes:
    if fate == "garbage":
        return _http("200", b'{"id": "chatcmpl-1", "choices": [{"mess')
    if fate != "answer":
        status = fate[:3]
        later = f"Retry-After: {_RETRY_AFTER}\r\n" if fate == "429 later" else ""
        return _http(status, json.dumps({"error": {"message": "injected fault"}}).encode(), later)
    message = {"role": "assistant", "content": text}
    usage = {name: value for name, value in told.items() if name != "served"}
    content = {
        "object": "chat.completion",
        "model": told["served"],
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": usage,
    }
    return _http("200", json.dumps(content).encode())


def _http(status: str, body: bytes, headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status} {_STATUS[status]}\r\nContent-Type: application/json\r\n{headers}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _main(state: FaultyServer, port: int) -> None:
    server = await asyncio.start_server(state.serve, "127.0.0.1", port, backlog=1024)
    say(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server that fails often.")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--faults", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    options = _arguments()
    log = os.open(options.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    earlier = options.log.read_bytes().count(b'"came"')
    order = random.Random(options.seed + earlier) if options.faults else None  # noqa: S311  (no secret)
    asyncio.run(_main(FaultyServer(log, options.latency, order, earlier), options.port))
