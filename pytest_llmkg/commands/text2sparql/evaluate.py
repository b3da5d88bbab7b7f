"""``llmkg text2sparql evaluate``: scores of result sets or answers by the challenge's rules."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.cases.question_sets import QuestionSet, load_question_set
from pytest_llmkg.commands import Command
from pytest_llmkg.commands.text2sparql.executing import add_graph_option, graph_for, running
from pytest_llmkg.commands.text2sparql.files import (
    AnswerFile,
    ResultFile,
    read_answers_or_results,
    read_evaluation,
    write_new,
)
from pytest_llmkg.errors import UserError
from pytest_llmkg.metrics.challenge import flatten_result
from pytest_llmkg.metrics.challenge_report import LAYOUTS, agreement, evaluate_sets
from pytest_llmkg.plain import to_plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.metrics.challenge_report import Agreement, Layout, ResultSets

__all__ = ["VERB"]

_ORDER_MATTERS = "RESULT_ORDER_MATTERS"
_MOST_SHOWN = 20


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", help="of the system; only shown")
    add("true_set", metavar="TRUE", type=Path, help="result sets of the reference queries, or a question file")
    add(
        "pred_set",
        metavar="PRED",
        type=Path,
        help="result sets of the system, or its answers",
    )
    add("-o", "--output", default="-", help="where to write the scores; never overwrites (default: standard output)")
    add(
        "-l",
        "--languages",
        type=_languages,
        default=(),
        help="averages for each of them, e.g. en,es",
    )
    add("--questions", type=Path, help="question file: tells where the order counts, and the prefixes for --kg")
    add(
        "--layout",
        choices=LAYOUTS,
        help="of averages by language (default: that of --published, else 2026)",
    )
    add("--missing-as-empty", action="store_true", help="count questions without a result set as 0, not as not asked")
    add("--published", type=Path, metavar="FILE", help="compare with this evaluation file; exit status 1 if it differs")
    add_graph_option(parser)


def _languages(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]+)*", text)))


def _run(options: argparse.Namespace) -> int:
    published = None if options.published is None else read_evaluation(options.published)
    reference, answered, ordered = _sets(options, published or {})
    unknown = [name for name in answered if name not in reference]
    if unknown:
        raise UserError(
            f"{options.pred_set}: {unknown[0]!r} is not in {options.true_set} ({len(unknown)} such questions)"
        )
    absent = [code for code in options.languages if not any(code in name for name in reference)]
    if absent:
        raise UserError(f"--languages {absent[0]}: no question of {options.true_set} has it in its name")
    missing = [name for name in reference if name not in answered]
    if missing and options.missing_as_empty:
        answered = {name: answered.get(name, {}) for name in reference}
    elif missing:
        print(
            f"llmkg: {len(missing)} questions of {options.true_set} have no result in {options.pred_set} and are left "
            f"out of the averages, as the challenge does (first: {missing[0]}); --missing-as-empty counts them",
            file=sys.stderr,
        )
    layout, languages = _layout(options.layout, options.languages, published)
    if not answered:
        raise UserError(f"{options.pred_set}: nothing in it answers a question of {options.true_set}")
    rows = evaluate_sets(answered, reference, ordered, languages, layout)
    if published is None or options.output != "-":
        write_new(options.output, to_plain(rows))
    return 0 if published is None else _tell(options.name, agreement(rows, published))


def _sets(
    options: argparse.Namespace, published: Mapping[str, Mapping[str, float]]
) -> tuple[ResultSets, ResultSets, frozenset[str]]:
    """Reference result sets, those of the system, and the questions whose order counts.

    Where neither the question file nor the reference tells the latter, they are those with ``ndcg`` in ``published``.
    """
    file = options.questions
    if file is None and options.true_set.suffix in {".yml", ".yaml", ".jsonl", ".ttl"}:
        file = options.true_set
    questions = None if file is None else load_question_set(file, check_queries=False)
    ordered = frozenset() if questions is None else _ordered(questions)
    if questions is not None and file == options.true_set:
        reference: ResultSets = _executed(questions, _queries(questions), options.kg)
    else:
        found = read_answers_or_results(options.true_set)
        if not isinstance(found, ResultFile):
            raise UserError(f"{options.true_set}: holds answers; result sets or a question file are needed here")
        reference, ordered = found.sets, ordered | found.ordered
    if questions is None and not ordered:
        ordered = frozenset(name for name, row in published.items() if "ndcg" in row)
    given = read_answers_or_results(options.pred_set)
    if isinstance(given, ResultFile):
        return reference, given.sets, ordered
    if questions is None:
        raise UserError(f"{options.pred_set}: holds answers; give --questions and --kg, so that they can be run")
    queries = _in_order(given, reference, _languages_of(questions), options.languages)
    unanswered = [name for name in queries if name not in given.queries]
    if unanswered:
        print(
            f"llmkg: {len(unanswered)} questions have no answer in {options.pred_set} and count as empty results, as "
            f"the challenge does (first: {unanswered[0]})",
            file=sys.stderr,
        )
    return reference, _executed(questions, queries, options.kg), ordered


def _ordered(questions: QuestionSet) -> frozenset[str]:
    return frozenset(
        questions.qname(question, language)
        for question in questions.questions
        if _ORDER_MATTERS in question.features
        for language in question.texts
    )


def _queries(questions: QuestionSet) -> dict[str, str]:
    return {
        questions.qname(question, language): question.query
        for question in questions.questions
        for language in question.texts
    }


def _languages_of(questions: QuestionSet) -> dict[str, str]:
    return {
        questions.qname(question, language): language for question in questions.questions for language in question.texts
    }


def _in_order(
    answers: AnswerFile, reference: ResultSets, languages: Mapping[str, str], wanted: Sequence[str]
) -> dict[str, str]:
    """The queries in the order of the reference, an empty one for each question without an answer.

    Only for questions in a ``wanted`` language, or in one that some answer is in: a system may know fewer languages.
    """
    asked = set(wanted) or {languages[name] for name in answers.queries if name in languages}
    known = {
        name: answers.queries.get(name, "")
        for name in reference
        if name in answers.queries or languages.get(name) in asked
    }
    return {**known, **answers.queries}


def _executed(questions: QuestionSet, queries: Mapping[str, str], graphs: Sequence[str]) -> dict[str, dict[str, int]]:
    """Result sets; a query that fails has the empty one, as in the challenge."""
    with running(questions, graph_for(questions, graphs)) as run:
        results = {name: run(query) for name, query in queries.items() if query.strip()}
    failed = [
        f"{name}: {' '.join(result.error.split()):.200}" for name, result in results.items() if result.error is not None
    ]
    if failed:
        print(
            f"llmkg: {len(failed)} of {len(queries)} queries fail and have empty results (first: {failed[0]})",
            file=sys.stderr,
        )
    return {name: flatten_result(results[name]) if name in results else {} for name in queries}


def _layout(
    layout: Layout | None, languages: tuple[str, ...], published: Mapping[str, Mapping[str, float]] | None
) -> tuple[Layout, tuple[str, ...]]:
    """The layout and languages that were asked for, else those of the published file."""
    own = [name.removeprefix("average-") for name in published or {} if name.startswith("average-")]
    within = [key.removeprefix("set_F-") for key in (published or {}).get("average", {}) if key.startswith("set_F-")]
    return layout or ("2025" if within else "2026"), languages or tuple(own or within)


def _tell(name: str, found: Agreement) -> int:
    print(f"{name}: {found.equal} of {found.total} values equal the published ones")
    for text in found.different[:_MOST_SHOWN]:
        print(f"  {text}")
    if len(found.different) > _MOST_SHOWN:
        print(f"  and {len(found.different) - _MOST_SHOWN} more")
    return 1 if found.different else 0


VERB = Command(
    name="evaluate",
    summary="Scores a system's result sets or answers by the challenge's rules.",
    example="llmkg text2sparql evaluate INFAI db25_true_result_set.json db25_system_result_set.json -l en,es",
    arguments=_arguments,
    run=_run,
)
