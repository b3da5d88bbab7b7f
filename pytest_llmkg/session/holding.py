"""The half of a session that holds dialogues; there is one in every process that runs tests."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import dialogue_scores, headline
from pytest_llmkg.answer_cache import AnswerCache
from pytest_llmkg.dialogue import Dialogue, hold_dialogue
from pytest_llmkg.errors import RecordError
from pytest_llmkg.kg import SandboxPool
from pytest_llmkg.plain import Json, from_plain, to_plain
from pytest_llmkg.records import Answer, Case, TaskInfo, Transcript, Turn
from pytest_llmkg.scheduling.ahead import Ahead, Job
from pytest_llmkg.scheduling.asking import Patience, PatientConnector
from pytest_llmkg.scheduling.desk import LocalDesk, ModelLimits
from pytest_llmkg.scheduling.prices import Bid, Prices
from pytest_llmkg.scheduling.threads import LoopThreads
from pytest_llmkg.workshop import Workshop

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pytest_llmkg.contracts import Connector, ConnectorFactory, Task
    from pytest_llmkg.records import ModelSpec
    from pytest_llmkg.scheduling.desk import Desk
    from pytest_llmkg.scheduling.loop_thread import LoopThread
    from pytest_llmkg.store import RunIndex
    from pytest_llmkg.suite import Suite

__all__ = ["Record", "Runner", "error_transcript", "make_desk"]

Record = Callable[[Case, Transcript], "Callable[[], Transcript]"]
"""Writes a transcript down, and gives back what reads it again; may be called from any thread."""

_CLOSE_SECONDS = 10.0
_STOP_SECONDS = 4.0
_MOST_SANDBOXES = 4
_LOG = logging.getLogger(__name__)


def make_desk(suite: Suite, processes: int, share: int = 1) -> LocalDesk:
    """The desk of a run over so many ``processes``, or of one process that has one ``share``-th of every limit."""
    settings = suite.settings

    def limits(model: ModelSpec) -> ModelLimits:
        most = settings.concurrency * processes
        at_once = most if model.max_concurrency is None else min(most, max(1, model.max_concurrency // share))
        rpm = None if model.rpm is None else max(1, model.rpm // share)
        caller = suite.wrapped.get(model.id, model)
        prices = Prices(caller.price_in, caller.price_out, caller.max_tokens)
        return ModelLimits(at_once, rpm, suite.connectors.get(caller.connector).is_free, prices)

    most = None if settings.max_cost is None else settings.max_cost / share
    # A wrapped model may be under test itself: calls of both then share its limits.
    return LocalDesk({model.id: limits(model) for model in (*suite.wrapped.values(), *suite.models)}, most)


class Runner:
    """Holds dialogues, ahead of the tests: one event loop, a pool of graph engines, one connector for each model.

    Args:
        suite: what may be asked.
        loop: where dialogues are held; the caller closes it.
        desk: gives leave for dialogues and calls.
        record: what every transcript goes to at once.
        kept: the run that is resumed, whose finished dialogues are not held again; None for a new one.
        suspects: names of dialogues (`Job.name`) that may have killed a process, and so are held only alone.
    """

    def __init__(
        self,
        suite: Suite,
        loop: LoopThread,
        desk: Desk,
        record: Record,
        kept: RunIndex | None = None,
        suspects: Collection[str] = (),
    ) -> None:
        self.suite = suite
        self.problems: list[str] = []
        self._grace = True
        self._loop = loop
        self._record = record
        self._suspects = set(suspects)
        size = max(2, min(_MOST_SANDBOXES, os.cpu_count() or 1))
        self._kg = SandboxPool(size)
        self._scorers = LoopThreads(size + 2, "llmkg-score")
        self._desk = desk
        self._cache = None if suite.settings.cache is None else AnswerCache(suite.settings.cache)
        self._connectors: dict[str, Connector] = {}
        self._workshop = Workshop(suite.all_cases, suite.graphs, self._kg, suite.settings.seed, suite.endpoints)
        self.keep(kept)
        self._sizes: dict[tuple[str, str], int] = {}
        widths = {model.id: self._width(model) for model in suite.models}
        bid = None if suite.settings.max_cost is None else self._bid
        self._ahead = Ahead(loop, self._hold, self._written, desk, widths, bid)

    def keep(self, kept: RunIndex | None) -> None:
        """From now on takes finished dialogues from ``kept``."""
        self._kept = kept
        self._finished = frozenset() if kept is None else kept.finished()

    def suspect(self, names: Iterable[str]) -> None:
        """From now on holds these dialogues, too, only when a test asks for them."""
        self._suspects.update(names)

    def plan(self, jobs: Iterable[Job]) -> None:
        """Begins to hold ``jobs``, in this order, before tests ask for them."""
        self._ahead.plan(job for job in jobs if job.key not in self._finished and job.name not in self._suspects)

    def transcript(self, job: Job) -> Transcript:
        """The transcript of ``job``, of the run that is resumed or of now; an error is told in it, not raised.

        What a task or a connector of somebody else put into it that no run file can hold is an error, too.

        Raises:
            NotRunError: the dialogue was not begun, since the budget is spent or the session ends.
            RunFileError: it could not be recorded, or read again.
        """
        if self._kept is not None and job.key in self._finished:
            return self._kept.read(job.key)
        return self._ahead.transcript(job)

    def is_known(self, job: Job) -> bool:
        """Whether ``job`` is finished or will be held, whatever becomes of its test."""
        return job.key in self._finished or self._ahead.is_planned(job)

    def is_in_run_file(self, job: Job) -> bool:
        """Whether the run file itself holds the transcript of ``job`` already, so that it must not be written again."""
        kept = self._kept
        return kept is not None and job.key in self._finished and kept.entries[job.key].receipt.path == kept.path

    def record(self, case: Case, transcript: Transcript) -> None:
        """Records a dialogue that was not held here."""
        self._record(case, transcript)

    def shortfall(self, transcript: Transcript) -> str | None:
        """One sentence when the headline score is below ``--llmkg-min-score``, else None."""
        wanted, info = self.suite.settings.min_score, self._info(transcript)
        score = headline(transcript, info)
        if wanted is None or (score is not None and score >= wanted):
            return None
        return f"{info.headline} is {score}, wanted at least {wanted:g} (--llmkg-min-score)"

    def properties(self, transcript: Transcript) -> list[tuple[str, object]]:
        """The user properties of a test; plain scalars. What is unknown, e.g. a price, is left out."""
        costs = [turn.answer.usage.cost for turn in transcript.turns]
        values: dict[str, Json] = {
            "model": transcript.model,
            "task": transcript.label,
            "case": transcript.case,
            "iteration": transcript.iteration,
            "outcome": transcript.outcome,
            "turns": len(transcript.turns),
            "seconds": transcript.seconds,
        }
        if costs and None not in costs:
            values["cost"] = sum(cost for cost in costs if cost is not None)
        if transcript.turns:
            values |= dialogue_scores(transcript, self._info(transcript))
        return [(f"llmkg.{name}", to_plain(value)) for name, value in values.items()]

    def stop(self, why: str) -> None:
        """Begins no dialogue any more; what is being held may end within some seconds, and is recorded."""
        self._ahead.stop(why, _STOP_SECONDS if self._grace else 0.0)
        self._grace = False  # what did not end in its time gets no second one

    def close(self) -> None:
        """Closes connectors and graph engines; a connector that cannot be closed must not keep the others open."""
        self.stop("the session is over")
        for name, connector in self._connectors.items():
            try:
                self._loop.run(_closed(connector))
            except Exception as error:  # noqa: BLE001  (recorded; no result depends on it any more)
                _LOG.warning("model %r could not be closed: %s: %s", name, type(error).__name__, error)
        self._connectors.clear()
        self._ahead.close()
        self._kg.close()
        self._scorers.shutdown(wait=False, cancel_futures=True)

    async def _hold(self, job: Job) -> Transcript:
        settings, case = self.suite.settings, job.case
        try:
            connector = self._connector(job.model)
        except Exception as error:  # noqa: BLE001  (somebody else's factory: recorded as an error of the dialogue)
            text = f"the connector of {job.model.id} cannot be made: {type(error).__name__}: {error}"
            return error_transcript(case, job.model.id, job.iteration, text)
        dialogue = Dialogue(
            case,
            self.suite.tasks.get(case.task),
            job.model.id,
            connector,
            job.iteration,
            settings.timeout,
            settings.max_turns,
            settings.dialogue_timeout,
        )
        return await hold_dialogue(dialogue, self._kg, self._scorers)

    async def _bid(self, job: Job) -> Bid:
        """The size of the first prompt, which is made once for each case to learn it, and the most turns."""
        case, task, most = job.case, self.suite.tasks.get(job.case.task), self.suite.settings.max_turns
        turns = task.info.max_turns if most is None else min(task.info.max_turns, most)
        name = (case.label, case.id)
        if name not in self._sizes:
            work = partial(_prompt_size, task, case, self._kg)
            self._sizes[name] = await asyncio.get_running_loop().run_in_executor(self._scorers, work)
        return Bid(self._sizes[name], max(1, turns))

    def _written(self, job: Job, transcript: Transcript) -> tuple[Transcript, Callable[[], Transcript]]:
        storable = _storable(transcript)
        return storable, self._record(job.case, storable)

    def _width(self, model: ModelSpec) -> int:
        """Dialogues of ``model`` that this process holds at once."""
        caller = self.suite.wrapped.get(model.id, model)
        limits = (self.suite.settings.concurrency, model.max_concurrency)
        return min(limit for limit in (*limits, self._factory(caller).at_once) if limit is not None)

    def _info(self, transcript: Transcript) -> TaskInfo:
        return self.suite.tasks.get(transcript.task).info

    def _factory(self, model: ModelSpec) -> ConnectorFactory:
        return self.suite.connectors.get(model.connector)

    def _connector(self, model: ModelSpec) -> Connector:
        if model.id not in self._connectors:
            self._connectors[model.id] = self._made_connector(model)
        return self._connectors[model.id]

    def _made_connector(self, model: ModelSpec) -> Connector:
        factory = self._factory(model)
        if factory.wrap is not None:  # every call is made, limited and repeated by the one inside
            inner = self._made_connector(self.suite.wrapped[model.id])
            return self._workshop.watched(factory.wrap(model, self._workshop.bench(inner)))
        return PatientConnector(
            replace(model, api_base=factory.address(model)),
            factory.make(model),
            self._desk,
            Patience(self.suite.settings.retries),
            None if factory.is_free else self._cache,
            self.problems.append,
        )


def _prompt_size(task: Task, case: Case, kg: SandboxPool) -> int:
    """Characters of the first prompt; 1 when it cannot be made, which the dialogue itself will tell."""
    try:
        return max(1, sum(len(message.text) for message in task.prompt(case, kg).messages))
    except Exception as error:  # noqa: BLE001  (a faulty task of somebody else: the dialogue records it)
        _LOG.debug("the prompt of %s/%s cannot be made: %s", case.label, case.id, error)
        return 1


def _storable(transcript: Transcript) -> Transcript:
    """``transcript`` in exact plain types; an error from its first turn on that is none, whose answer is kept."""
    try:
        return from_plain(Transcript, to_plain(transcript))
    except RecordError as problem:
        trouble = str(problem)
    turns = tuple(takewhile(lambda turn: _why_not_storable(turn) is None, transcript.turns))
    answers = [turn.answer for turn in transcript.turns[len(turns) :]]
    answer = answers[0] if answers else transcript.unevaluated
    if answer is not None and _why_not_storable(answer):
        answer = Answer(answer.text)
    error = f"the dialogue's task or connector gave what no run file can hold: {trouble}"
    return replace(transcript, turns=turns, unevaluated=answer, error=error)


def _why_not_storable(record: Transcript | Turn | Answer) -> str | None:
    try:
        from_plain(type(record), to_plain(record))
    except RecordError as error:
        return str(error)
    return None


async def _closed(connector: Connector) -> None:
    """Closes ``connector``; one that swallows its cancellation, too, is given up after a while."""
    closing = asyncio.ensure_future(connector.close())
    if not (await asyncio.wait((closing,), timeout=_CLOSE_SECONDS))[0]:
        closing.cancel()
        raise TimeoutError(f"it did not end within {_CLOSE_SECONDS:g} s")
    closing.result()


def error_transcript(case: Case, model: str, iteration: int, error: str) -> Transcript:
    """The transcript of a dialogue that never began or was lost with its process."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Transcript(case.id, case.label, case.task, model, iteration, (), now, 0.0, " ".join(error.split()))
