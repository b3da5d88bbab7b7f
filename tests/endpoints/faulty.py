"""A server on loopback that fails in the way that its path names; counts what it was asked."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = {"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "literal", "value": "found"}}]}}
YES = {"head": {}, "boolean": True}
PAGE = b"<!DOCTYPE html><html><head><script>var a = 1;</script></head><body><h1>Down for maintenance</h1></body></html>"
JSON = "application/sparql-results+json"
MEGABYTE = b'{"x": {"type": "literal", "value": "' + b"y" * (2**20 - 60) + b'"}},'


class Faulty(ThreadingHTTPServer):
    """Paths: ``/NAME`` fails always; ``/query-NAME`` only for queries other than the probe ``ASK { }``;
    ``/once-NAME`` only the first time; ``/twice-NAME`` only behind that."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, dict[str, str], str]] = []
        self.lock = threading.Lock()
        self.now = 0
        self.most = 0
        self.stop = threading.Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"

    def queries(self, path: str) -> list[str]:
        return [query for _, asked, _, query in self.asked if asked == f"/{path}" and query != "ASK { }"]

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that hang up are what this is about


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Faulty

    def do_GET(self) -> None:
        self._answer(parse_qs(urlsplit(self.path).query))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        self._answer(parse_qs(body.decode()))

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, fields: dict[str, list[str]]) -> None:
        path, query = urlsplit(self.path).path, fields.get("query", [""])[0]
        with self.server.lock:
            before = sum(1 for _, asked, _, _ in self.server.asked if asked == path)
            self.server.asked.append((self.command, path, dict(self.headers), query))
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
        try:
            self._behave(path.removeprefix("/"), query, before)
        finally:
            with self.server.lock:
                self.server.now -= 1

    def _behave(self, name: str, query: str, before: int) -> None:
        is_fine = (
            (name.startswith("twice-") and before == 0)
            or (name.startswith("once-") and before > 0)
            or (name.startswith("query-") and query == "ASK { }")
        )
        name = name.removeprefix("once-").removeprefix("query-").removeprefix("twice-")
        method = getattr(self, f"_{name.partition('.')[0].replace('-', '_')}", None)
        if is_fine or method is None:
            self.send(200, JSON, json.dumps(YES if query.startswith("ASK") else ROWS).encode())
        else:
            method()

    def send(self, status: int, media_type: str, body: bytes, **headers: str) -> None:
        self.send_response(status)
        own = {key.replace("_", "-"): value for key, value in headers.items()}
        for key, value in {"Content-Type": media_type, "Content-Length": str(len(body)), **own}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def _html(self) -> None:
        self.send(200, "text/html; charset=utf-8", PAGE)

    def _html_as_json(self) -> None:
        self.send(200, JSON, PAGE)

    def _truncated_json(self) -> None:
        self.send(200, JSON, json.dumps(ROWS).encode()[:-20])

    def _cut_body(self) -> None:
        self.send(200, JSON, b'{"head":', Content_Length="4000")
        self.close_connection = True

    def _garbage(self) -> None:
        self.send(200, JSON, b'{"error": nothing}')

    def _no_rows_key(self) -> None:
        self.send(200, JSON, b'{"head": {"vars": ["x"]}}')

    def _empty_body(self) -> None:
        self.send(200, JSON, b"")

    def _text(self) -> None:
        self.send(200, "text/csv", b"x\r\nfound\r\n")

    def _gzip(self) -> None:
        self.send(200, JSON, b"\x1f\x8b", Content_Encoding="gzip")

    def _slow(self) -> None:
        self.server.stop.wait(60)

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", JSON)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        with contextlib.suppress(OSError):
            while not self.server.stop.is_set():
                self.wfile.write(b" ")
                time.sleep(0.02)

    def _huge(self) -> None:
        """100 MB of one endless list of rows, in chunks."""
        self.send_response(200)
        self.send_header("Content-Type", JSON)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with contextlib.suppress(OSError):
            for part in (b'{"head": {"vars": ["x"]}, "results": {"bindings": [', *[MEGABYTE] * 100):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.close_connection = True

    def _declared_huge(self) -> None:
        self.send(200, JSON, b"{", Content_Length=str(100 * 2**20))
        self.close_connection = True

    def _elsewhere(self) -> None:
        self.send(302, "text/plain", b"", Location="http://other.invalid/sparql?query=x")

    def _other_port(self) -> None:
        self.send(307, "text/plain", b"", Location="http://127.0.0.1:1/sparql")

    def _file(self) -> None:
        self.send(302, "text/plain", b"", Location="file:///etc/passwd")

    def _nowhere(self) -> None:
        self.send(302, "text/plain", b"")

    def _no_address(self) -> None:
        self.send(302, "text/plain", b"", Location="http://[::1/sparql")

    def _umlaut(self) -> None:
        """Redirected to an address with a space and a letter beyond ASCII, in UTF-8 as browsers take it."""
        self.send(302, "text/plain", b"", Location="/zw\u00c3\u00b6lf Graphen")

    def _unlike_type(self) -> None:
        term = {"type": ["literal"], "value": "found"}
        self.send(200, JSON, json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": [{"x": term}]}}).encode())

    def _endless(self) -> None:
        """Chunks without an end, each of white space."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with contextlib.suppress(OSError):
            while not self.server.stop.is_set():
                self.wfile.write(b"10000\r\n" + b" " * 2**16 + b"\r\n")

    def _bomb(self) -> None:
        """64 MiB of blanks, packed though nobody asked for that."""
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        packed = b"".join(packer.compress(b" " * 2**20) for _ in range(64)) + packer.flush()
        self.send(200, JSON, packed, Content_Encoding="gzip")

    def _long_header(self) -> None:
        self.send(200, JSON, json.dumps(ROWS).encode(), X_Noise="y" * 70_000)
        self.close_connection = True

    def _circle(self) -> None:
        self.send(302, "text/plain", b"", Location=self.path)

    def _moved(self) -> None:
        self.send(307, "text/plain", b"", Location=self.path.replace("moved", "fine"))

    def _status(self) -> None:
        status = int(self.path.partition(".")[2][:3])
        self.send(status, "application/json", json.dumps({"message": f"said {status}\x1b[31m"}).encode())

    def _page(self) -> None:
        self.send(int(self.path.partition(".")[2][:3]), "text/html", PAGE)

    def _busy(self) -> None:
        self.send(503, "text/plain", b"busy", Retry_After="1")

    def _wait(self) -> None:
        """503 with the rest of the path as the pause that it asks for."""
        told = unquote(urlsplit(self.path).path.partition(".")[2])
        self.send(503, "text/plain", b"busy", Retry_After=told)

    def _cut_rows(self) -> None:
        self.send(200, JSON, json.dumps(ROWS).encode(), X_SPARQL_MaxRows="10000")

    def _anytime(self) -> None:
        message = "Virtuoso S1TAT Error: returning incomplete results"
        self.send(200, JSON, json.dumps(ROWS).encode(), X_SQL_State="S1TAT", X_SQL_Message=message)

    def _secret(self) -> None:
        told = self.headers.get("authorization", "nothing")
        self.send(401, "text/plain", f"you sent {told}".encode())

    def _short_get(self) -> None:
        if self.command == "GET":
            self.send(414, "text/plain", b"too long")
        else:
            self.send(200, JSON, json.dumps(ROWS).encode())

    def _pause(self) -> None:
        time.sleep(0.05)
        self.send(200, JSON, json.dumps(ROWS).encode())

    def _not_http(self) -> None:
        self.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        self.close_connection = True

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)  # closing then sends a reset
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True

    def _hang_up(self) -> None:
        self.close_connection = True

    def _stale(self) -> None:
        """A good response, after which the connection is closed without a word."""
        self.send(200, JSON, json.dumps(ROWS).encode())
        self.close_connection = True


@contextlib.contextmanager
def faulty_server() -> Iterator[Faulty]:
    server = Faulty()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop.set()
        server.shutdown()
        server.server_close()
        thread.join()
