"""What was measured, when, with what, and at what price: the facts of a page, as pairs of name and text."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from pytest_llmkg.reporting import formats
from pytest_llmkg.reporting.formats import plural
from pytest_llmkg.reporting.paid import whole_cost
from pytest_llmkg.suite_signature import signature_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import ModelSpec, RunHeader
    from pytest_llmkg.reporting.effort import Effort
    from pytest_llmkg.reporting.views import Report

__all__ = ["Facts", "asked", "effort_facts", "model_facts", "period_facts", "run_facts", "total_facts"]

Facts = tuple[tuple[str, str], ...]

# Settings that say nothing by themselves: shown as a digest, as a count or not at all.
_TOLD_OTHERWISE = {"suite", "planned", "merged", "sealed_lines", "shard", "missing_shards", "hide_cases", "wrapped"}


def run_facts(header: RunHeader) -> Facts:
    """What one run was: name, start, seed, versions, settings, and the digest of what it measured."""
    settings = header.settings
    suite, merged = settings.get("suite"), settings.get("merged")
    planned = _planned(settings.get("planned"))
    found: list[tuple[str, object]] = [
        ("run", header.run),
        ("started", header.started),
        ("suite signature", signature_digest(suite) if isinstance(suite, dict) else None),
        ("seed", header.seed),
        ("iterations", header.iterations),
        ("dialogues planned", f"{planned:,}" if planned else None),
        ("shard", settings.get("shard")),
        ("joined from", ", ".join(map(str, merged)) if isinstance(merged, list) and merged else None),
        ("shards missing", _lost(settings.get("missing_shards"))),
        ("texts of sealed cases", "left out" if settings.get("hide_cases") else None),
        ("sealed lines", "encrypted in the run file" if settings.get("sealed_lines") else None),
        *header.versions.items(),
        *((f"inside {name}", inside) for name, inside in _wrapped(settings.get("wrapped"))),
        *((name, _shown(value)) for name, value in settings.items() if name not in _TOLD_OTHERWISE),
    ]
    return tuple((name, str(value)) for name, value in found if value is not None)


def _lost(shards: Json) -> str | None:
    return (
        f"{', '.join(map(str, shards))}: not there when the run was joined"
        if isinstance(shards, list) and shards
        else None
    )


def _wrapped(specs: Json) -> Iterator[tuple[str, str]]:
    """The settings of each model inside another one, by the outer one's id."""
    for name, spec in specs.items() if isinstance(specs, dict) else ():
        if isinstance(spec, dict):
            yield name, ", ".join(f"{key} {value}" for key, value in spec.items())


def _planned(plan: Json) -> int:
    rows = plan.values() if isinstance(plan, dict) else ()
    return sum(n for row in rows if isinstance(row, dict) for n in row.values() if isinstance(n, int))


def _shown(value: Json) -> str | None:
    """``value`` as text; None when it says nothing."""
    if value is None or value in ([], {}):
        return None
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def total_facts(report: Report) -> Facts:
    """Dialogues, answers, tokens, cost, time and what went wrong, over all models."""
    rows = [view.row for view in report.models]
    efforts = report.figures.efforts.values()
    lacking = sum(report.not_run.values())
    errors = sum(row.counts.error for row in rows)
    found = [
        ("dialogues", formats.count(len(report.transcripts))),
        ("not run", formats.count(lacking) if lacking else None),
        ("broke off", formats.count(errors) if errors else None),
        ("answers", formats.count(sum(effort.answers for effort in efforts))),
        ("tokens in", _known(row.input_tokens for row in rows)),
        ("tokens out", _known(row.output_tokens for row in rows)),
        *_cost_facts(report),
        ("time of all calls", formats.duration(math.fsum(row.seconds for row in report.figures.spent.values()))),
        *(_short(name, text) for name, text in _troubles(efforts)),
    ]
    return tuple((name, text) for name, text in found if text is not None)


def _short(name: str, text: str | None) -> tuple[str, str | None]:
    """The number alone as the text, what it consists of beside the name, since tiles show texts large."""
    number, bracket, parts = (text or "").partition(" (")
    return (f"{name}: {parts.removesuffix(')')}", number) if bracket else (name, text)


def _cost_facts(report: Report) -> list[tuple[str, str | None]]:
    """The cost of every call that was paid for, and how much of it brought nothing."""
    paid = [report.paid(view.row) for view in report.models]
    whole = whole_cost(one.cost for one in paid)
    failed, replaced = whole_cost(p.failed_calls for p in paid), whole_cost(p.replaced for p in paid)
    name = "cost of all calls" if report.replaced is not None else "cost of the attempts that count"
    text = formats.UNKNOWN if whole is None else formats.cost(whole, known=all(one.known for one in paid))
    return [
        (name if whole else "cost", text),
        ("of it for failed calls", formats.cost(failed) if failed else None),
        ("of it for replaced attempts", formats.cost(replaced) if replaced else None),
    ]


def period_facts(report: Report) -> Facts:
    """From when to when dialogues began, which tells of runs that were resumed."""
    began = sorted(transcript.started for transcript in report.transcripts if transcript.started)
    if not began:
        return ()
    return (("first dialogue began", began[0]), ("last dialogue began", began[-1]))


def _troubles(efforts: Iterable[Effort]) -> list[tuple[str, str | None]]:
    efforts = list(efforts)
    failed, retried = sum(e.failed_calls for e in efforts), sum(e.retried for e in efforts)
    dropped = sorted({name for effort in efforts for name, _ in effort.dropped})
    cached = sum(effort.from_cache for effort in efforts)
    statuses: Counter[str] = Counter()
    for effort in efforts:
        statuses.update(dict(effort.statuses))
    reasons = ", ".join(f"{count} {name}" for name, count in statuses.most_common(4))
    return [
        ("failed calls", f"{failed:,} ({reasons})" if failed else None),
        ("answers after a repeated call", formats.count(retried) if retried else None),
        ("settings that endpoints refused", ", ".join(dropped) or None),
        ("answers from a cache", formats.count(cached) if cached else None),
    ]


def effort_facts(effort: Effort | None) -> Facts:
    """What one model's calls took and what went wrong with them."""
    if effort is None:
        return ()
    found = [
        ("answers", formats.count(effort.answers)),
        ("cost of failed calls", formats.cost(effort.failed_cost) if effort.failed_cost else None),
        ("cached tokens", None if effort.cached_tokens is None else formats.count(effort.cached_tokens)),
        ("reasoning tokens", None if effort.reasoning_tokens is None else formats.count(effort.reasoning_tokens)),
        *_troubles([effort]),
        ("served as", ", ".join(effort.served[:5]) or None),
        *((f"time of {stage}", formats.duration(seconds)) for stage, seconds in effort.stages),
    ]
    return tuple((name, text) for name, text in found if text is not None)


def model_facts(spec: ModelSpec | None) -> Facts:
    """How a model was reached and with which settings."""
    if spec is None:
        return (("settings", "no run says how this model was reached"),)
    prices = (
        f"${spec.price_in:g} in, ${spec.price_out:g} out" if spec.price_in is not None is not spec.price_out else None
    )
    found: list[tuple[str, object]] = [
        ("connector", spec.connector),
        ("model", spec.model if spec.model not in ("", spec.id) else None),
        ("family", spec.family),
        ("parameters", spec.parameters),
        ("context", None if spec.context is None else f"{spec.context:,} tokens"),
        ("address", _without_login(spec.api_base)),
        ("temperature", spec.temperature),
        ("top_p", spec.top_p),
        ("max tokens", spec.max_tokens),
        ("model's seed", spec.seed),
        ("price of a million tokens", prices),
        *((name, _shown(value)) for name, value in spec.extra.items()),
    ]
    return tuple((name, str(value)) for name, value in found if value is not None)


def _without_login(address: str | None) -> str | None:
    """``address`` without user, password and query, which may be secret."""
    if address is None:
        return None
    start, _, rest = address.rpartition("://")
    host = rest.partition("?")[0].partition("#")[0]
    login, slash, path = host.partition("/")
    return f"{start}{'://' if start else ''}{login.rpartition('@')[2]}{slash}{path}"


def _known(numbers: Iterable[int | None]) -> str | None:
    """Their sum, as a lower bound when some are unknown; None when nothing but zeros is known."""
    found = list(numbers)
    known = [number for number in found if number is not None]
    if len(known) == len(found):
        return formats.count(sum(known)) if known else None
    return f"≥ {formats.count(sum(known))}" if any(known) else None


def asked(report: Report) -> str:
    """One sentence on how much was measured."""
    parts = plural(len(report.models), "model"), plural(len(report.labels), "task label")
    return f"{parts[0]} on {parts[1]}, {len(report.transcripts):,} dialogues."
