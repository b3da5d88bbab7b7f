"""``llmkg text2sparql ask``: asks a system the questions of a file and writes the challenge's answer file."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.cases.graph_files import named_graph
from pytest_llmkg.cases.question_sets import load_question_set
from pytest_llmkg.cases.question_sets.model import slug
from pytest_llmkg.cases.question_sets.to_cases import KGQA_TASK, question_cases
from pytest_llmkg.commands import Command
from pytest_llmkg.commands.text2sparql.answering import Subject, Terms, language_list, open_respondent
from pytest_llmkg.commands.text2sparql.executing import add_graph_option, graph_for
from pytest_llmkg.commands.text2sparql.files import check_new, write_new
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.errors import ConnectorError, EndpointError, UserError
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.plain import to_plain
from pytest_llmkg.reporting.formats import plural
from pytest_llmkg.scheduling.loop_thread import LoopThread
from pytest_llmkg.tasks.kgqa_scoring import find_any_query
from pytest_llmkg.workshop import Workshop

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_llmkg.cases.question_sets import QuestionSet
    from pytest_llmkg.commands.text2sparql.answering import Respondent
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Answer

__all__ = ["VERB", "add_asking_options", "measured"]

_SEED = 42  # of the parts of the set that examples come from


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question in one language; ``case`` is the id of its case."""

    text: str
    language: str
    identifier: str
    qname: str


def add_asking_options(parser: argparse.ArgumentParser) -> None:
    """Adds what all verbs take that ask a model."""
    add = parser.add_argument
    add("--timeout", type=_seconds, default=180.0, metavar="S", help="seconds for one call (default: 180)")
    add("--retries", type=_whole(0), default=5, metavar="N", help="repeated calls after one that failed (default: 5)")
    add("--concurrency", type=_whole(1), default=4, metavar="N", help="questions at once (default: 4)")


def _whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least}")
        return int(text)

    return parse


def _seconds(text: str) -> float:
    if not re.fullmatch(r"\d{1,9}(\.\d+)?", text, re.ASCII) or float(text) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return float(text)


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("questions", metavar="QUESTIONS", type=Path, help="question file, or folder of SHACL examples")
    add("model", metavar="MODEL", help="as in --models: http:URL, rag:gpt-4o, python:module:callable, ...")
    add("-o", "--output", default="-", help="answer file to write; never overwrites (default: standard output)")
    add("-l", "--languages", type=language_list, default=(), help="only these, e.g. en,de (default: all)")
    add("--cache", type=Path, metavar="DIR", help="keep answers here, so that a second run pays for missing ones only")
    add_asking_options(parser)
    add_graph_option(parser)


def _run(options: argparse.Namespace) -> int:
    check_new(options.output)
    questions = load_question_set(options.questions, check_queries=False)
    loop = LoopThread()  # a callable that hangs must not keep the process from ending
    try:
        found = loop.run(_ask_all(questions, options))
    finally:
        loop.close()
    answers = [entry for entry in found if isinstance(entry, dict)]
    write_new(options.output, to_plain(answers))
    failed = len(found) - len(answers)
    if options.output != "-":
        print(f"wrote {plural(len(answers), 'answer')} to {options.output}")
    if failed:
        print(f"llmkg: {failed} of {len(found)} questions got no answer and are not in the file", file=sys.stderr)
    return 1 if failed else 0


async def _ask_all(questions: QuestionSet, options: argparse.Namespace) -> list[dict[str, Json] | None]:
    """The answers in the order of the file; None where there is none."""
    graph = graph_for(questions, options.kg) if options.kg else None
    # Parts of the set are told by its questions alone, so that they are the same without the graph.
    cases = question_cases(questions, {questions.name: graph or named_graph(questions.name, GraphText("", "turtle"))})
    prefixes = cases[0].mapping("prefixes")
    subject = Subject(questions.name, questions.dataset, prefixes, None if graph is None else graph.graph)
    workshop = Workshop(cases, {}, Sandbox(), _SEED)
    terms = Terms(options.timeout, options.retries, options.concurrency, options.cache, workshop.examples)
    gate = asyncio.Semaphore(terms.concurrency)
    chosen = _chosen(questions, options.languages)
    async with open_respondent(options.model, {subject.name: subject}, terms) as respondent:
        await respondent.check(subject)

        async def ask(asked: _Asked) -> dict[str, Json] | None:
            async with gate:
                return await _ask_one(respondent, subject, asked)

        return list(await asyncio.gather(*map(ask, chosen)))


async def _ask_one(respondent: Respondent, subject: Subject, asked: _Asked) -> dict[str, Json] | None:
    key = f"{KGQA_TASK}-{subject.name}-{asked.language}/{slug(asked.identifier)}"
    try:
        answer = await respondent.answer(subject, asked.text, asked.language, key)
    except (ConnectorError, EndpointError) as error:
        print(f"llmkg: {asked.qname}: {error}", file=sys.stderr)
        return None
    dataset = subject.dataset or ""
    return {
        "dataset": dataset,
        "question": asked.text,
        "query": find_any_query(answer.text) or "",
        "endpoint": respondent.model,
        "qname": asked.qname,
        "uri": f"{dataset}{asked.identifier}-{asked.language}",
        **measured(answer),
    }


def measured(answer: Answer) -> dict[str, Json]:
    """What the answer took: ``seconds``, ``usage`` and ``stages``, as far as known; the challenge ignores them."""
    found: dict[str, Json] = {}
    if not answer.notes.get("untimed"):
        found["seconds"] = round(answer.seconds, 6)
    usage = to_plain(answer.usage)
    if isinstance(usage, dict) and any(value is not None for value in usage.values()):
        found["usage"] = usage
    return {**found, "stages": to_plain(answer.stages)} if answer.stages else found


def _chosen(questions: QuestionSet, languages: tuple[str, ...]) -> list[_Asked]:
    unknown = [code for code in languages if code not in questions.languages]
    if unknown:
        raise UserError(f"{questions.path}: has no question in {unknown[0]!r}; it has {', '.join(questions.languages)}")
    return [
        _Asked(text, language, question.id, questions.qname(question, language))
        for question in questions.questions
        for language, text in question.texts.items()
        if not languages or language in languages
    ]


VERB = Command(
    name="ask",
    summary="Asks a system the questions of a file and writes its answer file.",
    example="llmkg text2sparql ask questions.yml http:http://localhost:8000/ -o answers.json",
    arguments=_arguments,
    run=_run,
)
