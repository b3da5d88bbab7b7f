"""The corpus: answers that a hostile, broken or merely odd model could give, each with what it attacks.

Data made by small functions, so that an answer of a megabyte is one line here. Texts that reach for the network name
the address that they are built with, so that a test can watch it.
"""

from __future__ import annotations

from tests.hostile.answer import Hostile
from tests.hostile.graphs import GRAPHS
from tests.hostile.queries import QUERIES
from tests.hostile.texts import TEXTS

__all__ = ["ANSWERS", "Hostile"]

ANSWERS: tuple[Hostile, ...] = (*QUERIES, *GRAPHS, *TEXTS)
