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
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pytest_llmkg.records import Case, ModelSpec, TaskInfo

__all__ = [
    "model_hash",
    "signature_digest",
    "suite_differences",
    "suite_signature",
    "without_secrets",
    "wrapped_settings",
]

_FILE = re.compile(r"kg:[A-Za-z0-9._-]+@(sha256:[0-9a-f]{64})")
_ADDRESS = re.compile(r"https?://[!-~]+", re.IGNORECASE)
_LONGEST = 5000  # characters of a reference or an address; graphs are longer or have white space
_SECRET = re.compile(
    r"([?&;](?:[^=&;#]*[_.-])?(?:api|access|auth|session)?"
    r"(?:key|token|secret|password|passwd|pass|pwd|auth|authorization|credentials?|sig|signature))=[^&;#]*",
    re.IGNORECASE,
)


def suite_signature(
    models: Iterable[ModelSpec],
    infos: Iterable[TaskInfo],
    cases: Iterable[Case],
    seed: int,
    iterations: int,
    max_turns: int | None,
    declared: Mapping[str, str] | None = None,
) -> dict[str, Json]:
    """The signature of a suite, as plain JSON; the order of models, tasks and cases does not matter.

    Args:
        models: under test.
        infos: the tasks; those without cases are left out.
        cases: that are asked.
        seed: of generated cases.
        iterations: how often each case is asked.
        max_turns: upper limit of turns, None for each task's own.
        declared: what endpoints serve, by address, where settings tell it; others are known by their addresses. And
            hashes of what stands behind references to generated graphs, by reference (``generated:NAME@SEED``), and of
            the examples that come with them (``generated:NAME@SEED: examples``).

    Returns:
        ``seed``, ``iterations``, ``max_turns``; ``models``: hash by id; ``tasks``: version by name; ``cases``: hash by
        label; ``graphs``, where cases have any from outside: hash of the file, or the endpoint, by name,
        and the hashes of generated graphs by what is declared.
    """
    by_label: dict[str, dict[str, Json]] = {}
    tasks, graphs = set(), dict[str, set[str]]()
    for case in cases:
        data = _placed(to_plain(case.data), declared or {})
        by_label.setdefault(case.label, {})[case.id] = [case.task, data]
        tasks.add(case.task)
        for name, place in () if case.sealed else _places(case, data):
            graphs.setdefault(name, set()).add(place)
        for part in _generated(data, declared or {}):  # of sealed cases, too: it tells nothing but the generator's name
            graphs[part] = {(declared or {})[part]}
    return {
        "seed": seed,
        "iterations": iterations,
        "max_turns": max_turns,
        "models": {spec.id: model_hash(spec) for spec in sorted(models, key=lambda spec: spec.id)},
        "tasks": {info.name: info.version for info in sorted(infos, key=lambda i: i.name) if info.name in tasks},
        "cases": {label: _hash(found) for label, found in sorted(by_label.items())},
        **({"graphs": {name: ", ".join(sorted(found)) for name, found in sorted(graphs.items())}} if graphs else {}),
    }


def _placed(data: Json, declared: Mapping[str, str]) -> dict[str, Json]:
    """``data`` with what its endpoints serve, or their addresses without secrets, in place of their addresses."""
    placed = dict(data) if isinstance(data, dict) else {}
    if isinstance(placed.get("endpoint"), str):
        placed["endpoint"] = _served(str(placed["endpoint"]), declared)
    services = placed.get("services")
    if isinstance(services, dict):
        shown = {name: _served(str(text), declared) if _is_address(text) else text for name, text in services.items()}
        placed["services"] = {**shown}
    return placed


def _places(case: Case, data: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """The graphs from outside that ``case`` asks, by name: endpoints, and files by their hashes."""
    name = str(data.get("kg", case.label))
    graph, services = data.get("graph"), data.get("services")
    found = _FILE.fullmatch(graph) if isinstance(graph, str) and len(graph) < _LONGEST else None
    if "endpoint" in data:
        yield name, str(data["endpoint"])
    elif found is not None:
        yield name, found[1]
    original = case.data.get("services")
    if isinstance(services, dict) and isinstance(original, dict):
        yield from ((f"{name}: {key}", str(services[key])) for key, text in original.items() if _is_address(text))


def _generated(data: Mapping[str, Json], declared: Mapping[str, str]) -> Iterator[str]:
    """What of ``declared`` belongs to the generated graphs that a case with ``data`` asks."""
    services = data.get("services")
    for text in (data.get("graph"), *(services.values() if isinstance(services, dict) else ())):
        if isinstance(text, str) and len(text) < _LONGEST and text.startswith("generated:"):
            yield from (part for part in (text, f"{text}: examples") if part in declared)


def _is_address(text: object) -> bool:
    return isinstance(text, str) and len(text) < _LONGEST and _ADDRESS.fullmatch(text.strip()) is not None


def _served(address: str, declared: Mapping[str, str]) -> str:
    if address in declared:
        return without_secrets(declared[address])
    return without_secrets(address)


def without_secrets(address: str) -> str:
    """``address`` without user and password, and without the values of parameters that look like keys."""
    bare = re.sub(r"(?<=//)[^/?#]*@", "", address)
    return _SECRET.sub(lambda found: f"{found[1]}=***", bare)


def model_hash(spec: ModelSpec) -> str:
    """The hash of all settings of a model that change what is measured.

    User and password in its address do not count, since they are secret; nor do ``max_concurrency`` and ``rpm``, so
    that a run that met a provider's limits can be resumed within lower ones.
    """
    address = None if spec.api_base is None else without_secrets(spec.api_base)
    return _hash(to_plain(replace(spec, api_base=address, max_concurrency=None, rpm=None)))


def wrapped_settings(wrapped: Mapping[str, ModelSpec]) -> dict[str, Json]:
    """The settings of models inside others (``rag:MODEL``), by the id of the outer one: those that are set.

    For the header of a run; no address holds a secret.
    """
    found: dict[str, Json] = {}
    for name, spec in wrapped.items():
        plain = to_plain(replace(spec, api_base=spec.api_base and without_secrets(spec.api_base)))
        if isinstance(plain, dict):
            found[name] = {key: value for key, value in plain.items() if value not in (None, {})}
    return found


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
    found += _other_graphs(_table(old, "graphs"), _table(new, "graphs"))
    for name, noun, changed in _TABLES:
        before, now = _table(old, name), _table(new, name)
        found += [f"{noun} {key!r} is missing now" for key in before if key not in now]
        found += [f"{noun} {key!r} is new" for key in now if key not in before]
        found += [
            changed(key, before[key], value) for key, value in now.items() if key in before and before[key] != value
        ]
    known = {"seed", "iterations", "max_turns", "graphs", *(name for name, *_ in _TABLES)}
    others = sorted((old.keys() | new.keys()) - known)
    return (*found, *(f"{name!r} differs" for name in others if old.get(name) != new.get(name)))


_TABLES: tuple[tuple[str, str, Callable[[str, Json, Json], str]], ...] = (
    ("models", "model", lambda key, _old, _new: f"model {key!r} has other settings"),
    ("tasks", "task", lambda key, old, new: f"task {key!r} has version {new}, had {old}"),
    ("cases", "task variant", lambda key, _old, _new: f"task variant {key!r} has other cases"),
)


def _other_graphs(old: Mapping[str, Json], new: Mapping[str, Json]) -> list[str]:
    """Graphs of both sides; one that only one side names, as old versions name none, changes the cases' hashes."""
    return [f"graph {key!r} is {new[key]}, was {old[key]}" for key in new if key in old and new[key] != old[key]]


def _table(signature: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    found = signature.get(name)
    return found if isinstance(found, dict) else {}


def _shown(value: Json) -> str:
    return "not set" if value is None else str(value)


def _hash(plain: Json) -> str:
    return f"sha256:{hashlib.sha256(_canonical(plain)).hexdigest()}"


def _canonical(plain: Json) -> bytes:
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")  # an id may hold half a character
