"""How runs are joined: which dialogue is taken from where, and what the joined run says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_llmkg.errors import RunFileError
from pytest_llmkg.merging.coverage import MISSING_SHARDS, Gap, find_gaps, missing_shards, planned_dialogues, run_name
from pytest_llmkg.plain import Json, to_plain
from pytest_llmkg.records import Case, RunHeader
from pytest_llmkg.store import SEALED_LINES, DialogueKey, RunIndex
from pytest_llmkg.suite_signature import model_hash, suite_differences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.store import RunWriter
    from pytest_llmkg.store.counting import Entry

__all__ = ["Duplicate", "MergePlan", "plan_merge", "write_merge"]

_OF_ONE_RUN = {"suite", "shard", "planned", "merged", MISSING_SHARDS, SEALED_LINES}
"""Settings that say something of a single run, or are compared otherwise."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A dialogue that several ``runs`` hold, and from which of them it is ``taken``."""

    key: DialogueKey
    runs: tuple[str, ...]
    taken: str


@dataclass(frozen=True, slots=True)
class MergePlan:
    """What joining runs will give.

    Attributes:
        header: of the joined run.
        cases: by ``label/id``.
        sources: for each dialogue the index of the run that it is taken from.
        errors: how many of the dialogues ended as an error.
        duplicates, gaps: see there.
        missing_shards: e.g. ``3/4``.
        findings: sentences on what is odd, though it does not hinder.
    """

    header: RunHeader
    cases: Mapping[str, Case]
    sources: Mapping[DialogueKey, RunIndex]
    errors: int
    duplicates: tuple[Duplicate, ...]
    gaps: tuple[Gap, ...]
    missing_shards: tuple[str, ...]
    findings: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether no dialogue is known to be missing."""
        return not self.gaps and not self.missing_shards


def plan_merge(runs: Sequence[RunIndex], name: str) -> MergePlan:
    """What joining ``runs`` (at least one) to a run called ``name`` gives; reads no transcript.

    Raises:
        RunFileError: a run is given twice, the runs are of different suites, or their shards do not fit together.
    """
    _check_suites(runs)
    cases = _cases(runs)
    absent = missing_shards(runs)
    sources, duplicates = _sources(runs)
    header = _header(runs, name, absent)
    errors = sum(index.entries[key].failed for key, index in sources.items())
    return MergePlan(
        header,
        cases,
        sources,
        errors,
        duplicates,
        find_gaps(header, cases, sources, all_planned=not absent),
        absent,
        _findings(runs, errors),
    )


def write_merge(plan: MergePlan, writer: RunWriter) -> None:
    """Writes the joined run; one dialogue at a time is in memory.

    Attempts that were replaced when their run was resumed come along, before the one that counts.
    Lines that are sealed under the joined run's own lock stay as they are; others are sealed under it, if their case
    is sealed.

    Raises:
        RunFileError: a transcript cannot be read, or the run file cannot be written.
    """
    lock = plan.header.settings.get(SEALED_LINES)
    writer.header(plan.header)
    for case in plan.cases.values():
        writer.case(case)
    attempts = {id(index): _attempts(index) for index in plan.sources.values()}
    for key, index in plan.sources.items():
        asked = plan.cases.get(f"{key.label}/{key.case}")
        is_open = lock is None or (asked is not None and not asked.sealed)
        for entry in attempts[id(index)][key]:
            if index.header.settings.get(SEALED_LINES) == lock and entry.sealed != is_open:
                writer.copy(entry.receipt)
            else:
                writer.transcript(index.read_entry(entry))


def _attempts(index: RunIndex) -> Mapping[DialogueKey, list[Entry]]:
    """Every attempt at each dialogue: those that were replaced, which were paid for, then the one that counts."""
    attempts: dict[DialogueKey, list[Entry]] = {key: [] for key in index.entries}
    for key, entry in index.others:
        attempts[key].append(entry)
    for key, entry in index.entries.items():
        attempts[key].append(entry)
    return attempts


def _check_suites(runs: Sequence[RunIndex]) -> None:
    first = runs[0]
    seen = set()
    for index in runs:
        if index.path.resolve() in seen:
            raise RunFileError(f"{run_name(index)}: the run is given twice; name each one once")
        seen.add(index.path.resolve())
        differences = _differences(first.header, index.header)
        if differences:
            more = len(differences) - _MOST_DIFFERENCES
            shown = "; ".join(differences[:_MOST_DIFFERENCES]) + (f"; and {more} more differences" if more > 0 else "")
            raise RunFileError(
                f"{run_name(index)} is not of the same suite as {run_name(first)}: {shown}; "
                "join only runs that measured the same"
            )


_MOST_DIFFERENCES = 4


def _differences(old: RunHeader, new: RunHeader) -> tuple[str, ...]:
    one, other = old.settings.get("suite"), new.settings.get("suite")
    if isinstance(one, dict) and isinstance(other, dict):
        return suite_differences(one, other)
    return suite_differences(_signature_of_old(old), _signature_of_old(new))


def _signature_of_old(header: RunHeader) -> dict[str, Json]:
    return {
        "seed": header.seed,
        "iterations": header.iterations,
        "max_turns": header.settings.get("max_turns"),
        "models": {spec.id: model_hash(spec) for spec in header.models},
        "tasks": {info.name: info.version for info in header.tasks},
    }


def _cases(runs: Sequence[RunIndex]) -> dict[str, Case]:
    """All cases; one that any run holds as sealed is sealed."""
    cases: dict[str, Case] = {}
    held_by: dict[str, str] = {}
    for index in runs:
        for key, case in index.cases.items():
            old = cases.get(key)
            if old is not None and (old.task, to_plain(old.data)) != (case.task, to_plain(case.data)):
                raise RunFileError(f"case {key} differs between {held_by[key]} and {run_name(index)}; one was changed")
            cases[key] = case if old is None else replace(case, sealed=case.sealed or old.sealed)
            held_by[key] = run_name(index)
    return cases


def _sources(runs: Sequence[RunIndex]) -> tuple[dict[DialogueKey, RunIndex], tuple[Duplicate, ...]]:
    holders: dict[DialogueKey, list[RunIndex]] = {}
    for index in runs:
        for key in index.entries:
            holders.setdefault(key, []).append(index)
    sources: dict[DialogueKey, RunIndex] = {}
    duplicates = []
    for key, indexes in holders.items():
        # Of equal ones max() takes the first, so that the last run given must come first.
        taken = max(reversed(indexes), key=lambda i: (not i.entries[key].failed, i.entries[key].started))
        sources[key] = taken
        if len(indexes) > 1:
            duplicates.append(Duplicate(key, tuple(map(run_name, indexes)), run_name(taken)))
    return sources, tuple(sorted(duplicates, key=lambda duplicate: duplicate.key))


def _header(runs: Sequence[RunIndex], name: str, absent: Sequence[str]) -> RunHeader:
    headers = [index.header for index in runs]
    first = headers[0]
    locks = [header.settings.get(SEALED_LINES) for header in headers]
    settings: dict[str, Json] = {
        **first.settings,
        "hide_cases": next((True for header in headers if header.settings.get("hide_cases")), None),
        SEALED_LINES: next((lock for lock in locks if lock is not None), None),
        "shard": None,
        "planned": to_plain(planned_dialogues(runs)),
        "merged": to_plain([header.run for header in headers]),
    }
    settings.pop(MISSING_SHARDS, None)
    if absent:
        settings[MISSING_SHARDS] = list(absent)
    names = dict.fromkeys(name for header in headers for name in header.versions)
    return replace(
        first,
        run=name,
        started=min(header.started for header in headers),
        versions={name: " / ".join(_values(name, headers)) for name in names},
        tasks=tuple({info.name: info for header in headers for info in header.tasks}.values()),
        settings=settings,
    )


def _values(name: str, headers: Sequence[RunHeader]) -> list[str]:
    return list(dict.fromkeys(header.versions[name] for header in headers if name in header.versions))


def _findings(runs: Sequence[RunIndex], errors: int) -> tuple[str, ...]:
    found = [f"{run_name(index)} ends in the middle of a line, which is left out" for index in runs if index.truncated]
    if errors == 1:
        found.append("1 dialogue ended as an error; resume its run to hold it again")
    elif errors:
        found.append(f"{errors} dialogues ended as errors; resume their runs to hold them again")
    for kind, tables in (
        ("version of", [index.header.versions for index in runs]),
        ("setting", [{k: v for k, v in i.header.settings.items() if k not in _OF_ONE_RUN} for i in runs]),
    ):
        for name in dict.fromkeys(name for table in tables for name in table):
            values = [table.get(name) for table in tables]
            if any(value != values[0] for value in values):
                told = ", ".join(f"{value} in {run_name(index)}" for value, index in zip(values, runs, strict=True))
                found.append(f"{kind} {name!r} differs: {told}")
    return tuple(found)
