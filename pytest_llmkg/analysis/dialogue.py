"""Scores of a dialogue from the scores of its turns, by the rules and names of LLM-KG-Bench 3.

For each aggregated score ``k`` of a dialogue: ``mean_k`` is the sum over the turns by the number of turns,
``max_k`` the maximum, ``meanExt_k`` the mean after the last turn was repeated until there are ``max_turns``
turns (so that stopping early is neither rewarded nor punished). A turn that lacks ``k`` counts as 0; a ``k``
that no turn has is absent. ``last_k`` is the last turn's score. The rules were found from, and are tested
against, recorded results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.records import Number, TaskInfo, Transcript

__all__ = ["dialogue_scores", "finite", "has_dialogues", "headline", "layout_of_turns", "published_scores"]

_TOO_LARGE = 10**100


def finite(value: Number | None) -> float | None:
    """``value`` as a float; None for none, for an infinity, and from 10^100, where sums of squares leave the floats."""
    return float(value) if value is not None and abs(value) < _TOO_LARGE else None


def has_dialogues(info: TaskInfo) -> bool:
    """Whether the task's scores are per turn; true also when a limit cut its dialogues down to one turn."""
    return info.max_turns > 1 or bool(info.aggregated)


def dialogue_scores(transcript: Transcript, info: TaskInfo) -> dict[str, Number]:
    """The scores of ``transcript`` by flat published names: ``f1``, or ``0_combined`` and ``max_combined``.

    A dialogue that broke off with an error has only the scores of its finished turns, no aggregate.
    """
    flat: dict[str, Number] = {}
    for key, value in published_scores(transcript, info).items():
        if isinstance(value, dict):
            flat.update({f"{key}_{name}": number for name, number in value.items()})
        else:
            flat[key] = value
    return flat


def headline(transcript: Transcript, info: TaskInfo) -> Number | None:
    """The score that stands for ``transcript``; None when it ended as an error or has no such score.

    A score that is infinite or as large as 10^100 is none: no mean can be formed with it.
    """
    if transcript.outcome == "error":
        return None
    value = dialogue_scores(transcript, info).get(info.headline)
    return None if finite(value) is None else value


def published_scores(transcript: Transcript, info: TaskInfo) -> dict[str, Number | dict[str, Number]]:
    """The scores as in LLM-KG-Bench's result files: flat for one-turn tasks, else as `layout_of_turns`."""
    turns = [turn.evaluation.scores() for turn in transcript.turns]
    failed = transcript.outcome == "error"
    if not has_dialogues(info):
        return {} if failed else dict(turns[-1])
    if failed:
        return {str(number): scores for number, scores in enumerate(turns)}
    return dict(layout_of_turns(turns, info))


def layout_of_turns(turns: Sequence[Mapping[str, Number]], info: TaskInfo) -> dict[str, dict[str, Number]]:
    """By turn and aggregate: ``{"0": {...}, "mean": {...}, "max": ..., "meanExt": ..., "last": ...}``."""
    layout = {str(number): dict(scores) for number, scores in enumerate(turns)}
    if not turns:
        return layout
    missing = max(info.max_turns - len(turns), 0)
    extended = [*turns, *[turns[-1]] * missing]
    names = _aggregated_names(turns, info)
    layout["mean"] = {name: _mean(turns, name) for name in names}
    layout["max"] = {name: _max(turns, name) for name in names}
    layout["meanExt"] = {name: _mean(extended, name) for name in names}
    layout["last"] = dict(turns[-1])
    return layout


def _aggregated_names(turns: Sequence[Mapping[str, Number]], info: TaskInfo) -> list[str]:
    """The names to aggregate that any turn has; a variant (``combined@2``) goes with its published name."""
    present = dict.fromkeys(name for scores in turns for name in scores)
    if not info.aggregated:
        return list(present)
    return [name for name in present if name in info.aggregated or name.partition("@")[0] in info.aggregated]


def _mean(turns: Sequence[Mapping[str, Number]], name: str) -> float:
    # Added one by one: the built-in sum() compensates for rounding from Python 3.12 on; published
    # values do not.
    total: Number = 0
    for scores in turns:
        total += scores.get(name, 0)
    return total / len(turns)


def _max(turns: Sequence[Mapping[str, Number]], name: str) -> Number:
    values = [scores[name] for scores in turns if name in scores]
    best = max(values)
    # Missing counts as 0; the comparison keeps the value's own type when it is 0 itself.
    return 0 if best < 0 and len(values) < len(turns) else best
