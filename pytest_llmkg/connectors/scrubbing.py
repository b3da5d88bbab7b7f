"""Keeps keys out of answers, errors and tracebacks: whatever an endpoint says passes through here first."""

from __future__ import annotations

import base64
import html
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["HiddenText", "Secrets", "clean_url", "on_one_line"]

_SECRET_NAME = re.compile(r"_(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_SECRET_TEXT = re.compile(r"\b(Bearer\s+|sk-)[\w.*+/=-]{6,}")
_URL = re.compile(r"https?://[^\s'\"<>)\]]+")
_HIDDEN = "[hidden]"
_LONGEST_LINE = 300
# Shorter values are no secrets, and replacing them would garble an error ...
_SHORTEST_IN_ERRORS = 6
# ... and stand-ins for a key, such as "not-needed", may be words of an answer.
_SHORTEST_IN_ANSWERS = 12


class HiddenText(str):
    """A text that no ``repr`` shows: ``--showlocals`` prints the locals of every frame, those of libraries too."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"'{_HIDDEN}'"


class Secrets:
    """The keys of an environment, read once: going through all variables for every answer would take too long."""

    __slots__ = ("_in_answers", "_in_errors")

    def __init__(self, environment: Mapping[str, str], further: Iterable[str] = ()) -> None:
        found = {value for name, value in environment.items() if _SECRET_NAME.search(name)} | set(further)
        found |= {form for value in found if len(value) >= _SHORTEST_IN_ANSWERS for form in _other_forms(value)}
        # The longest first: a key may be the beginning of another.
        by_length = sorted(found, key=lambda value: (-len(value), value))
        self._in_answers = tuple(HiddenText(value) for value in by_length if len(value) >= _SHORTEST_IN_ANSWERS)
        flat = (on_one_line(value) for value in by_length)
        self._in_errors = tuple(HiddenText(value) for value in flat if len(value) >= _SHORTEST_IN_ERRORS)

    def hide(self, text: str) -> str:
        """``text`` without keys; a server may echo its request, and answers are written to files."""
        for secret in self._in_answers:
            if secret in text:
                text = text.replace(secret, _HIDDEN)
        return text

    def hide_all(self, text: str, longest: int = _LONGEST_LINE) -> str:
        """``text`` on one line without keys and anything like them, and not longer than a terminal can bear."""
        text = _URL.sub(lambda match: clean_url(match.group()), on_one_line(text))
        for secret in self._in_errors:
            text = text.replace(secret, _HIDDEN)
        text = _SECRET_TEXT.sub(_HIDDEN, text)
        return text if len(text) <= longest else text[: longest - 3] + "..."


def _other_forms(value: str) -> set[str]:
    """How a server may repeat a key: in an address, in JSON, in HTML, or in base64, alone or as a password."""
    data = value.encode("utf-8", "surrogateescape")
    forms = {quote(value, safe="", errors="surrogateescape"), quote(value, errors="surrogateescape")}
    forms |= {json.dumps(value)[1:-1], html.escape(value)}
    for before in (b"", b" ", b"  "):  # the three ways that base64 can fall on it inside a longer text
        inner = base64.b64encode(before + data).decode("ascii")
        # What depends on the neighbours is left out.
        middle = inner[(len(before) * 8 + 5) // 6 : (len(before) + len(data)) * 8 // 6]
        forms |= {middle, middle.replace("+", "-").replace("/", "_")}
    return {form for form in forms if len(form) >= _SHORTEST_IN_ANSWERS} - {value}


def clean_url(url: str) -> str:
    """Scheme, host, port and path of ``url``: no user, password, query or fragment."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}"


def on_one_line(text: str) -> str:
    """``text`` with every run of white space and unprintable characters as one space."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
