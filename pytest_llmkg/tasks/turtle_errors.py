"""TurtleErrorsStatic: find and repair the syntax errors of a Turtle document without being told where they are.

Rules as published with LLM-KG-Bench (2023, versions 2.0 and 5.0). The published headline is not named; here it is
``normAnswerF1Score``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.contracts import GraphText, KgEngine, Task
from pytest_llmkg.errors import RecordError
from pytest_llmkg.extraction import fenced_blocks
from pytest_llmkg.metrics.graph_match import match_graphs
from pytest_llmkg.metrics.normal_form import likeness, normal_rows, normal_text
from pytest_llmkg.metrics.sets import match_sets
from pytest_llmkg.metrics.similarity import similarity_gain, unified_diff
from pytest_llmkg.metrics.turtle_block import TurtleBlock, find_block, only_block
from pytest_llmkg.plain import clean_text
from pytest_llmkg.records import Answer, Case, Evaluation, Number, Outcome, Prompt, ScoreSet, TaskInfo
from pytest_llmkg.signature import build_signature

if TYPE_CHECKING:
    from pytest_llmkg.plain import Json

__all__ = ["TASK"]

INFO = TaskInfo(
    name="TurtleErrorsStatic",
    version="1.0",
    family="RDF",
    summary="Finds and repairs the syntax errors of a Turtle document that is shown without a parser's message.",
    headline="normAnswerF1Score",
    bloom=("Understand", "Apply"),
    knowledge=("Factual", "Procedural"),
    complexity="Low",
)

_PROMPT = """\
The Turtle document below contains syntax errors. Find and correct all of them. Keep the wording, the order and the \
layout of everything that is right, also the way in which the prefixes are declared.

{broken}

Your reply must consist of the corrected document alone."""


def prompt(case: Case, kg: KgEngine) -> Prompt:
    """Shows the broken document."""
    broken = case.text("broken")
    if kg.check_rdf(GraphText(broken, "turtle")).error is None:
        raise RecordError(f"case {case.label}/{case.id}: the field 'broken' parses; there is nothing to repair")
    return Prompt.user(_PROMPT.format(broken=broken.strip()))


def evaluate(case: Case, answer: Answer, kg: KgEngine) -> Evaluation:
    """Scores the repaired document by its triples and by its likeness to the reference.

    Published: the document runs from the first match of ``blockStart`` to the last one of ``blockEnd``; faulty lines
    are left out; blank nodes are all alike; a repair that changes more than it mends gets far below 0 as
    ``diffRatio``. Corrected (names with ``@2``): the first code block or else the whole answer; blank nodes are
    matched; all values lie between 0 and 1.
    """
    block = find_block(answer.text, case.text("blockStart"), case.text("blockEnd"))
    triples = _triples(case, block.text, kg)
    wanted = _reference_triples(case, kg)
    values, info = _published(case, block, triples, wanted)
    corrected, notes = _corrected(case, answer.text, kg, wanted, values["normAnswerF1Score"])
    outcome: Outcome = "scored" if triples else "unparsable" if answer.text.strip() else "no_answer"
    score_sets = (
        ScoreSet(build_signature(INFO, "published", ("rdflib",)), values),
        ScoreSet(build_signature(INFO, "corrected", ("rdflib",)), corrected, notes),
    )
    return Evaluation(outcome, score_sets, info)


def _triples(case: Case, block: str, kg: KgEngine) -> tuple[str, ...]:
    """What is read from the block; for a record, what its program read."""
    if "recordedTriples" in case.data:
        return case.texts("recordedTriples")
    return kg.parse_tolerantly(GraphText(block, "turtle")).triples if block else ()


def _published(
    case: Case, block: TurtleBlock, triples: tuple[str, ...], wanted: tuple[str, ...]
) -> tuple[dict[str, Number], dict[str, Json]]:
    broken, reference = case.text("broken").strip(), case.text("reference").strip()
    rows, optimal = normal_rows(triples), normal_rows(wanted)
    match = match_sets(rows, optimal)
    question = likeness(broken, reference)
    raw = likeness(block.text, reference) if block.text else 0.0
    values: dict[str, Number] = {
        "onlyTurtle": only_block(block),
        "diffRatioRaw": raw,
        "diffRatio": (raw - question) / (1 - question) if question < 1 else raw,
        "normAnswerPrecision": match.precision,
        "normAnswerRecall": match.recall,
        "normAnswerF1Score": match.f1,
        "normDiffRatio": likeness(normal_text(optimal), normal_text(rows)) if rows else 0.0,
        "parsableTripleRatio": len(triples) / len(wanted),
    }
    info: dict[str, Json] = {
        "diff": unified_diff(reference, block.text),
        "diffRatioQuestion": question,
        "diffRatioEmpty": 0.0,
        "normAnswerCount": len(rows),
        "normAnswerHitCount": len(rows & optimal),
        "normAnswerMissingCount": len(optimal - rows),
        "normAnswerFalseCount": len(rows - optimal),
        "normOptimalCount": len(optimal),
        "parsableTriplesCount": len(triples),
        "parsableTriples": clean_text("".join(f"{line}\n" for line in triples)),
    }
    return values, info


def _corrected(
    case: Case, text: str, kg: KgEngine, wanted: tuple[str, ...], published: Number
) -> tuple[dict[str, Number], tuple[str, ...]]:
    blocks = fenced_blocks(text)
    document = (blocks[0].content if blocks else text).strip()
    triples = kg.parse_tolerantly(GraphText(document, "turtle")).triples
    rows, optimal = (normal_rows(lines, empty_row=False) for lines in (triples, wanted))
    broken, reference = case.text("broken").strip(), case.text("reference").strip()
    raw, match = likeness(document, reference), match_graphs(triples, wanted)
    before, _, after = text.partition(blocks[0].text) if blocks else ("", "", "")
    values: dict[str, Number] = {
        "onlyTurtle@2": only_block(TurtleBlock(before, document, after)) if document else 0.0,
        "diffRatioRaw@2": raw,
        "diffRatio@2": min(1.0, similarity_gain(raw, likeness(broken, reference))),
        "normAnswerPrecision@2": match.precision,
        "normAnswerRecall@2": match.recall,
        "normAnswerF1Score@2": match.f1,
        "normDiffRatio@2": likeness(normal_text(optimal), normal_text(rows)) if rows else 0.0,
        "parsableTripleRatio@2": min(1.0, len(triples) / len(wanted)),
    }
    if abs(match.f1 - published) <= 1e-9:
        return values, ()
    block = find_block(text, case.text("blockStart"), case.text("blockEnd"))
    plain = match_sets(rows, optimal).f1
    causes = {"block": block.text.strip() != document, "blank nodes": match.f1 != plain, "empty row": plain < 1}
    return values, tuple(name for name, applies in causes.items() if applies)


def _reference_triples(case: Case, kg: KgEngine) -> tuple[str, ...]:
    verdict = kg.check_rdf(GraphText(case.text("reference"), "turtle"))
    if verdict.error is not None or not verdict.triples:
        cause = verdict.error or "it holds no triple"
        raise RecordError(f"case {case.label}/{case.id}: the field 'reference' does not parse: {cause}")
    return verdict.triples


TASK = Task(
    info=INFO,
    fields={"broken": "text", "reference": "text", "blockStart": "text", "blockEnd": "text", "note?": "text"},
    prompt=prompt,
    evaluate=evaluate,
)
