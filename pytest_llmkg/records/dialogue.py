"""Records of one dialogue, from its case to its transcript."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from pytest_llmkg.errors import RecordError
from pytest_llmkg.plain import Json

__all__ = [
    "Answer",
    "Case",
    "Evaluation",
    "FailedCall",
    "Feedback",
    "Message",
    "Number",
    "Outcome",
    "Prompt",
    "Question",
    "ScoreSet",
    "Transcript",
    "Turn",
    "Usage",
]

Number = int | float
Role = Literal["system", "user", "assistant"]
Outcome = Literal["scored", "unparsable", "no_answer"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a dialogue."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """What a prompt asks of a knowledge graph, for systems that take a question and write their own prompt.

    Attributes:
        text: the question itself, in one natural language.
        kg: the graph's name in the run, e.g. ``ck25``.
        language: ISO 639-1 code, None when unknown.
        dataset: IRI by which systems know the graph (TEXT2SPARQL's ``dataset``), None when it has none.
        prefixes: prefix to namespace, as the prompt names them; queries may use them without declaring them.
    """

    text: str
    kg: str
    language: str | None = None
    dataset: str | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages that one turn adds to the dialogue, in order, and the question that they put into words."""

    messages: tuple[Message, ...]
    question: Question | None = None

    @classmethod
    def user(cls, text: str, question: Question | None = None) -> Prompt:
        """The prompt that consists of one user message."""
        return cls((Message("user", text),), question)


@dataclass(frozen=True, slots=True)
class Usage:
    """What one call used: tokens, and its price in US dollars. None means unknown, not zero.

    ``cached_tokens`` are part of ``input_tokens`` (the endpoint had seen them before), ``reasoning_tokens`` part of
    ``output_tokens`` (the model thought them).
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call to a model that brought no answer, which may have cost something all the same.

    Attributes:
        error: one sentence that names the endpoint and the cause.
        status: HTTP status, None when the endpoint did not get that far.
        usage: tokens and price, as far as the endpoint told them.
        seconds: wall time of the call.
    """

    error: str
    status: int | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a connector brought back for one turn.

    Attributes:
        text: the answer, never stripped, without the thinking before it.
        stop_reason: why the model stopped, in its endpoint's words (``stop``, ``length``, ``content_filter``, ...);
            ``context_length`` when the endpoint refused the dialogue as too long.
        usage: tokens and price.
        seconds: wall time of the call.
        served_model: the model name that the endpoint reported, which may be more exact than the one asked for.
        reasoning: what the model thought before it answered; no part of the dialogue, never scored.
        dropped: names of settings that the endpoint refused, so that the call went without them.
        failed_calls: the calls before this one that brought no answer, in order.
        from_cache: True when the answer was paid for by an earlier run; ``usage`` is what it cost then.
        stages: wall seconds by stage, told by systems that do more than call a model: ``retrieve``, ``model``,
            ``validate``, ``execute``, whose sum is about ``seconds``; beside it ``prepare``, spent once for many
            questions, and ``wait`` for leave to call. Empty for a bare model.
        notes: what such a system tells of its work, e.g. the examples that it looked up; never scored.
    """

    text: str
    stop_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    served_model: str | None = None
    reasoning: str | None = None
    dropped: tuple[str, ...] = ()
    failed_calls: tuple[FailedCall, ...] = ()
    from_cache: bool = False
    stages: Mapping[str, float] = field(default_factory=dict)
    notes: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoreSet:
    """Scores by name with the signature of the rules and engines that made them.

    ``notes`` name what made scores of corrected rules differ from the published ones, e.g. ``fences``.
    """

    signature: str
    values: Mapping[str, Number]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The verdict on one answer.

    Attributes:
        outcome: ``scored``; ``unparsable`` when the answer holds nothing that can be read as asked for (it has the low
            score that the task's rule gives it); ``no_answer`` when the answer is empty.
        score_sets: one for each set of rules, the published rules first.
        info: observations that are no scores (error messages, counts), by their published names.
    """

    outcome: Outcome
    score_sets: tuple[ScoreSet, ...]
    info: Mapping[str, Json] = field(default_factory=dict)

    def scores(self) -> dict[str, Number]:
        """All scores by name; the names of different rules differ by their suffix, e.g. ``@2``."""
        return {name: value for scores in self.score_sets for name, value in scores.values.items()}


@dataclass(frozen=True, slots=True)
class Feedback:
    """A correction hint: its kind (``syntax``, ``empty``, ...) and the text to send as the next user message."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One prompt with its answer and evaluation; ``feedback`` is the kind of hint that followed, None at the end."""

    prompt: Prompt
    answer: Answer
    evaluation: Evaluation
    feedback: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to ask, with what is needed to score the answer.

    Attributes:
        id: unique inside its label; lower-case letters, digits and hyphens.
        task: name of the task that knows how to ask and score it, e.g. ``Text2SparqlList``.
        label: the task variant as published, e.g. ``Text2SparqlExecEvalListOrganizational``.
        data: the task's own fields, checked when the case file was read.
        sealed: whether any of it came from an encrypted file, so that reports may hide it and run files encrypt it.
    """

    id: str
    task: str
    label: str
    data: Mapping[str, Json] = field(repr=False)
    sealed: bool = False

    def text(self, name: str) -> str:
        """The field ``name``, which must be a string."""
        value = self.data.get(name)
        return value if isinstance(value, str) else self._wrong(name, "a text")

    def integer(self, name: str) -> int:
        """The field ``name``, which must be a whole number."""
        value = self.data.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else self._wrong(name, "a whole number")

    def texts(self, name: str) -> tuple[str, ...]:
        """The field ``name``, which must be a list of strings."""
        value = self.data.get(name)
        found = [v for v in value if isinstance(v, str)] if isinstance(value, list) else []
        return tuple(found) if found == value else self._wrong(name, "a list of texts")

    def mapping(self, name: str) -> dict[str, str]:
        """The field ``name``, which must be a table of strings."""
        value = self.data.get(name)
        found = {k: v for k, v in value.items() if isinstance(v, str)} if isinstance(value, dict) else {}
        return found if found == value else self._wrong(name, "a table of texts")

    def _wrong(self, name: str, wanted: str) -> NoReturn:
        found = repr(self.data.get(name))[:60]
        raise RecordError(f"case {self.label}/{self.id}: field {name!r} must be {wanted}, found {found}")


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole dialogue of one model on one case, with the evaluation of every turn.

    Attributes:
        case, label, task: id of the case, its task variant and the name of its task.
        model: model id as given to ``--models``.
        iteration: 1 for the first time that the case is asked, 2 for the second ...
        turns: the finished turns; also those before an error, since their answers were paid for.
        started: UTC, ISO 8601 with seconds.
        seconds: wall time of the whole dialogue.
        error: one sentence when the dialogue broke off, else None.
        unevaluated: the answer that came but could not be evaluated, so that no paid answer is lost.
        failed_calls: the calls of the turn that got no answer at all; those of the other turns stand at their answers.
    """

    case: str
    label: str
    task: str
    model: str
    iteration: int
    turns: tuple[Turn, ...]
    started: str
    seconds: float
    error: str | None = None
    unevaluated: Answer | None = None
    failed_calls: tuple[FailedCall, ...] = ()

    @property
    def outcome(self) -> str:
        """Outcome of the last turn, or ``error``."""
        if self.error is not None or not self.turns:
            return "error"
        return self.turns[-1].evaluation.outcome
