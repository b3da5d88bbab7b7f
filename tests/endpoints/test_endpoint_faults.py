"""Every fault of an endpoint is an error of its own kind, tried again where that helps, and never an empty answer."""

from __future__ import annotations

import copy
import errno
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from pytest_llmkg.contracts import QueryResult, Term
from pytest_llmkg.endpoints import FAULTS, Endpoint, EndpointEngine, EndpointLimits, Endpoints, endpoint_graph
from pytest_llmkg.endpoints.deadline import DeadlineSocket
from pytest_llmkg.errors import EndpointError, EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_llmkg.kg import Sandbox
    from tests.endpoints.faulty import Faulty

    Ask = Callable[..., QueryResult]

QUERY = "SELECT ?x { ?s ?p ?x }"
FOUND = QueryResult(None, ("x",), ((Term("literal", "found"),),))
LIMITS: dict[str, Any] = {"seconds": 2.0, "connect_seconds": 2.0, "tries": 3, "pause": 0.01}


@pytest.fixture
def ask(sandbox: Sandbox, faulty: Faulty) -> Ask:
    def asked(path: str, query: str = QUERY, **settings: Any) -> QueryResult:
        own = {name: settings.pop(name) for name in list(settings) if name in EndpointLimits.__slots__}
        endpoint = Endpoint(faulty.url(path), limits=EndpointLimits(**{**LIMITS, **own}), **settings)
        endpoints = Endpoints({endpoint.url: endpoint})
        try:
            return EndpointEngine(sandbox, endpoints).run_query(endpoint_graph(endpoint.url), query, {})
        finally:
            endpoints.close()

    return asked


# (path, kind of fault, how often the query is sent)
CASES = [
    ("html", "html", 1),
    ("html-as-json", "html", 1),
    ("truncated-json", "truncated", 3),
    ("cut-body", "truncated", 3),
    ("empty-body", "truncated", 3),
    ("garbage", "garbled", 1),
    ("no-rows-key", "garbled", 1),
    ("text", "garbled", 1),
    ("gzip", "garbled", 1),
    ("not-http", "garbled", 1),
    ("huge", "too-large", 1),
    ("declared-huge", "too-large", 1),
    ("elsewhere", "redirect", 1),
    ("other-port", "redirect", 1),
    ("file", "redirect", 1),
    ("circle", "redirect", 5),
    ("nowhere", "redirect", 1),
    ("no-address", "redirect", 1),
    ("unlike-type", "garbled", 1),
    ("endless", "too-large", 1),
    ("bomb", "garbled", 1),
    ("long-header", "garbled", 1),
    ("reset", "reset", 3),
    ("hang-up", "reset", 3),
    ("busy", "status", 2),
    ("status.500", "status", 3),
    ("status.502", "status", 3),
    ("page.503", "status", 3),
    ("status.404", "status", 1),
    ("status.400", "status", 1),
    ("page.404", "html", 1),
    ("status.401", "denied", 1),
    ("status.403", "denied", 1),
    ("status.504", "slow", 2),
    ("anytime", "incomplete", 1),
    ("cut-rows", "incomplete", 1),
]


@pytest.mark.parametrize(("path", "kind", "tries"), CASES)
def test_fault_is_an_error_of_its_kind(ask: Ask, faulty: Faulty, path: str, kind: str, tries: int) -> None:
    with pytest.raises(EndpointError) as caught:
        ask(path, total_seconds=1.5)  # within which "busy", which asks for a second's pause, gets a second try
    assert caught.value.kind == kind
    assert kind in FAULTS
    assert f"the endpoint {faulty.url(path)}: " in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(faulty.queries(path)) == tries


@pytest.mark.parametrize("path", ["slow", "drip"])
def test_slow_endpoint_is_given_up_by_the_clock(ask: Ask, faulty: Faulty, path: str) -> None:
    started = time.monotonic()
    with pytest.raises(EndpointError) as caught:
        ask(path, seconds=0.3)
    assert caught.value.kind == "slow"
    assert "no complete response within 0.3 s (2 tries)" in str(caught.value)
    assert time.monotonic() - started >= 0.6
    assert len(faulty.queries(path)) == 2


def test_endpoint_that_is_down(sandbox: Sandbox) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, but nobody listens
        url = f"http://127.0.0.1:{held.getsockname()[1]}/sparql"
        endpoint = Endpoint(url, limits=EndpointLimits(**LIMITS))
        with pytest.raises(EndpointError) as caught:
            EndpointEngine(sandbox, Endpoints({url: endpoint})).run_query(endpoint_graph(url), QUERY, {})
    assert (caught.value.kind, caught.value.retryable) == ("unreachable", True)
    assert "refused" in str(caught.value)
    assert "(3 tries)" in str(caught.value)


@pytest.mark.parametrize(
    "path",
    ["once-busy", "once-reset", "once-hang-up", "once-truncated-json", "once-cut-body", "once-slow", "once-status.500"],
)
def test_what_passes_is_tried_again(ask: Ask, faulty: Faulty, path: str) -> None:
    assert ask(path, seconds=0.5) == FOUND
    assert len(faulty.queries(path)) == 2


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("query-status.400", "HTTP 400"),
        ("query-status.422", "HTTP 422"),
        ("query-huge", "the response is larger than 33554432 bytes"),
        ("query-declared-huge", "the response is larger than 33554432 bytes"),
        ("query-cut-rows", "it cuts results after 10000 rows"),
    ],
)
def test_what_only_the_query_meets_is_its_own_fault(ask: Ask, path: str, words: str) -> None:
    result = ask(path)
    assert result.error is not None
    assert words in result.error
    assert not result.timed_out
    assert (result.variables, result.rows, result.boolean) == ((), (), None)


def test_query_that_takes_too_long_while_the_endpoint_is_well(ask: Ask, faulty: Faulty) -> None:
    result = ask("query-slow", seconds=0.3)
    assert result.timed_out
    assert result.error == "no complete response within 0.3 s (2 tries)"
    assert len(faulty.queries("query-slow")) == 2


@pytest.mark.parametrize("path", ["query-html", "query-garbage", "query-elsewhere", "query-reset", "query-status.500"])
def test_other_faults_are_never_the_querys(ask: Ask, path: str) -> None:
    with pytest.raises(EndpointError):
        ask(path)


@pytest.mark.parametrize("path", ["moved", "once-moved"])
def test_redirect_on_the_same_host_is_followed(ask: Ask, faulty: Faulty, path: str) -> None:
    assert ask(path) == FOUND
    assert ask(path, method="POST") == FOUND
    assert len(faulty.queries(path.replace("moved", "fine"))) + len(faulty.queries(path)) >= 3


def test_long_queries_are_posted_and_short_ones_are_not(ask: Ask, faulty: Faulty) -> None:
    long = f"{QUERY} # {'x' * 5000}"
    assert ask("fine") == ask("fine", long) == ask("fine", method="POST") == ask("fine", long, method="GET") == FOUND
    assert [command for command, *_ in faulty.asked] == ["GET", "POST", "POST", "GET"]
    assert {query for *_, query in faulty.asked} == {QUERY, long}
    assert all(headers["User-Agent"].startswith("pytest-llmkg/") for _, _, headers, _ in faulty.asked)


def test_other_method_is_tried_where_one_is_not_taken(ask: Ask, faulty: Faulty) -> None:
    assert ask("short-get") == FOUND
    with pytest.raises(EndpointError, match="HTTP 414"):
        ask("short-get", method="GET")


def test_only_so_many_queries_at_once(sandbox: Sandbox, faulty: Faulty) -> None:
    endpoint = Endpoint(faulty.url("pause"), limits=EndpointLimits(**{**LIMITS, "concurrency": 3}))
    engine = EndpointEngine(sandbox, Endpoints({endpoint.url: endpoint}))
    with ThreadPoolExecutor(12) as threads:
        queries = [f"{QUERY} # {number}" for number in range(24)]
        results = list(threads.map(lambda q: engine.run_query(endpoint_graph(endpoint.url), q, {}), queries))
    assert results == [FOUND] * 24
    assert faulty.most == 3
    assert len(faulty.asked) == 24


def test_connection_that_was_closed_meanwhile_is_opened_anew(sandbox: Sandbox, faulty: Faulty) -> None:
    endpoint = Endpoint(faulty.url("stale"), limits=EndpointLimits(**{**LIMITS, "tries": 1}))
    engine = EndpointEngine(sandbox, Endpoints({endpoint.url: endpoint}))
    for number in range(3):
        assert engine.run_query(endpoint_graph(endpoint.url), f"{QUERY} # {number}", {}) == FOUND
        time.sleep(0.05)


def test_results_are_remembered_and_faults_are_not(sandbox: Sandbox, faulty: Faulty) -> None:
    endpoint = Endpoint(faulty.url("once-garbage"), limits=EndpointLimits(**LIMITS))
    engine, graph = EndpointEngine(sandbox, Endpoints({endpoint.url: endpoint})), endpoint_graph(endpoint.url)
    with pytest.raises(EndpointError):
        engine.run_query(graph, QUERY, {})
    assert [engine.run_query(graph, QUERY, {}) for _ in range(3)] == [FOUND] * 3
    assert len(faulty.asked) == 2


def test_authentication_comes_from_the_environment_and_is_never_shown(
    ask: Ask, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "GRAPH_TOKEN"
    monkeypatch.setenv(name, "s3cret-token")
    with pytest.raises(EndpointError) as caught:
        ask("secret", token_env=name)
    assert "you sent Bearer ***" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    monkeypatch.setenv("GRAPH_USER", "ann")
    monkeypatch.setenv("GRAPH_PASSWORD", "pässword")
    login = {"user_env": "GRAPH_USER", "password_env": "GRAPH_PASSWORD"}
    with pytest.raises(EndpointError, match=r"you sent Basic \*\*\*"):
        ask("secret", **login)
    assert ask("fine", **login) == FOUND
    assert faulty.asked[-1][2]["Authorization"] == "Basic YW5uOnDDpHNzd29yZA=="


def test_proxy_is_asked_for_other_hosts_and_never_for_loopback(
    ask: Ask, sandbox: Sandbox, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", faulty.url("").replace("http://", "http://me:pw@"))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    url = "http://graph.invalid/sparql"
    engine = EndpointEngine(sandbox, Endpoints())
    assert engine.run_query(endpoint_graph(url), QUERY, {}) == FOUND
    assert faulty.asked[0][2]["Host"] == "graph.invalid"
    assert faulty.asked[0][2]["Proxy-Authorization"] == "Basic bWU6cHc="
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1/")
    assert ask("fine") == FOUND


@pytest.mark.parametrize("proxy", ["http://me:pw@host:port/", "socks5://me:pw@127.0.0.1:1", "http://[::1", "http://"])
def test_proxy_that_is_no_address_is_a_fault_and_not_shown(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(EndpointError, match="proxy for http that is no address") as caught:
        EndpointEngine(sandbox, Endpoints()).run_query(endpoint_graph("http://graph.invalid/sparql"), QUERY, {})
    assert caught.value.kind == "unreachable"
    assert "me" not in str(caught.value).split("proxy")[1].split()


@pytest.mark.parametrize("url", ["http://a..b/sparql", f"http://{'a' * 70}/sparql", "http://[::1]:1/sparql"])
def test_hosts_that_cannot_be_reached(sandbox: Sandbox, url: str) -> None:
    endpoint = Endpoint(url, limits=EndpointLimits(**{**LIMITS, "tries": 1}))
    with pytest.raises(EndpointError) as caught:
        EndpointEngine(sandbox, Endpoints({url: endpoint})).run_query(endpoint_graph(url), QUERY, {})
    assert caught.value.kind == "unreachable"


def test_server_that_speaks_no_tls(sandbox: Sandbox, faulty: Faulty) -> None:
    url = faulty.url("fine").replace("http:", "https:")
    endpoint = Endpoint(url, limits=EndpointLimits(**{**LIMITS, "tries": 1}))
    with pytest.raises(EndpointError) as caught:
        EndpointEngine(sandbox, Endpoints({url: endpoint})).run_query(endpoint_graph(url), QUERY, {})
    assert caught.value.kind == "unreachable"
    assert faulty.queries("fine") == []


@pytest.mark.parametrize("error", [OSError(errno.EHOSTUNREACH, "No route"), ssl.SSLEOFError(8, "EOF in violation")])
def test_any_error_of_a_socket_is_a_reset(ask: Ask, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(DeadlineSocket, "sendall", broken)
    with pytest.raises(EndpointError) as caught:
        ask("fine")
    assert (caught.value.kind, caught.value.retryable) == ("reset", True)


def test_nonsense_on_a_kept_connection_is_a_fault_as_well(sandbox: Sandbox, faulty: Faulty) -> None:
    endpoint = Endpoint(faulty.url("twice-long-header"), limits=EndpointLimits(**LIMITS))
    engine, graph = EndpointEngine(sandbox, Endpoints({endpoint.url: endpoint})), endpoint_graph(endpoint.url)
    assert engine.run_query(graph, QUERY, {}) == FOUND
    with pytest.raises(EndpointError) as caught:
        engine.run_query(graph, "SELECT ?x { ?x ?p ?o }", {})
    assert caught.value.kind == "garbled"


def test_redirect_to_an_address_beyond_ascii(ask: Ask, faulty: Faulty) -> None:
    assert ask("umlaut") == FOUND
    assert faulty.asked[-1][1] == "/zw%C3%B6lf%20Graphen"


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("3", 3.0), ("1.5", 1.5), ("99999999", 3600.0), ("-3", None), ("soon", None), ("9" * 400, None)],
)
def test_pause_that_an_endpoint_asks_for(ask: Ask, told: str, seconds: float | None) -> None:
    with pytest.raises(EndpointError) as caught:
        ask(f"wait.{told}", tries=1)
    assert caught.value.retry_after == seconds


def test_pause_may_be_told_as_a_date(ask: Ask) -> None:
    for seconds, least, most in ((60, 30.0, 60.0), (-60, 0.0, 0.0)):
        with pytest.raises(EndpointError) as caught:
            ask(f"wait.{quote(formatdate(time.time() + seconds, usegmt=True))}", tries=1)
        assert caught.value.retry_after is not None
        assert least <= caught.value.retry_after <= most


def test_error_survives_the_way_between_processes() -> None:
    error = EndpointError("down", kind="slow", status=504, retryable=True, retry_after=2.0)
    again = copy.copy(error)  # which goes the way of pickle
    assert isinstance(error, EngineError)
    assert (str(again), again.kind, again.status) == ("down", "slow", 504)
    assert (again.retryable, again.retry_after) == (True, 2.0)
