"""Every error that this package raises on purpose.

LlmkgError
├── UserError                 the user can mend it; pytest exit status 4, command line exit status 2
│   ├── UnknownNameError      an unknown task, model, format ...: "unknown model 'gpt-4oo', did you mean 'gpt-4o'?"
│   ├── CaseFileError         a case file is broken: names file, entry and field
│   ├── ModelFileError        a model table is broken: names file, alias and setting
│   └── RunFileError          a run file or result file cannot be read: names file and line
├── RecordError               plain data does not describe a record: names the place
├── ConnectorError            a model gave no answer: endpoint down, refused, timed out ...
└── EngineError               the graph engine itself failed (not: the text that it was given)
    └── EndpointError         a SPARQL endpoint gave no result that could be scored: down, slow, HTML ...
"""

from collections.abc import Mapping

__all__ = [
    "CaseFileError",
    "ConnectorError",
    "EndpointError",
    "EngineError",
    "LlmkgError",
    "ModelFileError",
    "RecordError",
    "RunFileError",
    "UnknownNameError",
    "UserError",
]


class LlmkgError(Exception):
    """Root of all errors of this package; its text is one sentence that a user can act on."""


class UserError(LlmkgError):
    """Something that the user gave is wrong: a name, a file, an option."""


class UnknownNameError(UserError):
    """A name that no registry holds."""


class CaseFileError(UserError):
    """A case file that cannot be read or does not fit its task."""


class ModelFileError(UserError):
    """A model table that cannot be read or holds an unknown setting."""


class RunFileError(UserError):
    """A run file or a result file of another program that cannot be read."""


class RecordError(LlmkgError):
    """Plain data that does not describe the record it should."""


class ConnectorError(LlmkgError):
    """A model that gave no answer; the dialogue ends as an error, never as a score of 0.

    Attributes:
        status: HTTP status of the refusal, None when there is none.
        retryable: whether the same call may succeed a little later (a full or restarting server, a lost connection).
        retry_after: seconds that the endpoint asked to wait, None when it did not.
        overloaded: whether the endpoint complained of too many calls, so that fewer should be made at once.
        usage: what the call used all the same, as far as known: fields of `pytest_llmkg.records.Usage`.
    """

    def __init__(
        self,
        text: str = "",
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        overloaded: bool = False,
        usage: Mapping[str, int | float] | None = None,
    ) -> None:
        super().__init__(text)
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.overloaded = overloaded
        self.usage = dict(usage or {})


class EngineError(LlmkgError):
    """The graph engine died or broke its contract; never raised for what a text says."""


class EndpointError(EngineError):
    """A SPARQL endpoint that gave no result; never raised for what a query itself does wrong.

    Attributes:
        kind: what was wrong, one of `pytest_llmkg.endpoints.FAULTS`.
        status: HTTP status of the response, None when there was none.
        retryable: whether the same request may succeed a little later.
        retry_after: seconds that the endpoint asked to wait, None when it did not.
    """

    def __init__(
        self,
        text: str = "",
        *,
        kind: str = "unreachable",
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(text)
        self.kind = kind
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
