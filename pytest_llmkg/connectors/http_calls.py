"""What clients of HTTP endpoints share: reading a body within limits, connection errors in words, the proxy."""

from __future__ import annotations

import os
import urllib.request
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_llmkg.connectors.failures import Refusal
from pytest_llmkg.connectors.scrubbing import HiddenText

if TYPE_CHECKING:
    import aiohttp

__all__ = ["broken_connection", "proxy_for", "read_body"]

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


async def read_body(response: aiohttp.ClientResponse, most: int) -> bytes | None:
    """The body; None when it has more than ``most`` bytes, since a server may not fill our memory."""
    size, parts = 0, []
    while part := await response.content.readany():
        size += len(part)
        if size > most:
            response.close()
            return None
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def broken_connection(error: Exception) -> Refusal:
    """What went wrong with the connection, in words."""
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return Refusal(f"no secure connection: {error}", is_final=True)
    if isinstance(error, aiohttp.InvalidURL | RuntimeError) or type(error) is ValueError:
        # A header with a line break, or a session that was closed meanwhile.
        return Refusal(f"the request cannot be sent: {error}", is_final=True)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return Refusal("the connection failed: the endpoint closed it without an answer")
    if isinstance(error, aiohttp.ClientPayloadError):
        return Refusal("the connection failed: it broke off in the middle of the answer")
    if isinstance(error, aiohttp.ClientResponseError):
        return Refusal(f"the endpoint sent no HTTP: {error.message}")
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    number = cause.errno if isinstance(cause, OSError) else None
    text = os.strerror(number) if number is not None and number > 0 else str(cause)
    return Refusal(f"the connection failed: {text or type(error).__name__}")


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for ``url``, looked up once instead of at each call; never for loopback."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _LOOPBACK or urllib.request.proxy_bypass(host):
        return None
    proxy = urllib.request.getproxies().get(parts.scheme)
    return None if proxy is None else HiddenText(proxy)
