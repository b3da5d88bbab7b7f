"""HTTP requests to one endpoint: kept connections, a deadline, a limit of bytes, no way to another host."""

from __future__ import annotations

import base64
import contextlib
import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from pytest_llmkg.endpoints.deadline import DeadlineSocket
from pytest_llmkg.endpoints.faults import fault

if TYPE_CHECKING:
    from pytest_llmkg.endpoints.settings import EndpointLimits
    from pytest_llmkg.errors import EndpointError

__all__ = ["Request", "Response", "Transport"]

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_MOST_REDIRECTS = 5
_CHUNK = 2**16
_PORTS = {"http": 80, "https": 443}
_KEPT = 8
_IN_ADDRESSES = "%/:?#[]@!$&'()*+,;=~"  # what an address holds beside letters and digits; anything else is escaped


@dataclass(frozen=True, slots=True)
class Request:
    """What to send where."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """What came back; ``headers`` have names in lower case, ``media_type`` has no parameters."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """The media type in lower case, empty if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Transport:
    """Sends requests, each within ``limits.seconds`` and ``limits.body_bytes``; keeps connections. Thread safe.

    Proxies are those of the environment (``http_proxy`` ...); a loopback address is never asked for through one.
    """

    def __init__(self, limits: EndpointLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._idle: list[tuple[str, http.client.HTTPConnection]] = []

    def close(self) -> None:
        """Ends the connections that are kept."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def send(self, request: Request, deadline: float) -> Response:
        """The response to ``request``, after redirects on the same host.

        Raises:
            EndpointError: unreachable, reset, slow, truncated, too-large, redirect or garbled.
        """
        url = request.url
        for _ in range(_MOST_REDIRECTS):
            response = self._sent(request, url, deadline)
            if response.status not in _REDIRECTS:
                return response
            url = _redirected(url, response.headers.get("location", ""))
        raise fault("redirect", f"sent elsewhere more than {_MOST_REDIRECTS} times in a row")

    def _sent(self, request: Request, url: str, deadline: float) -> Response:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        kept = self._taken(origin)
        try:
            if kept is not None:
                # It may have been closed at the other end while nobody used it: asked again on a new one.
                with contextlib.suppress(OSError, http.client.BadStatusLine):
                    return self._exchanged(kept, origin, request, parts, deadline)
            connection = _connected(parts, self._limits.connect_seconds, deadline)
            return self._exchanged(connection, origin, request, parts, deadline)
        except OSError as error:  # http.client.RemoteDisconnected is one, and so is whatever breaks TLS
            raise fault(
                "reset", f"the connection ended without a response ({_words(error)})", retryable=True
            ) from error
        except http.client.HTTPException as error:
            raise fault("garbled", f"answered with something that is no HTTP ({_words(error)})") from error

    def _exchanged(
        self,
        connection: http.client.HTTPConnection,
        origin: str,
        request: Request,
        parts: SplitResult,
        deadline: float,
    ) -> Response:
        _socket(connection).deadline = deadline
        target, headers = _dressed(request, parts)
        done = False
        try:
            connection.request(request.method, target, request.body, headers)
            raw = connection.getresponse()
            response = Response(raw.status, {k.lower(): v for k, v in raw.getheaders()}, self._body(raw))
            done = not raw.will_close
            raw.close()  # or http.client believes that some of it is still to come
        except TimeoutError as error:
            raise fault("slow", f"no complete response within {self._limits.seconds:g} s", retryable=True) from error
        finally:
            self._given_back(origin, connection, usable=done)
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in {"", "identity"}:
            raise fault("garbled", f"answered with the encoding {encoding!r:.40}, which was not asked for")
        return response

    def _body(self, raw: http.client.HTTPResponse) -> bytes:
        most, parts, size = self._limits.body_bytes, [], 0
        expected = raw.length
        if expected is not None and expected > most:
            raise _too_large(most)
        try:
            while chunk := raw.read1(_CHUNK):
                parts.append(chunk)
                size += len(chunk)
                if size > most:
                    raise _too_large(most)
        except TimeoutError:
            raise
        except (http.client.HTTPException, OSError) as error:
            raise fault("truncated", f"the response breaks off after {size} bytes", retryable=True) from error
        if expected is not None and size < expected:
            raise fault("truncated", f"the response breaks off after {size} of {expected} bytes", retryable=True)
        return b"".join(parts)

    def _taken(self, origin: str) -> http.client.HTTPConnection | None:
        with self._lock:
            for at in range(len(self._idle) - 1, -1, -1):
                if self._idle[at][0] == origin:
                    return self._idle.pop(at)[1]
        return None

    def _given_back(self, origin: str, connection: http.client.HTTPConnection, *, usable: bool) -> None:
        if usable:
            with self._lock:
                if len(self._idle) < _KEPT:
                    self._idle.append((origin, connection))
                    return
        connection.close()


def _socket(connection: http.client.HTTPConnection) -> DeadlineSocket:
    held: object = connection.sock
    if not isinstance(held, DeadlineSocket):  # http.client lets go of a socket that is of no more use
        raise ConnectionError("the connection was closed")
    return held


def _connected(parts: SplitResult, seconds: float, deadline: float) -> http.client.HTTPConnection:
    """A new connection.

    Raises:
        EndpointError: unreachable.
    """
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    timeout = max(0.001, min(seconds, deadline - time.monotonic()))
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    proxy = _proxy(parts)
    connection = kind(host, port, timeout=timeout)
    if proxy is not None:
        connection = kind(proxy.hostname or "", proxy.port or 80, timeout=timeout)
        if parts.scheme == "https":
            connection.set_tunnel(host, port, _proxy_headers(proxy))
    try:
        connection.connect()
    except ssl.SSLCertVerificationError as error:
        raise fault("unreachable", f"its certificate is not trusted: {error.verify_message}") from error
    except TimeoutError as error:
        raise fault("unreachable", f"no connection within {timeout:.3g} s", retryable=True) from error
    except (OSError, UnicodeError) as error:
        way = "" if proxy is None else f" by the proxy {proxy.hostname}"
        raise fault("unreachable", f"no connection{way}: {_words(error)}", retryable=True) from error
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sock = DeadlineSocket(connection.sock, deadline)
    return connection


def _dressed(request: Request, parts: SplitResult) -> tuple[str, dict[str, str]]:
    """The address in the request line, a whole one where a proxy is asked for http, and the headers."""
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    proxy = _proxy(parts)
    if proxy is None or parts.scheme == "https":
        return target, dict(request.headers)
    return f"{parts.scheme}://{parts.netloc}{target}", {**request.headers, **_proxy_headers(proxy)}


def _proxy(parts: SplitResult) -> SplitResult | None:
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    address = getproxies().get(parts.scheme)
    if not address:
        return None
    try:
        proxy = urlsplit(address if "//" in address else f"//{address}")
        usable = proxy.scheme in {"", "http", "https"} and bool(proxy.hostname) and proxy.port != 0
    except ValueError:
        usable = False
    if not usable:  # not shown, since it may hold a password
        raise fault("unreachable", f"the environment names a proxy for {parts.scheme} that is no address of HTTP")
    return proxy


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"}


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost" or host.lower().endswith(".localhost")


def _redirected(source: str, location: str) -> str:
    """Where ``location``, as `http.client` gives it, leads from ``source``; its bytes beyond ASCII are UTF-8.

    Raises:
        EndpointError: redirect, to somewhere else or to no address.
    """
    if not location:
        raise fault("redirect", "sent elsewhere without a word where")
    try:
        target = urljoin(source, quote(location.strip().encode("latin-1", "replace"), safe=_IN_ADDRESSES))
        old, new = urlsplit(source), urlsplit(target)
        ports = (old.port or _PORTS[old.scheme], new.port or _PORTS.get(new.scheme, 0))
    except ValueError as error:
        raise fault("redirect", f"sent to {location!r:.200}, which is no address") from error
    upgraded = (old.scheme, new.scheme, *ports) == ("http", "https", 80, 443)
    same = old.scheme == new.scheme and ports[0] == ports[1]
    if new.hostname != old.hostname or new.username is not None or not (same or upgraded):
        shown = f"{new.scheme}://{new.hostname}" + (f":{new.port}" if new.port else "")
        raise fault(
            "redirect", f"sent elsewhere, to {shown:.200}, where nothing is asked; correct its address if that is it"
        )
    return target


def _too_large(most: int) -> EndpointError:
    return fault("too-large", f"the response is larger than {most} bytes, which is the limit")


def _words(error: BaseException) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:200]
