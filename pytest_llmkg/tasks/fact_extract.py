"""FactExtractStatic: turn asked parts of a product's data sheet into an RDF graph in Turtle.

Rules as published with LLM-KG-Bench (2023, versions 1.0 and 1.1). Score names are the published ones, which speak of
the materials of a printer; here they stand for the two lists of any product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.contracts import GraphText, KgEngine, Task
from pytest_llmkg.errors import RecordError
from pytest_llmkg.extraction import fenced_blocks
from pytest_llmkg.metrics.construction import FactProperties, fact_matches
from pytest_llmkg.metrics.graph_match import match_graphs
from pytest_llmkg.metrics.normal_form import likeness, normal_rows, normal_text
from pytest_llmkg.metrics.sets import SetMatch, match_sets
from pytest_llmkg.plain import clean_text
from pytest_llmkg.records import Answer, Case, Evaluation, Number, Outcome, Prompt, ScoreSet, TaskInfo
from pytest_llmkg.signature import build_signature

if TYPE_CHECKING:
    from pytest_llmkg.plain import Json

__all__ = ["TASK"]

INFO = TaskInfo(
    name="FactExtractStatic",
    version="1.0",
    family="KG construction",
    summary="Turns the asked facts of a product's data sheet into an RDF graph with given names.",
    headline="norm_f-measure",
    bloom=("Understand", "Create"),
    knowledge=("Conceptual", "Procedural"),
    complexity="Medium",
)

_PROMPT = """\
Read the data sheet of a {product} at the end and state some of its facts as an RDF graph in Turtle.

Names: the {product} and its maker are IRIs in the namespace {things}, the values of lists are IRIs in the namespace \
{values}; the local name is the name as the sheet writes it, with an underscore in place of each blank.

State exactly this:
- the type of the {product}, which is <{class_iri}>;
- its maker, by the property manufacturer of schema.org (namespace http://schema.org/), and the maker's name as an \
rdfs:label, a plain string without language tag;
- {main_words}, each by the property <{main_list}>;
- {second_words}, each by the property <{second_list}>;
- its outer width, depth and height, by the properties width, depth and height of schema.org. Each leads to a blank \
node of type qudt:QuantityValue (namespace http://qudt.org/schema/qudt/), which has its number by qudt:numericValue \
as an xsd:double and its unit by qudt:hasUnit as an IRI of QUDT's vocabulary of units (namespace \
http://qudt.org/vocab/unit/). Keep the unit of the sheet.

State nothing else, however much the sheet tells. Declare all prefixes. Reply with the Turtle document only.

Data sheet
==========
Name: {name}
Maker: {maker}

{sheet}"""


def prompt(case: Case, _kg: KgEngine) -> Prompt:
    """Says which facts to state under which names, and shows the sheet."""
    return Prompt.user(
        _PROMPT.format(
            product=case.text("product"),
            things=case.text("thingNamespace"),
            values=case.text("valueNamespace"),
            class_iri=case.text("productClass"),
            main_list=case.text("mainListProperty"),
            main_words=case.text("mainListWords"),
            second_list=case.text("secondListProperty"),
            second_words=case.text("secondListWords"),
            name=case.text("name"),
            maker=case.text("maker"),
            sheet=case.text("sheet").strip("\n"),
        )
    )


def evaluate(case: Case, answer: Answer, kg: KgEngine) -> Evaluation:
    """Scores the stated facts against the reference graph.

    Published: the whole answer is parsed without its faulty lines; blank nodes are all alike; the text behind the last
    line break counts as a row of the graph; a list without any value has precision 1. Corrected (names with ``@2``):
    the first code block or else the whole answer; blank nodes are matched; no such row; precision 0; ratios end at 1.
    ``diffRatioRaw`` compares texts, so it is left out where the reference is not Turtle.
    """
    wanted = _reference_triples(case, kg)
    if "recordedTriples" in case.data:  # what the program of a record read
        triples = case.texts("recordedTriples")
    else:
        triples = kg.parse_tolerantly(GraphText(answer.text, "turtle")).triples
    published = _scores(case, answer.text, triples, wanted, corrected=False)
    info: dict[str, Json] = {
        "parsableTriplesCount": len(triples),
        "parsableTriples": clean_text("".join(f"{line}\n" for line in triples)),
    }
    blocks = fenced_blocks(answer.text)
    document = blocks[0].content if blocks else answer.text
    inner = kg.parse_tolerantly(GraphText(document, "turtle")).triples
    mended = _scores(case, document, inner, wanted, corrected=True)
    notes = _notes(triples, inner, wanted) if abs(mended[INFO.headline] - published[INFO.headline]) > 1e-9 else ()
    outcome: Outcome = "scored" if triples else "unparsable" if answer.text.strip() else "no_answer"
    score_sets = (
        ScoreSet(build_signature(INFO, "published", ("rdflib",)), published),
        ScoreSet(
            build_signature(INFO, "corrected", ("rdflib",)),
            {f"{name}@2": value for name, value in mended.items()},
            notes,
        ),
    )
    return Evaluation(outcome, score_sets, info)


def _scores(
    case: Case, text: str, triples: tuple[str, ...], wanted: tuple[str, ...], *, corrected: bool
) -> dict[str, Number]:
    """All scores by published name, by one of both sets of rules."""
    rows, optimal = (normal_rows(lines, empty_row=not corrected) for lines in (triples, wanted))
    empty_precision = 0.0 if corrected else 1.0
    norm = match_graphs(triples, wanted) if corrected else match_sets(rows, optimal, empty_precision=1.0)
    values: dict[str, Number] = {}
    if case.data.get("format", "turtle") == "turtle":
        values["diffRatioRaw"] = likeness(text.strip(), case.text("reference").strip())
    values["normDiffRatio"] = likeness(normal_text(optimal), normal_text(rows)) if rows else 0.0
    values |= _named("norm", norm)
    for name, match in fact_matches(triples, wanted, _properties(case), empty_precision=empty_precision).items():
        values |= _named(name, match)
    ratio = len(triples) / len(wanted)
    values["parsableTripleRatio"] = min(1.0, ratio) if corrected else ratio
    return values


def _named(name: str, match: SetMatch) -> dict[str, Number]:
    return {f"{name}_precision": match.precision, f"{name}_recall": match.recall, f"{name}_f-measure": match.f1}


def _notes(triples: tuple[str, ...], inner: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """What the corrected rules treat otherwise here."""
    rows, optimal = (normal_rows(lines, empty_row=False) for lines in (inner, wanted))
    plain = match_sets(rows, optimal).f1
    causes = {
        "fences": normal_rows(triples) != normal_rows(inner),
        "blank nodes": match_graphs(inner, wanted).f1 != plain,
        "empty row": plain < 1,
    }
    return tuple(name for name, applies in causes.items() if applies)


def _properties(case: Case) -> FactProperties:
    return FactProperties(
        main_list=case.text("mainListProperty"),
        second_list=case.text("secondListProperty"),
        dimensions=case.texts("dimensionProperties"),
        value=case.text("valueProperty"),
        unit=case.text("unitProperty"),
    )


def _reference_triples(case: Case, kg: KgEngine) -> tuple[str, ...]:
    verdict = kg.check_rdf(GraphText(case.text("reference"), str(case.data.get("format", "turtle"))))
    if verdict.error is not None or not verdict.triples:
        cause = verdict.error or "it holds no triple"
        raise RecordError(f"case {case.label}/{case.id}: the field 'reference' does not parse: {cause}")
    return verdict.triples


TASK = Task(
    info=INFO,
    fields={
        "product": "text",
        "name": "text",
        "maker": "text",
        "sheet": "text",
        "thingNamespace": "text",
        "valueNamespace": "text",
        "productClass": "text",
        "mainListProperty": "text",
        "mainListWords": "text",
        "secondListProperty": "text",
        "secondListWords": "text",
        "dimensionProperties": "texts",
        "valueProperty": "text",
        "unitProperty": "text",
        "reference": "text",
        "format?": "text",
    },
    prompt=prompt,
    evaluate=evaluate,
)
