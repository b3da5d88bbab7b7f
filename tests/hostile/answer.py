"""What an entry of the corpus is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Hostile", "block", "said"]


@dataclass(frozen=True)
class Hostile:
    """An answer: its name, one line on what it attacks, and how it is made from an address that nobody may ask."""

    name: str
    attacks: str
    build: Callable[[str], str]


def said(name: str, attacks: str, text: str) -> Hostile:
    """An answer that names no address."""
    return Hostile(name, attacks, lambda _url: text)


def block(text: str, tag: str = "") -> str:
    """``text`` as the only code block of an answer."""
    return f"```{tag}\n{text}\n```"
