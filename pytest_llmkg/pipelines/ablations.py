"""The published ablations of SPARQL-LLM as settings of this pipeline: A1 to A11, each a factor with its levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_llmkg.errors import UserError
from pytest_llmkg.plain import Json
from pytest_llmkg.registry import unknown_name

__all__ = ["ABLATIONS", "Ablation", "chosen_ablations", "level_name"]

Level = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Ablation:
    """A factor that is varied, everything else left as it is.

    Attributes:
        id: as published, ``A1`` to ``A11``.
        factor: what is varied.
        levels: settings in which a level differs from the baseline; for A10 the models are given by the user.
    """

    id: str
    factor: str
    levels: tuple[Level, ...]


ABLATIONS = (
    Ablation("A1", "number of examples", tuple({"k_examples": k} for k in (0, 5, 10, 15, 20))),
    Ablation("A2", "share of the schema", tuple({"schema_fraction": share} for share in (0.0, 0.25, 0.5, 0.75, 1.0))),
    Ablation("A3", "without examples", ({"k_examples": 0},)),
    Ablation("A4", "without schema", ({"schema": False},)),
    Ablation("A5", "without ranges", ({"ranges": False},)),
    Ablation("A6", "without properties", ({"properties": False},)),
    Ablation("A7", "without order by frequency", ({"frequency_order": False},)),
    Ablation("A8", "without check and correction", ({"validation": False, "execution": False, "tries": 1},)),
    Ablation("A9", "embedding", ({"embedding": "bm25"}, {"embedding": "use"})),
    Ablation("A10", "language model", ()),
    Ablation("A11", "triple patterns of examples at most", tuple({"max_patterns": n} for n in (1, 2, 3, 4, 0))),
)
"""Source: SPARQL-LLM's experiments; the published levels of A9 are models that have to be downloaded."""


def chosen_ablations(names: str) -> tuple[Ablation, ...]:
    """The ablations that ``names`` lists, separated by commas, in the order of `ABLATIONS`; all when it is empty.

    Raises:
        UserError: there is no such ablation.
    """
    wanted = [name.strip().upper() for name in names.split(",") if name.strip()]
    known = [ablation.id for ablation in ABLATIONS]
    for name in wanted:
        if name not in known:
            raise unknown_name("ablation", name, known)
    if names.strip() and not wanted:
        raise UserError("--ablations names none")
    return tuple(ablation for ablation in ABLATIONS if not wanted or ablation.id in wanted)


def level_name(level: Level) -> str:
    """``level`` as a text: ``k_examples=0``, ``execution=off+tries=1``."""
    words = {True: "on", False: "off"}
    return "+".join(
        f"{name}={words[value] if isinstance(value, bool) else value}" for name, value in sorted(level.items())
    )
