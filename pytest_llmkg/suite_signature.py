"""What a run measures, as hashes that can be compared: may it be resumed, and may its shards be joined?

A hash stands for all settings of a model, or for all cases of a task variant together; none for a single case, so
that nobody can try texts against it one at a time.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.plain import Json, to_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pytest_llmkg.records import Case, ModelSpec, TaskInfo

__all__ = ["model_hash", "signature_digest", "suite_differences", "suite_signature"]


def suite_signature(
    models: Iterable[ModelSpec],
    infos: Iterable[TaskInfo],
    cases: Iterable[Case],
    seed: int,
    iterations: int,
    max_turns: int | None,
) -> dict[str, Json]:
    """The signature of a suite, as plain JSON; the order of models, tasks and cases does not matter.

    Args:
        models: under test.
        infos: the tasks; those without cases are left out.
        cases: that are asked.
        seed: of generated cases.
        iterations: how often each case is asked.
        max_turns: upper limit of turns, None for each task's own.

    Returns:
        ``seed``, ``iterations``, ``max_turns``; ``models``: hash by id; ``tasks``: version by name; ``cases``: hash by
        label.
    """
    by_label: dict[str, dict[str, Json]] = {}
    tasks = set()
    for case in cases:
        by_label.setdefault(case.label, {})[case.id] = [case.task, to_plain(case.data)]
        tasks.add(case.task)
    return {
        "seed": seed,
        "iterations": iterations,
        "max_turns": max_turns,
        "models": {spec.id: model_hash(spec) for spec in sorted(models, key=lambda spec: spec.id)},
        "tasks": {info.name: info.version for info in sorted(infos, key=lambda i: i.name) if info.name in tasks},
        "cases": {label: _hash(found) for label, found in sorted(by_label.items())},
    }


def model_hash(spec: ModelSpec) -> str:
    """The hash of all settings of a model that change what is measured.

    User and password in its address do not count, since they are secret; nor do ``max_concurrency`` and ``rpm``, so
    that a run that met a provider's limits can be resumed within lower ones.
    """
    address = None if spec.api_base is None else re.sub(r"(?<=//)[^/?#]*@", "", spec.api_base)
    return _hash(to_plain(replace(spec, api_base=address, max_concurrency=None, rpm=None)))


def signature_digest(signature: Mapping[str, Json]) -> str:
    """12 hexadecimal digits for the whole ``signature``."""
    return hashlib.sha256(_canonical(to_plain(signature))).hexdigest()[:12]


def suite_differences(old: Mapping[str, Json], new: Mapping[str, Json]) -> tuple[str, ...]:
    """One sentence for each difference between two signatures; none when they are equal.

    Parts that this version does not know are compared as a whole.
    """
    found = [
        f"{name} is {_shown(new.get(name))}, was {_shown(old.get(name))}"
        for name in ("seed", "iterations", "max_turns")
        if old.get(name) != new.get(name)
    ]
    for name, noun, changed in _TABLES:
        before, now = _table(old, name), _table(new, name)
        found += [f"{noun} {key!r} is missing now" for key in before if key not in now]
        found += [f"{noun} {key!r} is new" for key in now if key not in before]
        found += [
            changed(key, before[key], value) for key, value in now.items() if key in before and before[key] != value
        ]
    known = {"seed", "iterations", "max_turns", *(name for name, *_ in _TABLES)}
    others = sorted((old.keys() | new.keys()) - known)
    return (*found, *(f"{name!r} differs" for name in others if old.get(name) != new.get(name)))


_TABLES: tuple[tuple[str, str, Callable[[str, Json, Json], str]], ...] = (
    ("models", "model", lambda key, _old, _new: f"model {key!r} has other settings"),
    ("tasks", "task", lambda key, old, new: f"task {key!r} has version {new}, had {old}"),
    ("cases", "task variant", lambda key, _old, _new: f"task variant {key!r} has other cases"),
)


def _table(signature: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    found = signature.get(name)
    return found if isinstance(found, dict) else {}


def _shown(value: Json) -> str:
    return "not set" if value is None else str(value)


def _hash(plain: Json) -> str:
    return f"sha256:{hashlib.sha256(_canonical(plain)).hexdigest()}"


def _canonical(plain: Json) -> bytes:
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode("utf-8")
