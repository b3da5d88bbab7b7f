"""A SPARQL 1.1 endpoint over HTTP: tries again what may pass, and tells a query's faults from the endpoint's."""

from __future__ import annotations

import re
import threading
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode, urlsplit

from pytest_llmkg import __version__
from pytest_llmkg.contracts import QueryResult
from pytest_llmkg.endpoints.faults import FaultKind, excerpt, fault, looks_like_html, one_line
from pytest_llmkg.endpoints.preparing import Prepared, prepare
from pytest_llmkg.endpoints.results import GRAPH_ACCEPT, RESULT_ACCEPT, RdfReader, read_graph, read_json
from pytest_llmkg.endpoints.transport import Request, Response, Transport
from pytest_llmkg.errors import EndpointError
from pytest_llmkg.kg.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pytest_llmkg.endpoints.settings import Endpoint

__all__ = ["SparqlEndpoint"]

_USER_AGENT = f"pytest-llmkg/{__version__} (SPARQL benchmark client)"
_LONGEST_GET = 2_000  # bytes of an address; some servers and proxies take no more
_OTHER_METHOD = frozenset((405, 414, 415, 501))
_PASSING = frozenset((425, 429, 500, 502, 503))
_SLOW = frozenset((408, 504))
_BAD_QUERY = frozenset((400, 422))  # the latter is what rdflib-endpoint says of a query that fails while it runs
_DENIED = frozenset((401, 403, 407))
_SLOW_TRIES = 2
_PROBE = Prepared("ASK { }", "ASK")
_PROBE_SECONDS = 10.0
_LONGEST_WAIT = 3600.0
# What servers say of a query with another status than 400: that it costs too much (Virtuoso's SQL states for the
# estimated and the actual time, Blazegraph, RDF4J), that it is malformed, that a function is unknown (Oxigraph).
_ABOUT_QUERY = re.compile(
    r"\bVirtuoso (?:42000|S1T00)\b|\b(?:MalformedQuery|QueryTimeout|QueryInterrupted)Exception\b"
    r"|custom function <[^<>]*> is not supported"
)
# Valid queries that a server cannot do (a path without a known end, division by 0): its fault, and it will not pass.
_LASTING = re.compile(r"\bVirtuoso \w{5} Error\b")


class SparqlEndpoint:
    """Asks one endpoint. Thread safe; connections are kept until `close`.

    Args:
        endpoint: where and within which limits.
        read_rdf: parses what CONSTRUCT and DESCRIBE give (`pytest_llmkg.contracts.KgEngine.check_rdf`).

    Raises:
        UserError: an environment variable with a secret is not set.
    """

    def __init__(self, endpoint: Endpoint, read_rdf: RdfReader) -> None:
        self.endpoint = endpoint
        self._read_rdf = read_rdf
        self._transport = Transport(endpoint.limits)
        self._free = threading.BoundedSemaphore(endpoint.limits.concurrency)
        self._authorization = endpoint.authorization()
        self._rows = Limits(rows=endpoint.limits.rows, result_characters=endpoint.limits.result_characters)

    def close(self) -> None:
        """Ends the connections; asking again opens new ones."""
        self._transport.close()

    def query(self, query: str, prefixes: Mapping[str, str], services: Collection[str] = ()) -> QueryResult:
        """What ``query`` gives.

        A result with an error is the query's own fault, and only that: it is refused here (an update, a SERVICE or
        FROM that is not allowed), the endpoint calls it malformed (400), or it takes too long or gives too much while
        the endpoint answers a trivial query promptly.

        Args:
            query: SELECT, ASK, CONSTRUCT or DESCRIBE.
            prefixes: declared before it as far as it does not do so itself.
            services: addresses of endpoints that it may name in SERVICE.

        Raises:
            EndpointError: whatever else kept the endpoint from giving a result.
        """
        limits = self.endpoint.limits
        if len(query) > limits.characters:
            return QueryResult(f"the query has {len(query)} characters, more than the limit of {limits.characters}")
        ready = prepare(query, prefixes, services, self.endpoint.default_graphs)
        if isinstance(ready, str):
            return QueryResult(ready)
        with self._free:
            try:
                return self._tried(ready)
            except EndpointError as problem:
                if _may_be_the_querys(problem) and self._is_well():
                    return QueryResult(self._shown(problem), timed_out=problem.kind == "slow")
                raise EndpointError(
                    f"the endpoint {self.endpoint.url}: {self._shown(problem)}",
                    kind=problem.kind,
                    status=problem.status,
                    retryable=problem.retryable,
                    retry_after=problem.retry_after,
                ) from problem

    def _tried(self, query: Prepared) -> QueryResult:
        limits = self.endpoint.limits
        until, pause, number = time.monotonic() + limits.total_seconds, limits.pause, 0
        while True:
            number += 1
            try:
                return self._once(query, min(until, time.monotonic() + limits.seconds))
            except EndpointError as problem:
                wait = max(pause, problem.retry_after or 0.0)
                most = min(limits.tries, _SLOW_TRIES) if problem.kind == "slow" else limits.tries
                if not problem.retryable or number >= most or time.monotonic() + wait >= until:
                    raise _counted(problem, number) from problem
            time.sleep(wait)
            pause *= 2

    def _once(self, query: Prepared, deadline: float) -> QueryResult:
        method = self.endpoint.method
        if method == "auto":
            method = "GET" if len(self._address(query)) <= _LONGEST_GET else "POST"
        response = self._transport.send(self._request(query, method), deadline)
        if response.status in _OTHER_METHOD and self.endpoint.method == "auto":
            response = self._transport.send(self._request(query, "POST" if method == "GET" else "GET"), deadline)
        _check_status(response)
        if query.form in {"CONSTRUCT", "DESCRIBE"}:
            return read_graph(response, self._read_rdf, self._rows)
        return read_json(response, query.form, self._rows)

    def _request(self, query: Prepared, method: str) -> Request:
        headers = {
            "Accept": GRAPH_ACCEPT if query.form in {"CONSTRUCT", "DESCRIBE"} else RESULT_ACCEPT,
            "Accept-Encoding": "identity",
            "User-Agent": _USER_AGENT,
        }
        if self._authorization is not None:
            headers["Authorization"] = self._authorization
        if method == "GET":
            return Request("GET", self._address(query), headers)
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return Request("POST", self.endpoint.url.partition("#")[0], headers, self._form(query).encode("ascii"))

    def _address(self, query: Prepared) -> str:
        url = self.endpoint.url.partition("#")[0]
        return f"{url}{'&' if urlsplit(url).query else '?'}{self._form(query)}"

    def _form(self, query: Prepared) -> str:
        fields = [("query", query.text), *(("default-graph-uri", graph) for graph in self.endpoint.default_graphs)]
        return urlencode(fields, quote_via=quote, errors="replace")

    def _is_well(self) -> bool:
        """Whether the endpoint answers a trivial query promptly."""
        seconds = min(_PROBE_SECONDS, self.endpoint.limits.seconds)
        try:
            return self._once(_PROBE, time.monotonic() + seconds).boolean is True
        except EndpointError:
            return False

    def _shown(self, problem: EndpointError) -> str:
        """The text as one line, without secrets, should the endpoint repeat them."""
        text = str(problem)
        for secret in self.endpoint.secrets():
            text = text.replace(secret, "***")
        return one_line(text)


def _check_status(response: Response) -> None:
    """Complains of a status that is no complete success.

    Raises:
        EndpointError: denied, slow, html, status or incomplete.
    """
    status, headers, said = response.status, response.headers, excerpt(response.body)
    told = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    if status == 206 or headers.get("x-sql-state", "").startswith("S1T"):
        raise fault("incomplete", f"it calls its result incomplete ({headers.get('x-sql-message', told)[:200]})")
    if "x-sparql-maxrows" in headers:
        raise fault("incomplete", f"it cuts results after {headers['x-sparql-maxrows'][:20]} rows")
    if 200 <= status < 300:
        return
    if status in _DENIED:
        raise fault("denied", f"no access ({told}); check user_env, password_env or token_env", status=status)
    if status in _SLOW:
        raise fault("slow", f"it gave up in time ({told})", status=status, retryable=True)
    is_page = looks_like_html(response.media_type, response.body)
    can_pass = status in _PASSING and not _ABOUT_QUERY.search(said) and not _LASTING.search(said)
    kind: FaultKind = "html" if is_page and status not in {400, *_PASSING} else "status"
    raise fault(kind, told, status=status, retryable=can_pass, retry_after=_retry_after(headers))


def _may_be_the_querys(problem: EndpointError) -> bool:
    if problem.kind in {"slow", "too-large", "incomplete"}:
        return True
    return problem.kind == "status" and (problem.status in _BAD_QUERY or bool(_ABOUT_QUERY.search(str(problem))))


def _counted(problem: EndpointError, tries: int) -> EndpointError:
    if tries > 1:
        problem.args = (f"{problem} ({tries} tries)",)
    return problem


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the endpoint asks to wait, which it tells as such or as a date."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        return min(float(text), _LONGEST_WAIT)
    try:
        wait = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(wait, 0.0), _LONGEST_WAIT)
