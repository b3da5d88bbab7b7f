"""What can be wrong with an endpoint, told apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from pytest_llmkg.errors import EndpointError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FAULTS", "FaultKind", "excerpt", "fault", "looks_like_html", "one_line"]

FaultKind = Literal[
    "unreachable",
    "reset",
    "slow",
    "html",
    "garbled",
    "truncated",
    "too-large",
    "redirect",
    "denied",
    "status",
    "incomplete",
]

FAULTS: Mapping[FaultKind, str] = {
    "unreachable": "no connection: unknown host, refused, no route, certificate not trusted",
    "reset": "the connection ended before a response came",
    "slow": "no complete response within the time limit",
    "html": "a web page instead of a result",
    "garbled": "something else that is no SPARQL result",
    "truncated": "a result that breaks off",
    "too-large": "a response above the limit of bytes",
    "redirect": "sent elsewhere: to another host, or in circles",
    "denied": "HTTP 401, 403 or 407: no access",
    "status": "any other HTTP status that is no success",
    "incomplete": "a result that the endpoint itself calls incomplete",
}
"""The kinds of faults (`pytest_llmkg.errors.EndpointError.kind`) and what they mean."""

_MOST = 300


def fault(
    kind: FaultKind,
    text: str,
    *,
    status: int | None = None,
    retryable: bool = False,
    retry_after: float | None = None,
) -> EndpointError:
    """An error of a known kind."""
    return EndpointError(text, kind=kind, status=status, retryable=retryable, retry_after=retry_after)


def looks_like_html(media_type: str, body: bytes) -> bool:
    """Whether a response is a web page, by what it calls itself or by how it begins."""
    start = body[:500].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return media_type in {"text/html", "application/xhtml+xml"} or start.startswith((b"<!doctype html", b"<html"))


def one_line(text: str) -> str:
    """``text`` without line breaks and control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def excerpt(body: bytes) -> str:
    """The beginning of a message as one line of printable text; of a web page only its words."""
    text = body[:20_000].decode("utf-8", "replace")
    if looks_like_html("", body):
        text = re.sub(r"(?is)<(script|style)\b.*?</\1\s*>|<[^<>]*>", " ", text)
    line = one_line(text)
    return line if len(line) <= _MOST else f"{line[:_MOST]}..."
