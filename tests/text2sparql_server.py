"""A system that serves the TEXT2SPARQL API on the loopback interface, in a thread; standard library only."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


@dataclass
class Text2SparqlServer:
    """The server; a context manager.

    Attributes:
        query: the query for a question.
        more: further fields of each response, e.g. ``usage``.
        status: HTTP status of each response; other than 200 it has an error as its body.
        asked: (dataset, question) of the requests in the order of their arrival.
    """

    query: Callable[[str], str] = lambda _question: "SELECT * { ?s ?p ?o } LIMIT 1"
    more: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where to ask."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/api"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        system = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                given = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
                system.asked.append((given["dataset"], given["question"]))
                body: dict[str, Any] = {**given, "query": system.query(given["question"]), **system.more}
                if system.status != 200:
                    body = {"detail": "out of order"}
                raw = json.dumps(body).encode()
                self.send_response(system.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's name)
                pass

        return Handler
