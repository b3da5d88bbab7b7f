"""``llmkg text2sparql check``: runs the reference queries of a question set and lists what is odd about them."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.cases.question_sets import Question, QuestionSet, load_question_set
from pytest_llmkg.cases.question_sets.model import WELL_KNOWN
from pytest_llmkg.commands import Command
from pytest_llmkg.commands.text2sparql.executing import add_graph_option, graph_for, running
from pytest_llmkg.commands.text2sparql.files import ResultFile, read_answers_or_results
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg.query_syntax import query_error
from pytest_llmkg.metrics.challenge import flatten_result
from pytest_llmkg.metrics.numbers_by_value import number_key
from pytest_llmkg.reporting.parser_errors import readable_error
from pytest_llmkg.tasks.kgqa_patterns import described_query
from pytest_llmkg.tasks.kgqa_ties import reference_groups

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from pytest_llmkg.contracts import QueryResult
    from pytest_llmkg.metrics.challenge_rows import TieGroup

__all__ = ["VERB"]

_LONGEST_ERROR = 200
_LIMIT = re.compile(r"\blimit\s+[0-9]", re.IGNORECASE)


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("questions", metavar="QUESTIONS", type=Path, help="question file, or folder of SHACL examples")
    add("--reference", type=Path, metavar="FILE", help="published result sets to compare with")
    add_graph_option(parser)


def _run(options: argparse.Namespace) -> int:
    questions = load_question_set(options.questions, check_queries=False)
    if not options.kg:
        return _check_syntax(questions)
    published = None if options.reference is None else read_answers_or_results(options.reference)
    if published is not None and not isinstance(published, ResultFile):
        raise UserError(f"{options.reference}: holds answers, not result sets")
    failed = differing = compared = 0
    with running(questions, graph_for(questions, options.kg)) as run:
        for question in questions.questions:
            result = run(question.query)
            remarks = _remarks(question, result, run)
            failed += result.error is not None
            there = None if published is None else _published(questions, question, published)
            if there is not None and result.error is None:
                compared += 1
                difference = _difference(question, result, there, run)
                differing += bool(difference)
                remarks += [difference] if difference else []
            for remark in dict.fromkeys(remarks):
                print(f"{_place(questions, question)}: {remark}")
    count = len(questions.questions)
    print(f"{questions.name}: {count - failed} of {count} reference queries run")
    if published is not None:
        print(f"{questions.name}: {compared - differing} of {compared} results equal those of {options.reference}")
    return 1 if failed else 0


def _published(questions: QuestionSet, question: Question, published: ResultFile) -> Mapping[str, int] | None:
    """The published result of ``question``: that of any language, since all share one query."""
    names = (questions.qname(question, language) for language in question.texts)
    return next((published.sets[name] for name in names if name in published.sets), None)


def _check_syntax(questions: QuestionSet) -> int:
    broken = 0
    for question in questions.questions:
        error = query_error(question.query, {**WELL_KNOWN, **questions.prefixes, **question.prefixes})
        if error is not None:
            broken += 1
            print(f"{_place(questions, question)}: does not parse: {_brief(error)}")
    count = len(questions.questions)
    print(f"{questions.name}: {count - broken} of {count} reference queries parse; give --kg to run them")
    return 1 if broken else 0


def _brief(error: str) -> str:
    """A parser's error on one line."""
    return textwrap.shorten(readable_error(" ".join(error.split())), _LONGEST_ERROR, placeholder=" ...")


def _place(questions: QuestionSet, question: Question) -> str:
    line = f":{question.line}" if question.line else ""
    return f"{questions.path}{line}: question {question.id!r}"


def _groups(question: Question, result: QueryResult, run: Callable[[str], QueryResult]) -> Sequence[TieGroup]:
    return reference_groups(question.query, result, run, ordered="RESULT_ORDER_MATTERS" in question.features)


def _remarks(question: Question, result: QueryResult, run: Callable[[str], QueryResult]) -> list[str]:
    if result.error is not None:
        return [f"does not run: {_brief(result.error)}"]
    if result.boolean is not None:
        return [] if result.boolean else ["is false, for which the published rules give 0 whatever is answered"]
    if not result.rows:
        return ["has an empty result, for which the published rules give 0 whatever is answered"]
    cut = [group for group in _groups(question, result, run) if group.wanted < len(group.rows)]
    return [f"LIMIT takes {g.wanted} of {len(g.rows)} equal rows: engines may choose otherwise" for g in cut]


def _difference(
    question: Question, result: QueryResult, published: Mapping[str, int], run: Callable[[str], QueryResult]
) -> str:
    """Why the result differs from the published one, empty when it does not."""
    own = flatten_result(result)
    if own == published:
        return ""
    if not own or not published:
        here, there = (str(len(found)) if found else "none" for found in (own, published))
        return f"differs: values here {here}, published {there} (engines disagree on the query or its functions)"
    groups = _groups(question, result, run)
    possible = {term.value for group in groups for row in group.rows for term in row if term is not None}
    if published.keys() <= possible and any(group.wanted < len(group.rows) for group in groups):
        return "differs: LIMIT chose other ones of equal rows"
    if {_by_value(value) for value in own} == {_by_value(value) for value in published}:
        return "differs: numbers are written otherwise"
    if len(_LIMIT.findall(question.query)) > (described_query(question.query, {})["limit"] is not None):
        return "differs: a LIMIT inside the query may have chosen other ones of equal rows"
    missing, further = sorted(published.keys() - own.keys()), sorted(own.keys() - published.keys())
    return (
        f"differs: {len(missing)} values are missing here, {len(further)} are only here: {(missing + further)[0]!r:.80}"
    )


def _by_value(value: str) -> str:
    try:
        return number_key(value)
    except (ArithmeticError, ValueError):
        return value


VERB = Command(
    name="check",
    summary="Runs the reference queries of a question set and lists what is odd about them.",
    example="llmkg text2sparql check questions.yml --kg ck25=prod-inst.ttl --reference ck25_true_result_set.json",
    arguments=_arguments,
    run=_run,
)
