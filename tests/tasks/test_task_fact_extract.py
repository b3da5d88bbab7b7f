"""FactExtractStatic, answer by answer, with the sandbox that runs in earnest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.errors import RecordError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Answer, Case, Evaluation, Number
from pytest_llmkg.tasks.fact_extract import TASK

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine
    from pytest_llmkg.plain import Json

PREFIXES = "@prefix : <urn:x:> .\n@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
REFERENCE = f"""{PREFIXES}
:m a :Saw ;
    :cuts :cork ,
        :felt ;
    :reads :svg ;
    :width [ :value "90.0"^^xsd:double ; :unit :cm ] ;
    :height [ :value "60.0"^^xsd:double ; :unit :cm ] .
"""
# 1 type, 2 + 1 listed values, 2 x 3 of dimensions; the two units are one row of the normal form.
TRIPLES, ROWS = 10, 9
DIMENSIONS: list[Json] = ["urn:x:width", "urn:x:height"]
FIELDS: dict[str, Json] = {
    "product": "saw",
    "name": "M",
    "maker": "N",
    "sheet": "cuts cork and felt, reads SVG, 90 x 60 cm",
    "thingNamespace": "urn:x:",
    "valueNamespace": "urn:x:",
    "productClass": "urn:x:Saw",
    "mainListProperty": "urn:x:cuts",
    "mainListWords": "all that it cuts",
    "secondListProperty": "urn:x:reads",
    "secondListWords": "all that it reads",
    "dimensionProperties": DIMENSIONS,
    "valueProperty": "urn:x:value",
    "unitProperty": "urn:x:unit",
    "reference": REFERENCE,
}
CASE = Case("saw", "FactExtractStatic", "FactExtractStatic", FIELDS)
SETS = ("norm", "printMat", "supportMat", "DimValues", "DimUnit")
NAMES = {f"{s}_{m}" for s in SETS for m in ("precision", "recall", "f-measure")}
NAMES |= {"diffRatioRaw", "normDiffRatio", "parsableTripleRatio"}


def evaluate(text: str, kg: KgEngine, **changes: Json) -> Evaluation:
    case = Case("saw", "FactExtractStatic", "FactExtractStatic", {**FIELDS, **changes})
    evaluation = TASK.evaluate(case, Answer(text), kg)
    to_plain(evaluation)  # can be stored
    return evaluation


def published(evaluation: Evaluation) -> dict[str, Number]:
    return dict(evaluation.score_sets[0].values)


def corrected(evaluation: Evaluation) -> dict[str, Number]:
    return {name.removesuffix("@2"): value for name, value in evaluation.score_sets[1].values.items()}


def test_the_reference_gets_1_by_both_rules(kg: KgEngine) -> None:
    evaluation = evaluate(REFERENCE, kg)
    assert evaluation.outcome == "scored"
    assert published(evaluation) == corrected(evaluation) == dict.fromkeys(NAMES, 1)
    assert [s.signature.split("|")[2] for s in evaluation.score_sets] == ["rules:published", "rules:corrected"]
    assert evaluation.score_sets[1].notes == ()
    assert evaluation.info["parsableTriplesCount"] == TRIPLES
    assert TASK.info.max_turns == 1


def test_a_missing_list_value(kg: KgEngine) -> None:
    evaluation = evaluate(REFERENCE.replace(" ,\n        :felt", ""), kg)
    scores, mended = published(evaluation), corrected(evaluation)
    # Published: units are one row and the empty row is one, so 8 + 1 of 9 + 1; corrected: 9 triples of 10.
    assert (scores["norm_precision"], scores["norm_recall"]) == (1.0, ROWS / (ROWS + 1))
    assert (mended["norm_precision"], mended["norm_recall"]) == (1.0, (TRIPLES - 1) / TRIPLES)
    assert scores["printMat_f-measure"] == pytest.approx(2 * 0.5 / 1.5)
    assert scores["supportMat_f-measure"] == 1
    assert scores["parsableTripleRatio"] == (TRIPLES - 1) / TRIPLES
    assert evaluation.score_sets[1].notes == ()


def test_nothing_stated_has_precision_1_as_published_and_0_when_corrected(kg: KgEngine) -> None:
    for text, outcome in (("", "no_answer"), (" \n", "no_answer"), ("I cannot.", "unparsable")):
        evaluation = evaluate(text, kg)
        assert evaluation.outcome == outcome
        scores, mended = published(evaluation), corrected(evaluation)
        assert {scores[f"{name}_precision"] for name in SETS} == {1.0}
        assert {scores[f"{name}_f-measure"] for name in SETS} == {0.0}
        assert {mended[f"{name}_{m}"] for name in SETS for m in ("precision", "recall", "f-measure")} == {0.0}
        assert scores["normDiffRatio"] == scores["parsableTripleRatio"] == 0


def test_more_triples_than_asked_are_no_merit_when_corrected(kg: KgEngine) -> None:
    more = REFERENCE + "".join(f":m :weighs {n} .\n" for n in range(TRIPLES))
    evaluation = evaluate(more, kg)
    assert published(evaluation)["parsableTripleRatio"] == 2.0
    assert corrected(evaluation)["parsableTripleRatio"] == 1.0
    assert corrected(evaluation)["norm_precision"] == 0.5


def test_fences_and_prose_cost_nothing_but_likeness(kg: KgEngine) -> None:
    evaluation = evaluate(f"Here it is:\n```turtle\n{REFERENCE}```\nAnything else?", kg)
    scores = published(evaluation)
    assert {name for name in NAMES if scores[name] != 1} == {"diffRatioRaw"}
    assert corrected(evaluation) == dict.fromkeys(NAMES, 1)


def test_dimensions_that_swap_their_nodes_show_when_corrected(kg: KgEngine) -> None:
    swapped = REFERENCE.replace('"90.0"', '"?"').replace('"60.0"', '"90.0"').replace('"?"', '"60.0"')
    evaluation = evaluate(swapped, kg)
    assert published(evaluation)["norm_f-measure"] == 1
    assert published(evaluation)["DimValues_f-measure"] == 0
    assert corrected(evaluation)["norm_f-measure"] == pytest.approx((TRIPLES - 2) / TRIPLES)
    assert evaluation.score_sets[1].notes == ("blank nodes",)


def test_a_reference_in_another_format_is_compared_as_a_graph_only(kg: KgEngine) -> None:
    lines = evaluate(REFERENCE, kg).info["parsableTriples"]
    evaluation = evaluate(REFERENCE, kg, reference=lines, format="nt")
    assert published(evaluation) == dict.fromkeys(NAMES - {"diffRatioRaw"}, 1)


def test_recorded_triples_take_the_place_of_parsing(kg: KgEngine) -> None:
    lines = [line for line in str(evaluate(REFERENCE, kg).info["parsableTriples"]).split("\n") if line]
    evaluation = evaluate("not read", kg, recordedTriples=[*lines])
    assert published(evaluation)["norm_f-measure"] == 1
    assert corrected(evaluation)["norm_f-measure"] == 0


@pytest.mark.parametrize("reference", ["", "no turtle"])
def test_a_case_without_a_reference_graph_is_an_error(reference: str, kg: KgEngine) -> None:
    with pytest.raises(RecordError, match=r"FactExtractStatic/saw: the field 'reference'"):
        evaluate("", kg, reference=reference)


@pytest.mark.parametrize(
    "text",
    [
        "[ <urn:p> " * 20_000,
        "<urn:s> <urn:p> " + "[] , " * 3_000 + "[] .",
        "\n".join(["@prefix : <urn:x:> ."] + [f":a{n} :b :c , ," for n in range(300)]),
        '<urn:s> <urn:p> """' + "x" * 100_000,
        "\ud800 \x00 \u202e",
        "```turtle\n" * 2_000,
    ],
    ids=["nested", "blank-nodes", "faults", "open-string", "odd-characters", "fences"],
)
def test_hostile_answers_get_low_scores(text: str, kg: KgEngine) -> None:
    evaluation = evaluate(text, kg)
    assert evaluation.outcome in {"scored", "unparsable"}
    # A single wrong triple has 1/2 and 1/10 by the empty row of the published rules.
    assert published(evaluation)["norm_f-measure"] <= 2 * 0.5 * 0.1 / 0.6 + 1e-9
    assert corrected(evaluation)["norm_f-measure"] < 0.1
    assert all(0 <= value <= 1 for value in corrected(evaluation).values())


def test_the_prompt_shows_names_and_sheet_and_no_reference(kg: KgEngine) -> None:
    (message,) = TASK.prompt(CASE, kg).messages
    for field in ("name", "maker", "sheet", "mainListProperty", "secondListProperty", "productClass"):
        assert str(FIELDS[field]) in message.text
    assert REFERENCE.strip() not in message.text
    assert "{" not in message.text
