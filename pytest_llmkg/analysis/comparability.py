"""May two runs be compared? What is missing on either side, what was measured otherwise, what was priced otherwise.

Everything found is told; nothing found here changes a number. The unit of what is missing is the dialogue: one that
ended as an error has no value, so it is missing, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from pytest_llmkg.errors import RecordError
from pytest_llmkg.records import ModelSpec, RunHeader, Transcript
from pytest_llmkg.signature import parse_signature
from pytest_llmkg.suite_signature import suite_differences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pytest_llmkg.plain import Json

__all__ = ["Finding", "FindingKind", "Side", "compare_sides", "gaps_of", "same_models"]

FindingKind = Literal["missing", "signature", "prices", "note"]

_NAMED = 5
"""Dialogues that a finding names; it counts all of them."""

_PRICES = ("price_in", "price_out")
_NOT_MEASURED = {"id", "max_concurrency", "rpm", "context", "family", "parameters", *_PRICES}
"""Settings of a model that change nothing of what is measured, or are compared apart."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence on what keeps two runs from being compared; a ``note`` is worth knowing and hinders nothing."""

    kind: FindingKind
    text: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of two runs.

    Attributes:
        name: what to call it, e.g. ``the baseline``.
        header: of the run.
        transcripts: all its dialogues.
        truncated: whether its file ended in the middle of a line.
    """

    name: str
    header: RunHeader
    transcripts: Sequence[Transcript]
    truncated: bool = False

    @property
    def models(self) -> tuple[str, ...]:
        """Models of the header, then others that have dialogues."""
        return tuple(dict.fromkeys([*(m.id for m in self.header.models), *(t.model for t in self.transcripts)]))


def same_models(before: Side, now: Side) -> tuple[tuple[str, str], ...]:
    """(model before, model now) for each model of both runs, in the order of the new run."""
    return tuple((model, model) for model in now.models if model in before.models)


def gaps_of(side: Side) -> tuple[Finding, ...]:
    """What one run lacks by its own account: planned dialogues that were not run, a torn last line, lost shards."""
    found = [*_torn(side), *_lost_shards(side)]
    held = _held(side.transcripts)
    for (model, label), planned in _planned(side.header).items():
        number = len(held.get((model, label), {}))
        if number < planned:
            text = f"{planned - number} of {planned} planned dialogues of model {model!r} on {label!r} were not run"
            found.append(Finding("missing", f"{side.name}: {text}"))
    return tuple(found)


def compare_sides(before: Side, now: Side, pairs: Sequence[tuple[str, str]] | None = None) -> tuple[Finding, ...]:
    """All findings on two runs.

    Args:
        before: the older run.
        now: the newer run.
        pairs: (model before, model now) of those compared; None for the models of both runs, and then models of one
            run only are findings.
    """
    chosen = same_models(before, now) if pairs is None else tuple(pairs)
    found = _missing_models(before, now) if pairs is None else []
    held = _held(before.transcripts), _held(now.transcripts)
    missing = [one for pair in chosen for one in _missing_dialogues((before, now), held, pair)]
    told = {(model, label) for model, label, _ in missing}
    found += [Finding("missing", text) for _, _, text in missing]
    found += [one for side in (before, now) for one in (*_torn(side), *_lost_shards(side))]
    found += _unheld(before, {model for model, _ in chosen}, told)
    found += _unheld(now, {model for _, model in chosen}, told)
    found += [Finding("signature", text) for text in _suite(before.header, now.header)]
    for pair in chosen:
        found += _settings(before.header, now.header, pair)
    found += [Finding("signature", text) for text in _headlines(before.header, now.header)]
    found += [Finding("signature", text) for text in _score_signatures(before, now, chosen)]
    found += [Finding("note", text) for text in _versions(before.header, now.header)]
    return tuple(found)


def _torn(side: Side) -> list[Finding]:
    text = f"{side.name}: the file ends in the middle of a line, and the dialogue of that line is lost"
    return [Finding("missing", text)] if side.truncated else []


def _lost_shards(side: Side) -> list[Finding]:
    """What a run that was joined without some shards, or that is one shard, says of itself."""
    absent, shard = side.header.settings.get("missing_shards"), side.header.settings.get("shard")
    if isinstance(absent, list) and absent:
        text = f"it was joined without shard {', '.join(map(str, absent))}, of which nothing is known"
        return [Finding("missing", f"{side.name}: {text}")]
    return [] if shard is None else [Finding("note", f"{side.name}: it is shard {shard}, a part of the suite")]


def _missing_models(before: Side, now: Side) -> list[Finding]:
    gone = [f"model {m!r} is missing in {now.name}, which {before.name} has" for m in before.models]
    new = [f"model {m!r} is missing in {before.name}, which {now.name} has" for m in now.models]
    texts = [text for model, text in zip(before.models, gone, strict=True) if model not in now.models]
    texts += [text for model, text in zip(now.models, new, strict=True) if model not in before.models]
    return [Finding("missing", text) for text in texts]


_Held = dict[tuple[str, str], dict[tuple[str, int], bool]]


def _held(transcripts: Iterable[Transcript]) -> _Held:
    """By (model, label): (case, iteration) to whether the dialogue was evaluated."""
    held: _Held = {}
    for one in transcripts:
        held.setdefault((one.model, one.label), {})[one.case, one.iteration] = one.outcome != "error"
    return held


def _planned(header: RunHeader) -> dict[tuple[str, str], int]:
    plan = header.settings.get("planned")
    rows = plan.items() if isinstance(plan, dict) else ()
    return {
        (model, label): number
        for model, labels in rows
        if isinstance(labels, dict)
        for label, number in labels.items()
        if isinstance(number, int)
    }


def _unheld(side: Side, models: set[str], told: set[tuple[str, str]]) -> list[Finding]:
    """Planned dialogues that were not run, of models and labels of which nothing is told yet."""
    held = _held(side.transcripts)
    return [
        Finding(
            "missing",
            f"{side.name}: {planned - number} of {planned} planned dialogues of {model!r} on {label!r} were not run",
        )
        for (model, label), planned in _planned(side.header).items()
        for number in [len(held.get((model, label), {}))]
        if model in models and (model, label) not in told and number < planned
    ]


def _missing_dialogues(
    sides: tuple[Side, Side], held: tuple[_Held, _Held], pair: tuple[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Model and label with a sentence for each label where one side lacks values that the other has."""
    # More iterations on one side are another signature, not missing dialogues.
    rounds = min(side.header.iterations for side in sides)
    labels = {label for side, model in zip(held, pair, strict=True) for of, label in side if of == model}
    for label in sorted(labels):
        own = [side.get((model, label), {}) for side, model in zip(held, pair, strict=True)]
        for this, that in ((1, 0), (0, 1)):
            wanted = sorted(key for key, valued in own[that].items() if valued and key[1] <= rounds)
            lacking = [key for key in wanted if not own[this].get(key)]
            if lacking:
                number = f"{len(lacking)} of {len(wanted)} dialogues of model {pair[this]!r} on {label!r}"
                reason = f"{_why(lacking, own[this])}): {_names(lacking, rounds)}"
                yield pair[this], label, f"{sides[this].name} lacks {number} that {sides[that].name} has ({reason}"


def _why(lacking: Sequence[tuple[str, int]], held: Mapping[tuple[str, int], bool]) -> str:
    errors = sum(key in held for key in lacking)
    reasons = {"not run": len(lacking) - errors, "ended as errors": errors}
    return "; ".join(f"{number} {reason}" for reason, number in reasons.items() if number)


def _names(keys: Sequence[tuple[str, int]], rounds: int) -> str:
    shown = [case if rounds == 1 else f"{case} (iteration {number})" for case, number in keys[:_NAMED]]
    return ", ".join(shown) + (f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else "")


def _suite(before: RunHeader, now: RunHeader) -> tuple[str, ...]:
    """Differences of what was measured; models, and what one side lacks, are told elsewhere."""
    old, new = before.settings.get("suite"), now.settings.get("suite")
    if not isinstance(old, dict) or not isinstance(new, dict):
        lacking = [header.run for header, suite in ((before, old), (now, new)) if not isinstance(suite, dict)]
        return (f"run {lacking[0]!r} does not say what it measured, as those of old versions",)
    return suite_differences(_shared(old, new), _shared(new, old))


def _shared(suite: Mapping[str, Json], other: Mapping[str, Json]) -> dict[str, Json]:
    shared: dict[str, Json] = {}
    for name, value in suite.items():
        theirs = other.get(name)
        if name == "models":
            continue
        if name in ("tasks", "cases") and isinstance(value, dict) and isinstance(theirs, dict):
            shared[name] = {key: one for key, one in value.items() if key in theirs}
        else:
            shared[name] = value
    return shared


def _settings(before: RunHeader, now: RunHeader, pair: tuple[str, str]) -> Iterator[Finding]:
    old = {spec.id: spec for spec in before.models}.get(pair[0])
    new = {spec.id: spec for spec in now.models}.get(pair[1])
    if old is None or new is None:
        return
    if pair[0] == pair[1]:
        names = [f.name for f in fields(ModelSpec) if f.name not in _NOT_MEASURED]
        changed = [name for name in names if _setting(old, name) != _setting(new, name)]
        if changed:
            yield Finding("signature", f"model {pair[1]!r} has other settings: {', '.join(changed)}")
    priced = [
        f"{name} {_shown(getattr(new, name))}, was {_shown(getattr(old, name))}"
        for name in _PRICES
        if getattr(new, name) != getattr(old, name)
    ]
    if priced and pair[0] == pair[1]:
        yield Finding(
            "prices", f"model {pair[1]!r} has other prices (US dollars per million tokens): {'; '.join(priced)}"
        )


def _setting(spec: ModelSpec, name: str) -> object:
    value = getattr(spec, name)
    return re.sub(r"(?<=//)[^/?#]*@", "", value) if name == "api_base" and value else value


def _shown(value: object) -> str:
    return "unknown" if value is None else str(value)


def _headlines(before: RunHeader, now: RunHeader) -> list[str]:
    old = {info.name: info.headline for info in before.tasks}
    return [
        f"task {info.name!r} is judged by {info.headline!r}, was by {old[info.name]!r}"
        for info in now.tasks
        if old.get(info.name, info.headline) != info.headline
    ]


def _score_signatures(before: Side, now: Side, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Rules and engines of equal scores, by task; the program's own version may differ."""
    old = _signatures(before.transcripts, {model for model, _ in pairs})
    new = _signatures(now.transcripts, {model for _, model in pairs})
    for key in sorted(old.keys() & new.keys()):
        if old[key] != new[key]:
            gone, come = old[key] - new[key], new[key] - old[key]
            yield (
                f"task {key[0]!r}: its {key[1]} scores were made by {_joined(come or new[key])}, "
                f"were by {_joined(gone or old[key])}"
            )


def _joined(found: Iterable[str]) -> str:
    return " and ".join(sorted(found))


def _signatures(transcripts: Iterable[Transcript], models: set[str]) -> dict[tuple[str, str], set[str]]:
    """By task and name of the rules; signatures without the program's own version."""
    whole = {
        (one.task, scores.signature)
        for one in transcripts
        if one.model in models
        for turn in one.turns
        for scores in turn.evaluation.score_sets
    }
    found: dict[tuple[str, str], set[str]] = {}
    for task, signature in whole:
        try:
            parts = parse_signature(signature)
        except RecordError:  # of a task of somebody else: compared as a whole
            parts = {"signature": signature}
        rest = "|".join(f"{name}:{value}" for name, value in parts.items() if name != "llmkg")
        found.setdefault((task, parts.get("rules", "own")), set()).add(rest)
    return found


def _versions(before: RunHeader, now: RunHeader) -> Iterator[str]:
    for name in dict.fromkeys((*now.versions, *before.versions)):
        old, new = before.versions.get(name, "none"), now.versions.get(name, "none")
        if old != new:
            yield f"version of {name}: {new}, was {old}"
