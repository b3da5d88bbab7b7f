"""``llmkg text2sparql query``: runs the queries of an answer file, or the reference queries, and writes result sets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.cases.graph_files import graph_at
from pytest_llmkg.cases.question_sets import load_question_set
from pytest_llmkg.commands import Command
from pytest_llmkg.commands.text2sparql.answering import language_list
from pytest_llmkg.commands.text2sparql.executing import add_graph_option, graph_for, running
from pytest_llmkg.commands.text2sparql.files import AnswerFile, check_new, read_answers_or_results, write_new
from pytest_llmkg.endpoints import Endpoint
from pytest_llmkg.errors import UserError
from pytest_llmkg.metrics.challenge import flatten_result
from pytest_llmkg.plain import to_plain
from pytest_llmkg.reporting.formats import plural

if TYPE_CHECKING:
    import argparse

    from pytest_llmkg.cases.graph_files import GraphFile
    from pytest_llmkg.cases.question_sets import QuestionSet

__all__ = ["VERB"]

_ORDER_MATTERS = "RESULT_ORDER_MATTERS"


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("questions", metavar="QUESTIONS", type=Path, help="question file, or folder of SHACL examples")
    add("-a", "--answers", type=Path, metavar="FILE", help="answer file (default: the reference queries)")
    add("-e", "--endpoint", metavar="URL", help="SPARQL endpoint to run them at, as --kg NAME=URL")
    add("-o", "--output", default="-", help="result file to write; never overwrites (default: standard output)")
    add("-l", "--languages", type=language_list, default=(), help="only these, e.g. en,de (default: all)")
    add_graph_option(parser)


def _run(options: argparse.Namespace) -> int:
    check_new(options.output)
    questions = load_question_set(options.questions, check_queries=False)
    queries = _queries(questions, options.answers, options.languages)
    sets: dict[str, object] = {}
    failed = 0
    with running(questions, _graph(questions, options)) as run:
        for name, query in queries.items():
            result = run(query) if query.strip() else None
            if result is not None and result.error is not None:
                failed += 1
                print(f"llmkg: {name}: the query does not run: {' '.join(result.error.split()):.300}", file=sys.stderr)
            sets[name] = {} if result is None else flatten_result(result)
    ordered = [
        name
        for question in questions.questions
        if _ORDER_MATTERS in question.features
        for language in question.texts
        if (name := questions.qname(question, language)) in sets
    ]
    write_new(options.output, to_plain({**sets, "order_required": ordered}))
    if options.output != "-":
        print(f"wrote {plural(len(sets), 'result set')} to {options.output}")
    if failed:
        print(f"llmkg: {failed} of {len(queries)} queries failed; their results are empty", file=sys.stderr)
    return 0


def _queries(questions: QuestionSet, answers: Path | None, wanted: tuple[str, ...]) -> dict[str, str]:
    """The queries to run by the names of their questions, in the order of the question file.

    With ``answers`` a question without one has an empty query. Those of a language in which nothing is answered are
    left out unless it is ``wanted``, as ``evaluate`` does: a system may know fewer languages.
    """
    languages = {
        questions.qname(question, language): language for question in questions.questions for language in question.texts
    }
    if answers is None:
        own = {questions.qname(one, language): one.query for one in questions.questions for language in one.texts}
        return {name: query for name, query in own.items() if not wanted or languages[name] in wanted}
    given = read_answers_or_results(answers)
    if not isinstance(given, AnswerFile):
        raise UserError(f"{answers}: holds result sets already; answers are needed here")
    foreign = [name for name in given.queries if name not in languages]
    if foreign:
        raise UserError(f"{answers}: {foreign[0]!r} is not in {questions.path} ({len(foreign)} such answers)")
    asked = set(wanted) or {languages[name] for name in given.queries}
    missing = [name for name, language in languages.items() if language in asked and name not in given.queries]
    if missing:
        print(
            f"llmkg: {len(missing)} questions have no answer in {answers} and get empty results, as in the challenge "
            f"(first: {missing[0]})",
            file=sys.stderr,
        )
    silent = [] if wanted else sorted(set(languages.values()) - asked)
    if silent:
        print(f"llmkg: nothing is answered in {', '.join(silent)}, which is left out", file=sys.stderr)
    return {name: given.queries.get(name, "") for name, language in languages.items() if language in asked}


def _graph(questions: QuestionSet, options: argparse.Namespace) -> GraphFile:
    """The graph of ``--kg``, or what stands for the endpoint of ``--endpoint``, which must answer."""
    if options.endpoint is None:
        return graph_for(questions, options.kg)
    if options.kg:
        raise UserError("give --kg or --endpoint, not both")
    return graph_at(questions.name, Endpoint(options.endpoint).url)  # complains of what is no address


VERB = Command(
    name="query",
    summary="Runs the queries of an answer file (or the reference queries) and writes result sets.",
    example="llmkg text2sparql query questions.yml -a answers.json --kg ck25=prod-inst.ttl -o results.json",
    arguments=_arguments,
    run=_run,
)
