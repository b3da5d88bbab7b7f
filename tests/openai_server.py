"""An OpenAI-compatible server on the loopback interface, with faults on demand; standard library only.

    with OpenAIServer(reply="42", latency=0.1) as server:
        server.faults.append(Fault("status", status=429, retry_after=1))   # the next request only
        ...  # server.url is what OPENAI_BASE_URL or api_base wants; server.requests are the bodies received

It speaks ``POST /v1/chat/completions`` (also without ``/v1``, never streamed) and ``GET /v1/models``.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

Chat = list[dict[str, Any]]
Reply = str | None | Callable[[Chat], str | None]
FaultKind = Literal[
    "status",  # an HTTP error with a JSON body as OpenAI sends it
    "hang",  # no answer for `seconds`, then the usual one
    "reset",  # the connection is reset without any answer
    "close",  # the connection is closed without any answer, as a restarted server does with an old one
    "cut",  # the connection closes in the middle of the body
    "garbage",  # 200, application/json, but bytes that are no text at all
    "invalid_json",  # 200, application/json, but the JSON ends early
    "no_choices",  # 200, a completion with an empty list of choices
    "null_content",  # 200, a message without content
    "big",  # 200, an answer of one million characters
    "html",  # 200, text/html: what a proxy's login page looks like
]


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request; ``seconds`` belong to a ``hang``, the rest to a ``status``.

    ``body`` is JSON to send instead of the usual error object, ``headers`` are further ones; 200 is a status, too.
    """

    kind: FaultKind
    status: int = 500
    retry_after: float | None = None
    seconds: float = 30.0
    message: str = "injected fault"
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def echo(messages: Chat) -> str:
    """A reply: the text of the last message."""
    return str(messages[-1]["content"])


@dataclass
class OpenAIServer:
    """The server; a context manager.

    Attributes:
        reply: the answer text, or a function of the messages; None is a message without content.
        latency: seconds before each answer.
        usage: tokens in and out that each answer reports; None leaves the usage out.
        usage_details: further fields of the usage, e.g. ``prompt_tokens_details``.
        finish_reason: what each answer reports.
        message: further fields of the answer's message, e.g. ``reasoning_content``.
        faults: one for each of the next requests, None for a request that goes well; then `every`.
        every: (n, fault): each n-th request beyond `faults` fails so.
        requests: bodies of the chat requests in the order of their arrival; `headers` and `paths` likewise.
        peak: the most requests that were answered at the same time.
        at_port: where to listen, 0 for any free port; an earlier server's port for a restart.
    """

    reply: Reply = "ok"
    latency: float = 0.0
    usage: tuple[int, int] | None = (7, 3)
    usage_details: dict[str, Any] = field(default_factory=dict)
    finish_reason: str = "stop"
    message: dict[str, Any] = field(default_factory=dict)
    faults: deque[Fault | None] = field(default_factory=deque)
    every: tuple[int, Fault] | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    peak: int = 0
    at_port: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._active = 0
        self._beyond = 0
        self._stopping = threading.Event()
        self._http = _Server(("127.0.0.1", self.at_port), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def connections(self) -> int:  # that are open
        return len(self._http.connections)

    @property
    def count(self) -> int:
        """Chat requests so far, failed ones too."""
        return len(self.requests)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._http.hang_up()
        self._thread.join()

    def enter(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Fault | None:
        """Notes a request and says what goes wrong with it."""
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            self.paths.append(path)
            self._active += 1
            self.peak = max(self.peak, self._active)
            if self.faults:
                return self.faults.popleft()
            if self.every is not None:
                self._beyond += 1
                return self.every[1] if self._beyond % self.every[0] == 0 else None
            return None

    def leave(self) -> None:
        """The opposite of `enter`."""
        with self._lock:
            self._active -= 1

    def wait(self, seconds: float) -> None:
        """Sleeps, but not beyond the end of the server."""
        if seconds > 0:
            self._stopping.wait(seconds)

    def completion(self, body: dict[str, Any], content: str | None) -> dict[str, Any]:
        """A chat completion with ``content``."""
        choice = {
            "index": 0,
            "finish_reason": self.finish_reason,
            "message": {"role": "assistant", "content": content, **self.message},
        }
        done: dict[str, Any] = {
            "id": f"chatcmpl-{self.count}",
            "object": "chat.completion",
            "created": 1700000000,
            "model": f"{body.get('model', 'none')}-served",
            "choices": [choice],
        }
        if self.usage is not None:
            into, out = self.usage
            done["usage"] = {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out}
            done["usage"] |= self.usage_details
        return done


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    owner: OpenAIServer

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Ends the connections that clients keep for later, as the end of a server's process does."""
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that give up are part of the tests: nothing to print."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet, or delayed acknowledgements add 40 ms to each answer
    disable_nagle_algorithm = True
    server: _Server
    error_types: ClassVar[dict[int, str]] = {401: "invalid_request_error", 429: "rate_limit_error"}

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is inherited)
        """Says nothing."""

    def do_GET(self) -> None:
        if self.path.removeprefix("/v1") == "/models":
            models = [{"id": "test-model", "object": "model", "owned_by": "tests"}]
            self._send_json(200, {"object": "list", "data": models})
        else:
            self._send_json(404, {"error": {"message": f"no such path: {self.path}"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.partition("?")[0].removeprefix("/v1") != "/chat/completions":
            self._send_json(404, {"error": {"message": f"no such path: {self.path}"}})
            return
        try:
            body = json.loads(raw)
            messages = body["messages"]
        except (ValueError, KeyError, TypeError):
            self._send_json(400, {"error": {"message": "the body is no chat request"}})
            return
        owner = self.server.owner
        fault = owner.enter(self.path, dict(self.headers), body)
        try:
            owner.wait(owner.latency)
            if fault is None or not self._fail(fault, body):
                content = owner.reply(messages) if callable(owner.reply) else owner.reply
                self._send_json(200, owner.completion(body, content))
        finally:
            owner.leave()

    def _fail(self, fault: Fault, body: dict[str, Any]) -> bool:
        """Does what ``fault`` says; False when the usual answer is to follow."""
        owner = self.server.owner
        if fault.kind == "hang":
            owner.wait(fault.seconds)
            return False
        if fault.kind in ("reset", "close", "cut"):
            self._break_off(fault.kind)
        elif fault.kind == "status":
            kind = self.error_types.get(fault.status, "server_error")
            headers = {} if fault.retry_after is None else {"Retry-After": f"{fault.retry_after:g}"}
            error = {"message": fault.message, "type": kind, "code": None, "param": None}
            body = {"error": error} if fault.body is None else fault.body
            self._send_json(fault.status, body, headers | fault.headers)
        elif fault.kind == "garbage":
            self._send(200, b"\x00\xff\xfe\x80 not a text" * 20, "application/json", {})
        elif fault.kind == "invalid_json":
            whole = json.dumps(owner.completion(body, "never read")).encode()
            self._send(200, whole[: len(whole) // 2], "application/json", {})
        elif fault.kind == "html":
            self._send(200, b"<!doctype html><title>Sign in</title><p>Sign in", "text/html", {})
        elif fault.kind == "no_choices":
            self._send_json(200, owner.completion(body, "") | {"choices": []})
        elif fault.kind == "null_content":
            self._send_json(200, owner.completion(body, None))
        else:
            self._send_json(200, owner.completion(body, "x" * 1_000_000))
        return True

    def _break_off(self, kind: FaultKind) -> None:
        if kind == "cut":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"id": "chatcmpl-cut", "choices": [')
            self.wfile.flush()
        elif kind == "reset":
            # Closing with a linger time of zero sends a reset instead of the usual goodbye.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _send_json(self, status: int, data: object, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(data).encode(), "application/json", headers or {})

    def _send(self, status: int, raw: bytes, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(raw)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)
        self.wfile.flush()
