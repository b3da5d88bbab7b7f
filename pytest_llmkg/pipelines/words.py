"""Words of questions, labels and IRIs, for looking things up. No language is preferred."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["local_name", "spoken_name", "words"]

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATOR = re.compile(r"[/#:]")
_SHORT = 3


def local_name(iri: str) -> str:
    """What follows the last slash, hash or colon of ``iri`` that something follows."""
    return next((part for part in reversed(_SEPARATOR.split(iri)) if part), iri)


def spoken_name(iri: str) -> str:
    """The local name as words: ``ProductCategory`` as ``Product Category``."""
    return _HUMP.sub(" ", local_name(iri)).replace("_", " ").replace("-", " ")


def words(text: str) -> list[str]:
    """The words of ``text`` without case, accents and plural endings, in order."""
    plain = unicodedata.normalize("NFKD", _HUMP.sub(" ", text))
    bare = "".join(c for c in plain if not unicodedata.combining(c)).casefold()
    return [_stem(word) for word in _WORD.findall(bare)]


def _stem(word: str) -> str:
    """``word`` without the commonest plural endings of English, German and Spanish."""
    for ending in ("ies", "es", "en", "s", "n", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORT:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word
