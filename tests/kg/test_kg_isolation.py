"""Nothing that a text says reaches the network or a file: each of the three layers is shown to hold alone."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.contracts import GraphText
from pytest_llmkg.kg.query_check import refusal
from tests.hostile.queries import REACHING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_llmkg.kg import Sandbox

GRAPH = GraphText("<a:a> <a:b> 1 .", "turtle")


class Listener:
    """A server that counts who knocks and hangs up."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}/x"
        self.knocks = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                caller, _ = self.server.accept()
            except OSError:
                return
            self.knocks += 1
            caller.close()

    def counted(self) -> int:
        """The knocks so far; our own last one comes through the same queue, so nothing is still on its way."""
        before = self.knocks
        socket.create_connection(self.server.getsockname()).close()
        while self.knocks == before:
            time.sleep(0.01)
        self.knocks -= 1
        return self.knocks


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.server.close()


@pytest.mark.parametrize("query", REACHING.values(), ids=REACHING.keys())
def test_queries_that_reach_outside_are_refused(sandbox: Sandbox, listener: Listener, query: str) -> None:
    text = query.format(url=listener.url)
    result = sandbox.run_query(GRAPH, text, {})
    assert result.error is not None
    assert result.error.endswith(("is not allowed", "alone", "DESCRIBE are"))
    assert result.rows == ()
    assert listener.counted() == 0
    assert refusal(text) == result.error


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?from <a:service> 'SERVICE <http://x/> {' }",
        "SELECT * { ?s ?p ?service } # FROM <http://x/>",
        "SELECT * { ?s from:service <http://service.example/from> }",
        "PREFIX load: <a:from/> SELECT ?load { ?load load:service ?o }",
    ],
)
def test_the_words_alone_do_no_harm(sandbox: Sandbox, query: str) -> None:
    assert sandbox.run_query(GRAPH, query, {"from": "a:from/"}).error is None


@pytest.mark.parametrize(
    "context",
    [
        '"{url}"',
        '["{url}"]',
        '[{{"a": "a:a"}}, "{url}"]',
        '[["{url}"]]',
        '{{"a": {{"@id": "a:a", "@context": "{url}"}}}}',
        '{{"@import": "{url}"}}',
        '{{"@version": 1.1, "@import": "{url}"}}',
        '"relative"',
    ],
)
def test_remote_json_ld_contexts_are_refused(sandbox: Sandbox, listener: Listener, context: str) -> None:
    there = context.format(url=listener.url)
    for text in (f'{{"@context": {there}, "a": 1}}', f'[{{"a:a": {{"@context": {there}, "a": {{"a": 1}}}}}}]'):
        error = sandbox.check_rdf(GraphText(text, "json-ld")).error
        assert error is not None
        assert error.startswith("remote JSON-LD contexts are not allowed: ")
        sandbox.run_query(GraphText(text, "json-ld"), "ASK {}", {})
    assert listener.counted() == 0


LOCKED = """
import sys
from pyoxigraph import Store
from pytest_llmkg.kg import lockdown
url, layer = sys.argv[1:]
import rdflib, json, socket, subprocess, urllib.request, pathlib, os
rdflib.Graph().parse(data='{"@id": "a:a", "a:b": 1}', format="json-ld")
if layer == "no new files only":
    lockdown._leave_network = lambda: None
if layer != "none":
    lockdown.lock_down(1 << 30)

def query():
    return list(Store().query("SELECT * { SERVICE <%s> { ?s ?p ?o } }" % url))

def inside():
    with lockdown.no_new_files():
        return query()

attempts = {
    "service": inside if layer == "no new files only" else query,
    "context": lambda: rdflib.Graph().parse(data='{"@context": "%s", "a": 1}' % url, format="json-ld"),
    "urllib": lambda: urllib.request.urlopen(url, timeout=5),
    "socket": lambda: socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0]))),
    "program": lambda: subprocess.run(["true"]),
    "shell": lambda: os.system("true"),
    "read": lambda: pathlib.Path("/etc/hostname").read_text(),
    "write": lambda: pathlib.Path("/tmp/llmkg-must-not-exist.py").write_text("x"),
}
for name, attempt in attempts.items():
    try:
        attempt()
        print(name, "done")
    except Exception as error:
        print(name, type(error).__name__)
"""


def attempts(listener: Listener, layer: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", LOCKED, listener.url, layer], capture_output=True, text=True, check=True
    )
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_without_the_third_layer_the_attempts_do_reach_the_network(listener: Listener) -> None:
    attempts(listener, "none")
    assert listener.counted() >= 4, "the control: every attempt below is a real one"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the Linux kernel's name spaces")
def test_the_third_layer_holds_alone(listener: Listener) -> None:
    probe = "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x50000000) != 0)"
    if subprocess.run([sys.executable, "-c", probe], check=False).returncode:
        pytest.skip("this kernel does not permit network name spaces; the next test covers what is left")
    found = attempts(listener, "all")
    assert "done" not in found.values()
    assert len(found) == 8
    assert listener.counted() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX resource limits")
def test_the_third_layer_holds_without_name_spaces(listener: Listener) -> None:
    found = attempts(listener, "no new files only")
    assert "done" not in found.values()
    assert listener.counted() == 0
