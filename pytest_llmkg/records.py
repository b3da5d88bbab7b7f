"""The words of this package as frozen records.

Everything that is stored, sent between processes or shown is made of these; `pytest_llmkg.plain` turns each into
plain JSON types and back. A record holds facts, never behaviour that depends on anything outside it.
"""

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
    "Feedback",
    "Message",
    "ModelSpec",
    "Number",
    "Outcome",
    "Prompt",
    "RunHeader",
    "ScoreSet",
    "TaskInfo",
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
class Prompt:
    """The messages that one turn adds to the dialogue, in order."""

    messages: tuple[Message, ...]

    @classmethod
    def user(cls, text: str) -> Prompt:
        """The prompt that consists of one user message."""
        return cls((Message("user", text),))


@dataclass(frozen=True, slots=True)
class Usage:
    """What one answer used: tokens in and out, and its price in US dollars. None means unknown, not zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a connector brought back for one turn.

    Attributes:
        text: the answer, never stripped.
        stop_reason: why the model stopped, in its endpoint's words (``stop``, ``length``, ...).
        usage: tokens and price.
        seconds: wall time of the call.
        served_model: the model name that the endpoint reported, which may be more exact than the one asked for.
    """

    text: str
    stop_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    served_model: str | None = None


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

    @property
    def outcome(self) -> str:
        """Outcome of the last turn, or ``error``."""
        if self.error is not None or not self.turns:
            return "error"
        return self.turns[-1].evaluation.outcome


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """What a report must know of a task, so that a stored run can be shown without the task's code.

    Attributes:
        name: task class, e.g. ``RdfSyntaxFixList``.
        version: version of prompt and rules of this project's task.
        family: ``RDF``, ``SPARQL`` or ``KG construction``.
        summary: one sentence on what the task measures.
        headline: the score that stands for a dialogue, e.g. ``max_combined``; by published name.
        max_turns: the most answers that one dialogue asks for.
        aggregated: the turn scores that ``mean``, ``max`` and ``meanExt`` are formed of; empty for one-turn tasks.
        bloom, knowledge, complexity, aspects: cognitive processes, knowledge dimensions, relational complexity and
            SPARQL aspects, as the article on LLM-KG-Bench 3 characterises the task (sections 3.4 to 3.6).
    """

    name: str
    version: str
    family: str
    summary: str
    headline: str
    max_turns: int = 1
    aggregated: tuple[str, ...] = ()
    bloom: tuple[str, ...] = ()
    knowledge: tuple[str, ...] = ()
    complexity: str | None = None
    aspects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """How to reach a model, with which settings; never holds a key.

    Attributes:
        id, model: name in ``--models``; what the connector gets after its scheme, e.g. a litellm id or a file.
        connector: scheme of the connector, e.g. ``litellm``.
        api_base: address of the endpoint, None for the provider's own.
        temperature, max_tokens, top_p, seed: sampling, None for the endpoint's default.
        extra: further parameters, passed on as they are.
        max_concurrency, rpm: dialogues at once and requests a minute that the endpoint takes.
        price_in, price_out: US dollars per million tokens, None when unknown.
        context, family, parameters: tokens, e.g. ``Qwen``, and e.g. ``7B``, as published.
    """

    id: str
    model: str
    connector: str
    api_base: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    seed: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    max_concurrency: int | None = None
    rpm: int | None = None
    price_in: float | None = None
    price_out: float | None = None
    context: int | None = None
    family: str | None = None
    parameters: str | None = None


@dataclass(frozen=True, slots=True)
class RunHeader:
    """First line of a run file: what was run, with what, when.

    Attributes:
        schema: number of the run file's layout.
        run, started: name of the run and its start (UTC, ISO 8601).
        versions: program, Python and engine versions by name.
        models: the models under test, in the order of ``--models``.
        tasks: the tasks that the run could hold.
        seed, iterations: seed of generated cases, and how often each case was asked.
        settings: further options that change what is measured, e.g. the turn limit.
    """

    schema: int
    run: str
    started: str
    versions: Mapping[str, str]
    models: tuple[ModelSpec, ...]
    tasks: tuple[TaskInfo, ...]
    seed: int
    iterations: int
    settings: Mapping[str, Json] = field(default_factory=dict)
