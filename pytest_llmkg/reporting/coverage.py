"""What the runs of a report lack: dialogues that were planned and that no run holds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.formats import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import RunHeader
    from pytest_llmkg.reporting.sources import Key

__all__ = ["not_run", "run_notes", "shard_notes"]


def not_run(headers: Sequence[RunHeader], held: Iterable[Key]) -> dict[tuple[str, str], int]:
    """By (model, label) how many planned dialogues are missing, where any are.

    Plans of different shards add up; those of runs that repeat each other do not.
    """
    shards: dict[str, Counter[tuple[str, str]]] = {}
    for header in headers:
        plan = shards.setdefault(str(header.settings.get("shard")), Counter())
        for key, count in _planned(header.settings.get("planned")).items():
            plan[key] = max(plan[key], count)
    planned = sum(shards.values(), Counter[tuple[str, str]]())
    found = Counter((key.model, key.label) for key in held)
    return {key: count - found[key] for key, count in sorted(planned.items()) if count > found[key]}


def _planned(plan: Json) -> Mapping[tuple[str, str], int]:
    rows = plan.items() if isinstance(plan, dict) else ()
    return {
        (model, label): count
        for model, labels in rows
        if isinstance(labels, dict)
        for label, count in labels.items()
        if isinstance(count, int)
    }


def shard_notes(headers: Iterable[RunHeader]) -> list[str]:
    """One sentence on each run that was joined without some of its shards."""
    found = []
    for header in headers:
        lost = header.settings.get("missing_shards")
        if isinstance(lost, list) and lost:
            word = "shard" if len(lost) == 1 else "shards"
            text = f"Run {header.run} was joined without {word} {', '.join(map(str, lost))}"
            found.append(f"{text}: nothing is known of the dialogues there, and no mean counts them.")
    return found


def run_notes(missing: Mapping[tuple[str, str], int]) -> list[str]:
    """One sentence on all of ``missing``; none when nothing is."""
    if not missing:
        return []
    models: Counter[str] = Counter()
    for (model, _), count in missing.items():
        models[model] += count
    named = ", ".join(f"{model} {count}" for model, count in models.most_common(5))
    more = f" and {plural(len(models) - 5, 'more model')}" if len(models) > 5 else ""
    return [
        (
            f"{plural(sum(models.values()), 'planned dialogue')} not run ({named}{more}), so the means of these models "
            "rest on fewer dialogues than planned."
        )
    ]
