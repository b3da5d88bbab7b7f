"""All statistics of a report, from one pass of the analysis over its dialogues."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.aggregates import ModelRow
from pytest_llmkg.analysis.corrections import CorrectionRow, changes_of, correction_rows
from pytest_llmkg.analysis.effort import EffortRow, effort_tables
from pytest_llmkg.analysis.gains import GainRow, gain_rows, last_gain
from pytest_llmkg.analysis.intervals import Interval, ScoreIntervals, score_intervals
from pytest_llmkg.analysis.paired import within_1
from pytest_llmkg.analysis.pareto import Front, cost_front, seconds_front
from pytest_llmkg.analysis.passing import PassRow, pass_rows
from pytest_llmkg.analysis.published import analyse_published
from pytest_llmkg.analysis.published_records import PublishedAnalysis
from pytest_llmkg.analysis.ranks import Rank, Ranking, rank_models
from pytest_llmkg.analysis.values import CaseValues, headline_values, values_of
from pytest_llmkg.reporting.effort import Effort, efforts_of
from pytest_llmkg.reporting.endings import Endings, endings_of
from pytest_llmkg.reporting.paid import whole_cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.records import TaskInfo, Transcript

__all__ = ["Figures", "figures_of"]

_NO_NUMBER = "the scores are too large to compute limits"


@dataclass(frozen=True, slots=True)
class Figures:
    """What the analysis says of a report's dialogues.

    Attributes:
        values: the headline score of each dialogue.
        intervals: of each model's mean and of each label's mean.
        ranking: ranks with their limits and the leader group; ``ranks`` has them by model.
        gains: what dialogues gain, by label and model; ``gain_intervals`` are those of the mean gain.
        spent: by model its row of the ranking with time and cost of its calls.
        costs, seconds: Pareto fronts of these.
        published: the analysis by the published method.
        rules: published against corrected rules.
        passing: pass@k and pass^k by model for ``k`` answers to a case; none when cases are asked once.
        k: see ``passing``.
        endings: by label how its dialogues ended.
        efforts: by model what its calls took and what went wrong with them.
        questions: what systems took for a question, by model; ``questions_by_label`` by model and task label. Empty
            where no question was put to systems.
    """

    values: CaseValues
    intervals: ScoreIntervals
    ranking: Ranking
    ranks: Mapping[str, Rank]
    gains: tuple[GainRow, ...]
    gain_intervals: Mapping[tuple[str, str], Interval]
    spent: Mapping[str, ModelRow]
    costs: Front
    seconds: Front
    published: PublishedAnalysis
    rules: tuple[CorrectionRow, ...]
    passing: tuple[PassRow, ...]
    k: int
    endings: tuple[Endings, ...]
    efforts: Mapping[str, Effort]
    questions: tuple[EffortRow, ...]
    questions_by_label: tuple[EffortRow, ...]


def figures_of(
    transcripts: Sequence[Transcript],
    infos: Sequence[TaskInfo],
    rows: Sequence[ModelRow],
    asking: frozenset[str],
    references: frozenset[str],
    seed: int,
) -> Figures:
    """The statistics of ``transcripts``.

    Args:
        transcripts: all dialogues.
        infos: their tasks.
        rows: the ranking.
        asking: task labels that put questions to systems.
        references: models that are shown, but neither ranked nor tested nor on any front.
        seed: of all random draws.
    """
    values = headline_values(transcripts, infos)
    ranking = rank_models(values, seed=seed, references=references)
    k = _answers_to_a_case(values)
    efforts = efforts_of(transcripts)
    spent = [_of_calls(row, efforts) for row in rows]
    asked = [transcript for transcript in transcripts if transcript.label in asking]
    gains = gain_rows(transcripts, infos)
    gained = _finite(score_intervals(values_of(transcripts, infos, last_gain), seed=seed)).labels
    questions, by_label = effort_tables(asked, {info.name: info for info in infos})
    return Figures(
        values=values,
        intervals=_finite(score_intervals(values, seed=seed)),
        ranking=ranking,
        ranks={rank.model: rank for rank in ranking.rows},
        gains=gains,
        gain_intervals={key: within_1(one) for key, one in gained.items()} if _are_0_to_1(gains) else gained,
        spent={row.model: row for row in spent},
        costs=cost_front(spent, references),
        seconds=seconds_front(spent, references),
        published=analyse_published(transcripts, infos),
        rules=_rules(transcripts, infos),
        passing=pass_rows(values, k) if k > 1 else (),
        k=k,
        endings=endings_of(transcripts, infos),
        efforts=efforts,
        questions=questions,
        questions_by_label=by_label,
    )


def _are_0_to_1(gains: Sequence[GainRow]) -> bool:
    means = (mean for row in gains for mean in (row.first, row.last, row.best))
    return all(mean is None or 0 <= mean <= 1 for mean in means)


def _of_calls(row: ModelRow, efforts: Mapping[str, Effort]) -> ModelRow:
    """``row`` with time and cost of its calls, failed ones included.

    Its own seconds are those of dialogues, which wait for leave to call and are scored as well; they stay where
    answers do not tell their time, as those of other programs' archives.
    """
    effort = efforts.get(row.model)
    if effort is None:
        return row
    seconds = effort.seconds or row.seconds
    return replace(row, seconds=seconds, cost=whole_cost((row.cost, effort.failed_cost)))


def _answers_to_a_case(values: CaseValues) -> int:
    """How many answers some case of each label has; of all labels the fewest, so that none is left out."""
    most: dict[tuple[str, str], int] = {}
    for (model, label, _), found in values.by_case.items():
        most[model, label] = max(most.get((model, label), 0), len(found))
    return min((count for count in most.values() if count), default=0)


def _rules(transcripts: Sequence[Transcript], infos: Sequence[TaskInfo]) -> tuple[CorrectionRow, ...]:
    by_name = {info.name: info for info in infos}
    return tuple(
        correction_rows(
            (transcript.model, transcript.label, change)
            for transcript in transcripts
            if transcript.task in by_name and transcript.outcome != "error"
            for change in changes_of(transcript, transcript, by_name[transcript.task])
        )
    )


def _finite(found: ScoreIntervals) -> ScoreIntervals:
    """``found`` without limits that are no numbers, as those of scores near the end of the floats' range."""
    return ScoreIntervals(
        {key: _checked(one) for key, one in found.models.items()},
        {key: _checked(one) for key, one in found.labels.items()},
    )


def _checked(one: Interval) -> Interval:
    numbers = (one.mean, one.low, one.high, one.error)
    if all(number is None or math.isfinite(number) for number in numbers):
        return one
    mean = one.mean if one.mean is not None and math.isfinite(one.mean) else None
    return replace(one, mean=mean, low=None, high=None, error=None, degrees=None, reason=_NO_NUMBER)
