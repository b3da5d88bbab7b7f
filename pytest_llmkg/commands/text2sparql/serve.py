"""``llmkg text2sparql serve``: a model as an endpoint of the TEXT2SPARQL challenge, on the loopback interface."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.cases.question_sets import load_question_set
from pytest_llmkg.commands import Command
from pytest_llmkg.commands.text2sparql.answering import Subject, Terms, open_respondent
from pytest_llmkg.commands.text2sparql.ask import add_asking_options
from pytest_llmkg.commands.text2sparql.executing import add_graph_option, graphs_named
from pytest_llmkg.commands.text2sparql.serving import Service, start_server
from pytest_llmkg.connectors.copy_nearest import without_question
from pytest_llmkg.endpoints import ENDPOINT_FORMAT
from pytest_llmkg.errors import UserError
from pytest_llmkg.pipelines.examples import load_examples
from pytest_llmkg.scheduling.loop_thread import LoopThread

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pytest_llmkg.contracts import AskRequest, Example

__all__ = ["VERB"]


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="as in --models")
    add(
        "--dataset",
        metavar="NAME=IRI",
        action="append",
        default=[],
        help="dataset that is answered for, by the name of its graph; repeatable",
    )
    add("--questions", type=Path, metavar="FILE", help="question file: tells a dataset's IRI and prefixes, no more")
    add("--examples", type=Path, metavar="FILE", help="question file that rag and copy-nearest may look at")
    add("--host", default="127.0.0.1", help="loopback address to listen at (default: 127.0.0.1)")
    add("--port", type=int, default=8000, help="0 for any free one (default: 8000)")
    add("--cache", type=Path, metavar="DIR", help="keep answers here, so that none is paid for twice")
    add_asking_options(parser)
    add_graph_option(parser)


def _run(options: argparse.Namespace) -> int:
    if not _is_loopback(options.host):
        raise UserError(f"--host {options.host}: only loopback addresses, since the server asks nobody for a key")
    if not 0 <= options.port < 2**16:
        raise UserError(f"--port {options.port}: a port is a number from 0 to {2**16 - 1}")
    subjects = _subjects(options)
    pool = () if options.examples is None else load_examples([options.examples])

    def examples(request: AskRequest) -> tuple[Example, ...]:
        return without_question(pool, request.question.text) if request.question is not None else pool

    terms = Terms(options.timeout, options.retries, options.concurrency, options.cache, examples)
    loop = LoopThread()  # a callable that hangs must not keep the process from ending
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        loop.run(_serve(options, subjects, terms))
    except KeyboardInterrupt:
        print("llmkg: stopped", file=sys.stderr)
    finally:
        loop.close()
        signal.signal(signal.SIGTERM, before)
    return 0


async def _serve(options: argparse.Namespace, subjects: Sequence[Subject], terms: Terms) -> None:
    by_name = {subject.name: subject for subject in subjects}
    async with open_respondent(options.model, by_name, terms) as respondent:
        for subject in subjects:
            if subject.graph is not None and subject.graph.format != ENDPOINT_FORMAT:  # which may start later
                await respondent.check(subject)
        service = Service(respondent, {subject.dataset or subject.name: subject for subject in subjects}, terms)
        async with start_server(service, options.host, options.port) as url:
            print(f"serving {respondent.model} at {url} for {', '.join(service.subjects)}", flush=True)
            await asyncio.Event().wait()


def _subjects(options: argparse.Namespace) -> tuple[Subject, ...]:
    """What is served: each ``--dataset``, the set of ``--questions``, and graphs without a dataset by their names."""
    graphs = {name: file.graph for name, file in graphs_named(options.kg).items()}
    found: dict[str, Subject] = {name: Subject(name, None, {}, graph) for name, graph in graphs.items()}
    if options.questions is not None:
        questions = load_question_set(options.questions, check_queries=False)
        found[questions.name] = Subject(
            questions.name, questions.dataset, questions.prefixes, graphs.get(questions.name)
        )
    for text in options.dataset:
        name, sign, iri = text.partition("=")
        if not name or not sign or ":" not in iri:
            raise UserError(f"--dataset takes NAME=IRI, found {text!r}")
        known = found.get(name, Subject(name))
        found[name] = Subject(name, iri, known.prefixes, known.graph)
    if not found:
        raise UserError("name what is served: --dataset NAME=IRI, --questions FILE or --kg NAME=FILE")
    return tuple(found.values())


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


VERB = Command(
    name="serve",
    summary="Serves a model as an endpoint of the challenge on the loopback interface.",
    example="llmkg text2sparql serve rag:gpt-4o --questions questions.yml --kg ck25=prod-inst.ttl --port 8000",
    arguments=_arguments,
    run=_run,
)
