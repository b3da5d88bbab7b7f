"""RdfSyntaxFixList: repair the syntax of an RDF document, with up to two hints.

Rules as published with LLM-KG-Bench 3 (task version 0.3-testing); they reproduce 27,129 of 27,129 recorded values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.contracts import GraphText, KgEngine, Task
from pytest_llmkg.errors import RecordError
from pytest_llmkg.extraction import FencedBlock, fenced_blocks, shortened
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.metrics.graph_match import match_erased, match_graphs
from pytest_llmkg.metrics.similarity import diff_ratio, edit_ratio, similarity_gain, unified_diff
from pytest_llmkg.metrics.triples import match_triples
from pytest_llmkg.records import (
    Answer,
    Case,
    Evaluation,
    Feedback,
    Number,
    Outcome,
    Prompt,
    ScoreSet,
    TaskInfo,
    Turn,
)
from pytest_llmkg.signature import build_signature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.metrics.sets import SetMatch
    from pytest_llmkg.plain import Json

__all__ = ["TASK"]

INFO = TaskInfo(
    name="RdfSyntaxFixList",
    version="1.0",
    family="RDF",
    summary="Repairs the syntax of an RDF document without changing its facts or its layout.",
    headline="max_combined",
    max_turns=3,
    aggregated=(
        "brevity",
        "strSimilarity",
        "parsableSyntax",
        "combined",
        "contentPrecision",
        "contentRecall",
        "contentF1",
    ),
    bloom=("Understand", "Apply"),
    knowledge=("Factual", "Procedural"),
    complexity="Low",
)

_PROMPT = """\
This {title} document does not parse. Repair it: correct every syntax error, change as few characters as you can, and \
leave layout, order and names as they are.

```{fence}
{broken}
```

The parser says:
{error}

{form}"""

_LONGEST_ERROR = 2000
_FORM = (
    "Reply with the whole repaired document in exactly one fenced code block (a line of three backticks before and "
    "after it) and write nothing outside that block."
)
_HINTS = {
    "syntax": "Your document still does not parse. The parser says:\n{error}\n\n{form}",
    "content": "Your document parses, but it does not state the facts that the broken document meant to state. {form}",
    "format": "The facts are right, but you changed more of the text than the repair needs. {form}",
}


def prompt(case: Case, kg: KgEngine) -> Prompt:
    """Shows the broken document with the parser's message."""
    form = format_named(case.text("format"))
    broken = case.text("broken")
    error = kg.check_rdf(GraphText(broken, form.name)).error
    if error is None:
        raise RecordError(f"case {case.label}/{case.id}: the field 'broken' parses; there is nothing to repair")
    return Prompt.user(
        _PROMPT.format(title=form.title, fence=form.fence, broken=broken.rstrip("\n"), error=error, form=_FORM)
    )


def evaluate(case: Case, answer: Answer, kg: KgEngine) -> Evaluation:
    """Scores the first code block (the whole answer if it has none) by syntax, facts and likeness.

    Corrected (``combined@2``): blank nodes are matched as well as can be instead of being erased, no empty line counts
    as a triple, and likeness is a true edit distance that never passes 1. Where the case has a ``correctedReference``,
    because the published one differs from the broken document in more than syntax, that is compared with.
    """
    blocks = fenced_blocks(answer.text)
    document = blocks[0].content if blocks else answer.text.strip()
    reference, form = case.text("reference"), case.text("format")
    verdict = kg.check_rdf(GraphText(document, form))
    info = _info(case, answer, document, blocks)
    info["syntaxError"] = verdict.error
    if not answer.text.strip():
        nothing: dict[str, Number] = {"brevity": 0.0, "strSimilarity": 0.0, "parsableSyntax": 0, "combined": 0.0}
        return _evaluation("no_answer", nothing, {"strSimilarity@2": 0.0, "combined@2": 0.0}, info)
    similarity = similarity_gain(diff_ratio(document, reference), diff_ratio(case.text("broken"), reference))
    mended = case.text("correctedReference") if "correctedReference" in case.data else reference
    steady = min(1.0, similarity_gain(edit_ratio(document, mended), edit_ratio(case.text("broken"), mended)))
    values: dict[str, Number] = {
        "brevity": (len(blocks[0].text) if blocks else 0) / len(answer.text.strip()),
        "strSimilarity": similarity,
        "parsableSyntax": 0 if verdict.error else 1,
    }
    corrected: dict[str, Number] = {"strSimilarity@2": steady}
    if verdict.error is not None:
        values["combined"], corrected["combined@2"] = 0.1 * similarity, 0.1 * steady
        return _evaluation("unparsable", values, corrected, info, () if mended == reference else ("reference",))
    content = match_triples(verdict.triples, _reference_triples(case, reference, form, kg))
    triples = _reference_triples(case, mended, form, kg)
    facts = match_graphs(verdict.triples, triples)
    values |= {"combined": 0.1 * similarity + 0.2 * 1 + 0.7 * content.f1} | _content(content, "")
    corrected |= {"combined@2": 0.1 * steady + 0.2 * 1 + 0.7 * facts.f1} | _content(facts, "@2")
    causes = {
        "reference": mended != reference,
        "blank nodes": abs(facts.f1 - match_erased(verdict.triples, triples).f1) > 1e-9,
    }
    return _evaluation("scored", values, corrected, info, tuple(cause for cause, applies in causes.items() if applies))


def feedback(_case: Case, turn: Turn) -> Feedback | None:
    """The first hint that applies: syntax, then facts, then layout; None when the repair is perfect."""
    scores = turn.evaluation.scores()
    if not scores["parsableSyntax"]:
        kind = "syntax"
    elif scores["contentF1"] < 1:
        kind = "content"
    elif scores["strSimilarity"] < 1:
        kind = "format"
    else:
        return None
    # A parser may quote a line of a million characters.
    error = shortened(str(turn.evaluation.info.get("syntaxError") or "the answer is empty"), _LONGEST_ERROR)
    return Feedback(kind, _HINTS[kind].format(error=error, form=_FORM))


def _info(case: Case, answer: Answer, document: str, blocks: Sequence[FencedBlock]) -> dict[str, Json]:
    reference = case.text("reference")
    return {
        "taskUid": case.id,
        "codeBlockCount": len(blocks),
        "rdfString": document,
        "rdfStringLenDiff": len(document) - len(reference),
        "rdfStringDiff": unified_diff(reference, document),
        "brevityLenDiff": len(answer.text.strip()) - (len(blocks[0].text) if blocks else 0),
        "diffRatioQuestion": diff_ratio(case.text("broken"), reference),
        "diffRatioRaw": diff_ratio(document, reference),
    }


def _content(match: SetMatch, suffix: str) -> dict[str, Number]:
    return {
        f"contentPrecision{suffix}": match.precision,
        f"contentRecall{suffix}": match.recall,
        f"contentF1{suffix}": match.f1,
    }


def _reference_triples(case: Case, reference: str, form: str, kg: KgEngine) -> tuple[str, ...]:
    verdict = kg.check_rdf(GraphText(reference, form))
    if verdict.error is not None:
        raise RecordError(f"case {case.label}/{case.id}: the field 'reference' does not parse: {verdict.error}")
    return verdict.triples


def _evaluation(
    outcome: Outcome,
    values: Mapping[str, Number],
    corrected: Mapping[str, Number],
    info: dict[str, Json],
    causes: tuple[str, ...] = (),
) -> Evaluation:
    differences = {
        "counted lines": abs(values.get("contentF1", 0) - corrected.get("contentF1@2", 0)) > 1e-9,
        "likeness": abs(values["strSimilarity"] - corrected["strSimilarity@2"]) > 1e-9,
    }
    moved = tuple(name for name, applies in differences.items() if applies)
    score_sets = (
        ScoreSet(build_signature(INFO, "published", ("rdflib",)), values),
        # Other causes explain a difference better than that there is one.
        ScoreSet(build_signature(INFO, "corrected", ("rdflib",)), corrected, (causes or moved) if moved else ()),
    )
    return Evaluation(outcome, score_sets, info)


TASK = Task(
    info=INFO,
    fields={"format": "text", "broken": "text", "reference": "text", "correctedReference?": "text", "note?": "text"},
    prompt=prompt,
    evaluate=evaluate,
    feedback=feedback,
)
