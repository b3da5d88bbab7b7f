"""The server behind ``llmkg text2sparql serve``: the challenge's API over one model, errors as JSON.

``GET /?dataset=IRI&question=TEXT`` gives ``{"dataset", "question", "query"}`` and, beside them, ``model``, ``seconds``,
``usage`` and ``timings`` as far as known. 404: unknown dataset or path; 422: a parameter is missing or too long; 502:
the model gave no answer, or the graph's endpoint no result; 503: too many questions are waiting. ``{"detail": TEXT}``
says what was wrong.
"""

from __future__ import annotations

import asyncio
import ipaddress
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pytest_llmkg.errors import ConnectorError, EndpointError, LlmkgError, UserError
from pytest_llmkg.tasks.kgqa_scoring import find_any_query

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from aiohttp import web

    from pytest_llmkg.commands.text2sparql.answering import Respondent, Subject, Terms
    from pytest_llmkg.records import Answer, Usage

__all__ = ["Service", "start_server"]

_LONGEST_QUESTION = 10_000
_MOST_WAITING = 64
_RETRY_AFTER = "5"

Reply = tuple[int, dict[str, Any]]


class Service:
    """Answers questions, so many at once, and turns more away when too many wait.

    Args:
        respondent: the model.
        subjects: what it is asked about, by dataset IRI.
        terms: how many questions at once.
    """

    def __init__(self, respondent: Respondent, subjects: Mapping[str, Subject], terms: Terms) -> None:
        self.subjects = dict(subjects)
        self._respondent = respondent
        self._gate = asyncio.Semaphore(terms.concurrency)
        self._most = terms.concurrency + _MOST_WAITING
        self._inside = 0

    async def reply(self, dataset: str | None, question: str | None) -> Reply:
        """HTTP status and JSON body for a question."""
        missing = [name for name, value in (("dataset", dataset), ("question", question)) if not (value or "").strip()]
        if dataset is None or question is None or missing:
            return 422, {"detail": f"the parameter {missing[0]!r} is missing"}
        if len(question) > _LONGEST_QUESTION:
            return 422, {"detail": f"the question has more than {_LONGEST_QUESTION} characters"}
        subject = self.subjects.get(dataset)
        if subject is None:
            return 404, {"detail": f"unknown dataset {dataset!r:.200}; known: {', '.join(self.subjects)}"}
        if self._inside >= self._most:
            return 503, {"detail": f"{_MOST_WAITING} questions are waiting already; come back later"}
        self._inside += 1
        try:
            async with self._gate:
                answer = await self._respondent.answer(subject, question)
        except (ConnectorError, EndpointError) as error:
            return 502, {"detail": str(error)}
        except LlmkgError as error:
            return 500, {"detail": str(error)}
        finally:
            self._inside -= 1
        return 200, {"dataset": dataset, "question": question, **_answered(answer)}


def _answered(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = {"query": find_any_query(answer.text) or "", "seconds": round(answer.seconds, 6)}
    if answer.served_model is not None:
        found["model"] = answer.served_model
    usage = _told(answer.usage)
    if usage:
        found["usage"] = usage
    return {**found, "timings": dict(answer.stages)} if answer.stages else found


def _told(usage: Usage) -> dict[str, int | float]:
    """The usage in OpenAI's words, which clients of the challenge's API may know; what is unknown is left out."""
    names = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens, "cost": usage.cost}
    return {name: value for name, value in names.items() if value is not None}


@asynccontextmanager
async def start_server(service: Service, host: str, port: int) -> AsyncIterator[str]:
    """Serves ``service`` until the context ends; gives the address.

    Raises:
        UserError: the port is taken.
    """
    from aiohttp import web

    async def handle(request: web.Request) -> web.Response:
        status, body = await _handled(service, request)
        headers = {"Retry-After": _RETRY_AFTER} if status == 503 else None
        return web.json_response(body, status=status, headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise UserError(f"port {port} of {host} cannot be listened at: {error.strerror or error}") from error
        address = runner.addresses[0]
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        yield f"http://{shown}:{address[1]}/"
    finally:
        await runner.cleanup()


async def _handled(service: Service, request: web.Request) -> Reply:
    # Pages in a browser on this machine reach the loopback interface, too, and each question may cost money.
    if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") or not _is_own(request.host):
        return 403, {"detail": "requests from web pages are not answered"}
    if request.path != "/":
        return 404, {"detail": f"there is only /?dataset=IRI&question=TEXT, not {request.path[:200]}"}
    if request.method != "GET":
        return 405, {"detail": "ask by GET"}
    return await service.reply(request.query.get("dataset"), request.query.get("question"))


def _is_own(host: str) -> bool:
    """Whether the header ``Host`` names this machine: a page's own host name may lead here as well."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() and not host.endswith("]") else host
    try:
        return name == "localhost" or ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
