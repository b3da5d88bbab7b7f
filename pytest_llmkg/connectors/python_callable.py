"""``python:module:callable`` is a system in this process: any Python callable.

What it takes is told by its signature. Two positional parameters without a default mean a system for questions on
graphs, called as ``callable(question, dataset)`` (two texts; ``dataset`` is the IRI of the question set, or the graph's
name where it has none). One means a model for every task, called as ``callable(messages)`` with the whole dialogue as
dictionaries with ``role`` and ``content``. Both return a text or an `Answer` and may be ``async``; a plain function is
run in a thread, so it must bear several calls at once unless ``max_concurrency = 1`` is set for the model.
The text of a system for questions is a query, fenced or not. Seconds are taken here unless an `Answer` tells them;
tokens and price are unknown unless it does. The dots of ``callable`` may lead into classes and objects of the module.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_llmkg.connectors.asked_questions import as_block, asked_question, said_before
from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import ConnectorError, LlmkgError, RecordError, UserError
from pytest_llmkg.plain import clean_text, from_plain, to_plain
from pytest_llmkg.records import Answer, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_llmkg.contracts import AskRequest
    from pytest_llmkg.records import ModelSpec

__all__ = ["CONNECTOR", "CallableConnector", "load_callable"]

_LONGEST_REASON = 2_000
_FORMS = "it must take (question, dataset) or (messages)"


def load_callable(spec: ModelSpec) -> Callable[..., Any]:
    """The callable that ``spec`` names; imports its module.

    Raises:
        UserError: the module cannot be imported, or holds no such callable.
    """
    module_name, _, path = spec.model.partition(":")
    if not module_name or not path:
        raise UserError(f"model {spec.id!r}: write python:module:callable, e.g. python:my_package.system:answer")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        hint = "; put its folder on PYTHONPATH" if error.name == module_name.partition(".")[0] else ""
        raise UserError(f"model {spec.id!r}: {error}{hint}") from error
    except (Exception, SystemExit) as error:
        raise UserError(
            f"model {spec.id!r}: importing {module_name} failed: {type(error).__name__}: {error}"
        ) from error
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError as error:
            raise UserError(f"model {spec.id!r}: {error}") from error
    if not callable(found):
        raise UserError(f"model {spec.id!r}: {path} of {module_name} is a {type(found).__name__}, which is no callable")
    _takes_questions(found, spec)
    function: Callable[..., Any] = found
    return function


def _takes_questions(function: Callable[..., Any], spec: ModelSpec) -> bool:
    """Whether ``function`` takes question and dataset; False for messages.

    Raises:
        UserError: it takes neither.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise UserError(f"model {spec.id!r}: its callable has no signature; {_FORMS}") from error
    needed = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if len(needed) not in (1, 2) or any(p.kind is p.KEYWORD_ONLY for p in needed):
        names = ", ".join(p.name for p in needed)
        raise UserError(f"model {spec.id!r}: its callable takes ({names}); {_FORMS}")
    return len(needed) == 2


class CallableConnector:
    """Calls the callable, which is imported at the first question if the check did not do it."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._tells_usage = False

    async def ask(self, request: AskRequest) -> Answer:
        """What the callable returns; a system for questions gives the same answer again to a hint on it.

        Raises:
            ConnectorError: the callable raised, took too long or returned something else; it cannot be imported; or
                the task asks no question and the callable takes nothing else.
        """
        try:
            function = await asyncio.to_thread(load_callable, self._spec)
        except UserError as error:
            raise ConnectorError(str(error)) from error
        takes_questions = _takes_questions(function, self._spec)
        arguments: tuple[Any, ...]
        if takes_questions:
            question = asked_question(request, self._spec.id)
            before = said_before(request, tells_usage=self._tells_usage)
            if before is not None:
                return before
            arguments = (question.text, question.dataset or question.kg)
        else:
            arguments = ([{"role": message.role, "content": message.text} for message in request.messages],)
        started = time.perf_counter()
        returned = await self._call(function, arguments, request.timeout)
        answer = self._answer(returned, takes_questions=takes_questions)
        return answer if answer.seconds else replace(answer, seconds=time.perf_counter() - started)

    async def close(self) -> None:
        """Nothing to free."""

    async def _call(self, function: Callable[..., Any], arguments: tuple[Any, ...], timeout_s: float) -> object:
        try:
            async with asyncio.timeout(timeout_s) as limit:
                if _is_async(function):
                    return await function(*arguments)
                # A thread cannot be stopped; when the time is over, nobody waits for it any more.
                returned = await asyncio.to_thread(_called, function, arguments)
                return await returned if inspect.isawaitable(returned) else returned
        except LlmkgError:
            raise
        except TimeoutError as error:
            if not limit.expired():
                raise ConnectorError(f"{self._spec.id}: TimeoutError: {error}") from error
            raise ConnectorError(f"{self._spec.id}: no answer within {timeout_s:g} s", retryable=True) from error
        except Exception as error:
            raise ConnectorError(f"{self._spec.id}: {_words(error)}") from error

    def _answer(self, returned: object, *, takes_questions: bool) -> Answer:
        if isinstance(returned, str):
            text = clean_text(returned)
            return Answer(as_block(text) if takes_questions else text, "stop")
        if isinstance(returned, Answer):
            try:
                answer = from_plain(Answer, to_plain(returned))
            except RecordError as error:
                raise ConnectorError(
                    f"{self._spec.id}: the callable returned an Answer that is none: {error}"
                ) from error
            self._tells_usage = self._tells_usage or answer.usage != Usage()
            return replace(answer, text=as_block(answer.text)) if takes_questions else answer
        raise ConnectorError(
            f"{self._spec.id}: the callable returned a {type(returned).__name__}; a text or an Answer is needed"
        )


def _called(function: Callable[..., Any], arguments: tuple[Any, ...]) -> object:
    try:
        return function(*arguments)
    except StopIteration as error:  # e.g. of a bare next(); it never comes out of a thread, so who waits would wait on
        raise RuntimeError("StopIteration") from error


def _words(error: Exception) -> str:
    """An exception of somebody else's code in a few words, whatever its own text does."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  (its name is recorded all the same)
        text = "(its text cannot be had)"
    return f"{type(error).__name__}: {text[:_LONGEST_REASON]}"


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  (an object whose call is async)
    )


def _check(spec: ModelSpec) -> None:
    load_callable(spec)


CONNECTOR = ConnectorFactory(
    scheme="python",
    summary="A Python callable in this process (python:module:callable) for questions on graphs or for messages.",
    make=CallableConnector,
    check=_check,
    only_questions=lambda spec: _takes_questions(load_callable(spec), spec),
)
