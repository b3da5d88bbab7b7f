"""Scores the dialogues of result files and run files again, in order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.agreement import Comparison
from pytest_llmkg.analysis.corrections import changes_of
from pytest_llmkg.analysis.dialogue import has_dialogues, published_scores
from pytest_llmkg.cases.graph_files import NamedGraphs, named_graph
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.errors import EngineError, LlmkgError, UserError
from pytest_llmkg.interchange import Reading, RecordedDialogue, differences, recorded_dialogue, with_scores
from pytest_llmkg.interchange.layout_3 import TIME_OUT
from pytest_llmkg.interchange.layouts_2023 import RECORDED_TRIPLES
from pytest_llmkg.kg import DEFAULT_LIMITS, RESCORING_LIMITS, Limits, Sandbox
from pytest_llmkg.kg.sandbox import EngineName
from pytest_llmkg.plain import Json, to_plain
from pytest_llmkg.records import Case, Transcript
from pytest_llmkg.rescore import rescore_answers, rescore_transcript
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    from pytest_llmkg.analysis.corrections import Change
    from pytest_llmkg.contracts import Task
    from pytest_llmkg.records import TaskInfo, Turn
    from pytest_llmkg.registry import Registry

__all__ = ["Plan", "Progress", "RecordedRun", "Rescored", "Scorer", "Work", "layout", "limits_for", "rescore_all"]

# What records that fit no case of their task can raise in its code, besides this program's own errors.
_UNFIT = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, AttributeError)


@dataclass(frozen=True, slots=True)
class Plan:
    """How dialogues are scored.

    Attributes:
        corrected: also compare published with corrected headline scores.
        engine: ``pyoxigraph`` or ``rdflib``. Published runs used rdflib; with pyoxigraph they are scored by it where
            it surely gives the same and by rdflib elsewhere.
        keep_timeouts: take recorded time-outs as they are.
        graphs: graphs that no record holds, by name.
        parse_again: parse answers again even where the record holds the triples that its program read.
    """

    corrected: bool = False
    engine: EngineName = "pyoxigraph"
    keep_timeouts: bool = True
    graphs: Mapping[str, GraphText] = field(default_factory=dict)
    parse_again: bool = False


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A dialogue of a run file with its case, None when the file does not hold it."""

    transcript: Transcript
    case: Case | None


class Scorer:
    """Scores answers by the tasks; equal answers to equal cases once."""

    def __init__(self, tasks: Registry[Task], kg: Sandbox, plan: Plan) -> None:
        self.tasks = tasks
        self.kg = kg
        self.plan = plan
        self.graphs = {name: named_graph(name, graph) for name, graph in plan.graphs.items()}
        self._seen: dict[tuple[str, str, tuple[str, ...]], list[tuple[Case, Transcript]]] = {}

    def score(self, case: Case, answers: tuple[str, ...], engine: EngineName) -> Transcript:
        """The dialogue of ``answers`` on ``case`` with ``engine`` for queries."""
        known = self._seen.setdefault((engine, case.id, answers), [])
        for before, transcript in known:
            if before == case:
                return transcript
        turns = rescore_answers(self.tasks.get(case.task), case, answers, self.kg.using(engine))
        transcript = Transcript(case.id, case.label, case.task, "recorded", 1, turns, "", 0.0)
        known.append((case, transcript))
        return transcript

    def published(self, dialogue: RecordedDialogue) -> Transcript:
        """A recorded dialogue by the published rules, with the engine that its scores were made with."""
        if dialogue.case is None:
            raise UserError(f"{dialogue.label}: nothing to score")
        exact: EngineName = "pyoxigraph" if dialogue.own else "exact"
        engine = exact if self.plan.engine == "pyoxigraph" else self.plan.engine
        # Without repaired prefixes no query runs a second time; what they change is another question.
        return self.score(_without(dialogue.case, "correctedPrefixes"), dialogue.answers, engine)


@dataclass(frozen=True, slots=True)
class Work:
    """One dialogue to score: a record of a result file or a dialogue of a run file, and where it stands."""

    item: Mapping[str, Json] | RecordedRun
    place: str


@dataclass(frozen=True, slots=True)
class Rescored:
    """A record or transcript with its new scores, and how it compares; ``item`` is as it was if it was skipped."""

    item: Mapping[str, Json] | Transcript
    comparison: Comparison


Progress = Callable[[int], None]


def limits_for(items: Sequence[Work]) -> Limits:
    """The limits of the graph engine: those that published runs had, or, for run files alone, the usual ones."""
    return DEFAULT_LIMITS if all(isinstance(work.item, RecordedRun) for work in items) else RESCORING_LIMITS


def rescore_all(
    items: Sequence[Work], plan: Plan, kg: Sandbox | None = None, progress: Progress | None = None
) -> list[Rescored]:
    """Scores ``items`` again, in their order.

    Args:
        items: records of a result file, or dialogues of a run file.
        plan: how.
        kg: a graph engine with the limits of `limits_for`; None starts one for this call.
        progress: called with the number of dialogues that were finished since the last call.
    """
    if kg is None:
        with Sandbox(limits_for(items)) as own:
            return rescore_all(items, plan, own, progress)
    scorer, done = Scorer(discover_tasks(), kg, plan), []
    for work in items:
        if isinstance(work.item, RecordedRun):
            done.append(_rescored_run(work.item, work.place, scorer))
        else:
            done.append(_rescored_record(work.item, work.place, scorer))
        if progress is not None:
            progress(1)
    return done


def _rescored_record(record: Mapping[str, Json], place: str, scorer: Scorer) -> Rescored:
    plan = scorer.plan
    dialogue = recorded_dialogue(record, Reading(plan.graphs, plan.keep_timeouts))
    place = f"{place} ({dialogue.label})"
    case = dialogue.case
    if case is None:
        return Rescored(record, Comparison(dialogue.label, place, skipped=dialogue.skipped or "unknown"))
    if case.task not in scorer.tasks:
        return Rescored(record, Comparison(dialogue.label, place, skipped=f"task {case.task!r} is not known"))
    if plan.parse_again:
        dialogue = dataclasses.replace(dialogue, case=_without(case, RECORDED_TRIPLES))
    try:
        return _scored_record(record, dialogue, place, scorer)
    except EngineError:
        raise
    except (LlmkgError, *_UNFIT) as error:
        reason = f"it does not fit its task: {error or type(error).__name__}"
        return Rescored(record, Comparison(dialogue.label, place, skipped=reason[:300]))


def _scored_record(record: Mapping[str, Json], dialogue: RecordedDialogue, place: str, scorer: Scorer) -> Rescored:
    plan, case = scorer.plan, dialogue.case
    if case is None:
        raise UserError(f"{place}: nothing to score")
    task = scorer.tasks.get(case.task)
    transcript = scorer.published(dialogue)
    scores, info = layout(transcript, task.info)
    recorded = _table(record, "scores")
    kept = {name: recorded[name] for name in dialogue.not_computed if name in recorded}
    compared = {name: value for name, value in recorded.items() if name not in kept}
    values = {"decisions": _decisions(transcript.turns, dialogue.hints)}
    for kind, before, after in (("scores", compared, scores), ("info", _table(record, "info"), info)):
        if before:  # some records hold answers that were never scored
            equal, different = differences(before, after)
            values[kind] = equal, tuple(different)
    changes = _changes(transcript, dialogue, scorer) if plan.corrected else ()
    comparison = Comparison(dialogue.label, place, _model(record), None, values, tuple(kept), _taken(case), changes)
    # In the record's order of names, with the values that cannot be computed as they were.
    ordered = {name: {**scores, **kept}[name] for name in recorded if name in scores or name in kept}
    return Rescored(with_scores(record, {**ordered, **scores}, info), comparison)


def _changes(published: Transcript, dialogue: RecordedDialogue, scorer: Scorer) -> tuple[Change, ...]:
    """Corrected scores come from the engine that follows the standard, and from running what timed out then."""
    task, case, corrected = scorer.tasks.get(published.task), dialogue.case, published
    if case is not None and "correctedPrefixes" in case.data:
        corrected = scorer.score(_without(case, "recordedResults"), dialogue.answers, scorer.plan.engine)
    return changes_of(published, corrected, task.info)


def _rescored_run(run: RecordedRun, place: str, scorer: Scorer) -> Rescored:
    before, label = run.transcript, run.transcript.label
    if run.case is None or before.task not in scorer.tasks:
        return Rescored(before, Comparison(label, place, before.model, "its case or its task is not known"))
    task, plan = scorer.tasks.get(before.task), scorer.plan
    try:
        kg = NamedGraphs(scorer.kg.using(plan.engine), scorer.graphs)
        after = rescore_transcript(task, run.case, before, kg)
    except EngineError:
        raise
    except (LlmkgError, *_UNFIT) as error:
        reason = f"it does not fit its task: {error or type(error).__name__}"
        return Rescored(before, Comparison(label, place, before.model, reason[:300]))
    values = {"decisions": _decisions(after.turns, tuple(turn.feedback for turn in before.turns))}
    for kind, index in (("scores", 0), ("info", 1)):
        equal, different = differences(_whole(before, task.info)[index], _whole(after, task.info)[index])
        values[kind] = equal, tuple(different)
    changes = changes_of(after, after, task.info) if plan.corrected and after.outcome != "error" else ()
    return Rescored(after, Comparison(label, place, before.model, None, values, changes=changes))


def _whole(transcript: Transcript, task: TaskInfo) -> tuple[Json, Json]:
    """All scores, also corrected ones, and the info of every turn."""
    infos: Json = {str(number): dict(turn.evaluation.info) for number, turn in enumerate(transcript.turns)}
    return to_plain(published_scores(transcript, task)), infos


def layout(transcript: Transcript, task: TaskInfo) -> tuple[dict[str, Json], dict[str, Json]]:
    """Scores and info of a dialogue in the layout of LLM-KG-Bench's result files, by the published rules alone."""
    turns = tuple(_by_first_rules(turn) for turn in transcript.turns)
    published = published_scores(dataclasses.replace(transcript, turns=turns), task)
    scores = {key: to_plain(value) for key, value in published.items()}
    infos: list[dict[str, Json]] = [dict(turn.evaluation.info) for turn in turns]
    if not has_dialogues(task):
        return scores, infos[-1]
    numbered: dict[str, Json] = {str(number): info for number, info in enumerate(infos)}
    return scores, {**numbered, "multiShotCount": len(infos), "last": infos[-1]}


def _by_first_rules(turn: Turn) -> Turn:
    evaluation = dataclasses.replace(turn.evaluation, score_sets=turn.evaluation.score_sets[:1])
    return dataclasses.replace(turn, evaluation=evaluation)


def _decisions(turns: Sequence[Turn], hints: Sequence[str | None]) -> tuple[int, tuple[str, ...]]:
    """How often the rules go on or stop as the record did, and for the same reason where the record tells it."""
    missed = []
    for number, (turn, hint) in enumerate(zip(turns, hints, strict=True)):
        agrees = turn.feedback is not None if hint == "" else turn.feedback == hint
        if not agrees:
            before, after = ("stop" if kind is None else kind or "another turn" for kind in (hint, turn.feedback))
            missed.append(f".{number}={before}!={after}")
    return len(turns) - len(missed), tuple(missed)


def _taken(case: Case) -> tuple[str, ...]:
    results = case.data.get("recordedResults")
    kept = list(results.values()) if isinstance(results, dict) else []
    timed_out = [entry for entry in kept if isinstance(entry, dict) and entry.get("EvaluationException") == TIME_OUT]
    return (
        *(["time-outs"] if timed_out else []),
        *(["results"] if len(timed_out) < len(kept) else []),
        *(["triples"] if RECORDED_TRIPLES in case.data else []),
    )


def _without(case: Case, name: str) -> Case:
    return dataclasses.replace(case, data={key: value for key, value in case.data.items() if key != name})


def _model(record: Mapping[str, Json]) -> str:
    """The recorded model id without the parts that it repeats (``connector--name--name``)."""
    return "--".join(dict.fromkeys(str(record.get("modelId") or "unknown").split("--")))


def _table(record: Mapping[str, Json], name: str) -> dict[str, Json]:
    value = record.get(name)
    return value if isinstance(value, dict) else {}
