"""Records of every published task through `llmkg rescore`, with small ones that were invented in `tests.recorded`."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_llmkg.analysis.agreement import Agreement
from pytest_llmkg.analysis.corrections import correction_rows
from pytest_llmkg.cli import main
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.interchange import Reading, recorded_dialogue
from pytest_llmkg.rescoring.files import Plan, Rescored, Work, rescore_all
from tests import recorded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.recorded import Record

BEASTS = {"Beastiary": GraphText(recorded.BEASTS, "xml")}


def rescored(*records: Record, **plan: Any) -> list[Rescored]:
    works = [Work(record, f"r{number}") for number, record in enumerate(records)]
    return rescore_all(works, Plan(**{"graphs": BEASTS, **plan}))


def scores_of(record: Record, **plan: Any) -> dict[str, Any]:
    item = rescored(record, **plan)[0].item
    assert isinstance(item, dict)
    scores = item["scores"]
    assert isinstance(scores, dict)
    return scores


def decisions_of(record: Record, **plan: Any) -> tuple[int, tuple[str, ...]]:
    return rescored(record, **plan)[0].comparison.values["decisions"]


def changed(record: Record, **parts: object) -> Record:
    return {**copy.deepcopy(record), **parts}


def test_path_is_worked_out_from_the_prompt() -> None:
    scores = scores_of(recorded.CONNECTION)
    assert (scores["listTrimPrecision"], scores["listTrimRecall"]) == (3 / 5, 1)  # of 5 lines two are fences
    case = recorded_dialogue(recorded.CONNECTION).case
    assert case is not None
    assert (case.text("start"), case.text("end")) == ("https://kg.example/a", "https://kg.example/c")


@pytest.mark.parametrize("engine", ["pyoxigraph", "rdflib"])
def test_published_prefixes_of_queries(engine: str) -> None:
    """An undeclared ``rdfs:`` denotes nothing in a published run, and ``xsd:`` neither in one of them."""
    labels = scores_of(recorded.LABELS, engine=engine)
    assert [labels[turn]["combined"] for turn in "012"] == [0.2, 0.0, 1.0]
    ports = rescored(recorded.PORTS, engine=engine)[0].item
    assert isinstance(ports, dict)
    assert ports["scores"]["0"]["precision"] == 1  # no result
    assert ports["info"]["0"]["EvaluationException"]
    assert decisions_of(recorded.LABELS, engine=engine) == (3, ())


def test_signature_and_shortened_names_come_from_the_shown_prefixes() -> None:
    answered = changed(recorded.PORTS)
    answered["interactions"][1][2] = recorded.block("SELECT ?p { ?p a ns2:Port }")
    item = rescored(answered)[0].item
    assert isinstance(item, dict)
    assert item["info"]["0"]["answerSet"] == ["ns2:p1", "ns2:p2"]
    assert item["scores"]["0"]["f1measure"] == 1


def test_graph_that_no_record_holds_is_passed_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, graph = tmp_path / "a.json", tmp_path / "beasts.rdf"
    source.write_text(json.dumps([recorded.BEAST]), encoding="utf-8")
    graph.write_text(recorded.BEASTS, encoding="utf-8")
    assert main(["rescore", str(source)]) == 1
    assert "give it with --kg Beastiary=FILE" in capsys.readouterr().out
    out = tmp_path / "out.json"
    assert main(["rescore", str(source), "--kg", f"Beastiary={graph}", "--out", str(out)]) == 0
    scores = json.loads(out.read_text(encoding="utf-8"))[0]["scores"]
    assert [scores[turn]["combined"] for turn in "01"] == [0.2, 1.0]
    assert main(["rescore", str(out), "--kg", f"Beastiary={graph}"]) == 0
    assert "differs" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ("Beastiary=absent.ttl", "cannot be read"),
        ("Beastiary=a.docx", "no RDF format"),
    ],
)
def test_graphs_that_cannot_be_read(
    argument: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "a.json"
    source.write_text(json.dumps([recorded.BEAST]), encoding="utf-8")
    assert main(["rescore", str(source), "--kg", argument]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("argument", ["--kg=Beastiary", "--kg==x", "--jobs=0", "--jobs=x", "--engine=jena"])
def test_arguments_that_make_no_sense(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["rescore", "a.json", argument])
    assert caught.value.code == 2


def test_time_outs_are_taken_as_recorded_or_run() -> None:
    kept = rescored(recorded.TIMED_OUT)[0]
    assert isinstance(kept.item, dict)
    assert kept.item["scores"]["0"]["combined"] == 0.2
    assert kept.item["info"]["0"]["EvaluationException"] == "A time out occurred"
    assert kept.item["scores"]["1"]["combined"] == 1
    assert kept.comparison.taken == ("time-outs",)
    assert kept.comparison.values["decisions"] == (2, ())
    again = rescored(recorded.TIMED_OUT, keep_timeouts=False)[0]
    assert isinstance(again.item, dict)
    assert again.item["scores"]["0"]["combined"] == 1
    assert again.comparison.taken == ()
    assert again.comparison.values["decisions"] == (1, (".0=empty!=stop",))


def test_results_from_a_graph_out_of_reach_are_taken() -> None:
    found = rescored(recorded.REPAIR)[0]
    assert isinstance(found.item, dict)
    assert found.item["scores"]["0"]["combined"] == 1
    assert found.item["info"]["0"]["answerSet"] == ["7"]
    assert found.comparison.taken == ("results",)


@pytest.mark.parametrize(
    ("hint", "missed"),
    [
        (recorded.HINTS["syntax"], ()),
        (recorded.HINTS["content"], (".0=content!=syntax",)),
        (recorded.HINTS["format"], (".0=format!=syntax",)),
        ("Try it in another way.", ()),  # its kind cannot be told, but there was another turn
    ],
)
def test_kind_of_hint_must_agree(hint: str, missed: tuple[str, ...]) -> None:
    record = changed(recorded.FIX)
    record["interactions"][2][2] = hint
    assert decisions_of(record) == (3 - len(missed), missed)


def test_stopping_where_the_rules_go_on_is_told() -> None:
    record = changed(recorded.FIX)
    record["interactions"] = record["interactions"][:2]
    assert decisions_of(record) == (0, (".0=stop!=syntax",))
    going = changed(recorded.FIX)
    going["interactions"][1][2] = "```\n<urn:a> <urn:b> <urn:c> .\n```"
    assert ".0=syntax!=stop" in decisions_of(going)[1]


def test_corrected_rules_beside_the_published_ones() -> None:
    found = Agreement()
    for one in rescored(*recorded.ALL, corrected=True):
        found.add(one.comparison)
    rows = {(row.label, row.score): row for row in correction_rows(found.changes)}
    assert {row.model for row in rows.values()} == {"maker--m1"}

    def shown(label: str, score: str) -> tuple[float, float, tuple[tuple[str, int], ...]]:
        row = rows[label, score]
        return round(row.published, 3), round(row.corrected, 3), row.causes

    assert shown("RdfConnectionExplainStatic-x", "listTrimF1") == (0.75, 1.0, (("fences", 1),))
    assert shown("Text2AnswerListOrganizational-x", "combinedF1")[:2] == (0.75, 1.0)
    assert shown("RdfFriendCount-x", "f1") == (0.5, 1.0, (("mentions", 1),))
    label = "Text2SparqlExecEvalListOrganizational-x"
    # One dialogue with the wrong prefix, one with a time-out: each 0.2 -> 1.
    assert rows[label, "0_combined"].n == 2
    assert shown(label, "0_combined")[2] == (("engine", 1), ("prefixes", 1))
    assert rows[label, "0_combined"].published == pytest.approx(0.2)
    assert rows[label, "0_combined"].corrected == pytest.approx(1)
    assert shown("SparqlSyntaxFixingListLcQuad-x", "max_combined") == (1.0, 1.0, ())


def test_corrected_reference_where_the_published_one_exchanged_values() -> None:
    def document(one: str, two: str, comma: str) -> str:
        return f'{{"@id": "urn:a"{comma} "urn:p": [{{"urn:c": "{one}"}}, {{"urn:c": "{two}"}}], "urn:q": "AB"}}'

    data = {
        "graphFormat": "json-ld",
        "taskUid": "j",
        "task": document("AA", "BB", ""),
        "optimal": document("BB", "AA", ","),
    }
    answer = f"```json\n{document('AA', 'BB', ',')}\n```"
    record = recorded.make_record("RdfSyntaxFixList", "0.3-testing", data, "Repair it.", answer)
    case = recorded_dialogue(record).case
    assert case is not None
    assert case.data["correctedReference"] == document("AA", "BB", ",")
    changes = {change.score: change for change in rescored(record, corrected=True)[0].comparison.changes}
    assert changes["0_combined"].corrected == pytest.approx(1)
    assert changes["0_combined"].causes == ("reference",)


def test_equal_answers_to_different_cases_are_told_apart() -> None:
    other = changed(recorded.LINES)
    other["taskData"]["refResultSet"] = [":stone"]
    assert [scores_of(r)["fixedF1"] for r in (recorded.LINES, other)] == [1, 0]
    both = [one.item for one in rescored(recorded.LINES, other, recorded.LINES)]
    assert [dict(item)["scores"]["fixedF1"] for item in both if isinstance(item, dict)] == [1, 0, 1]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (changed(recorded.FIX, taskInfo={"taskId": "Other", "taskLabel": "O", "version": "1"}), "'Other' is not known"),
        (changed(recorded.FIX, interactions=[]), "holds no answer"),
        (changed(recorded.FRIENDS, taskData={**recorded.FRIENDS["taskData"], "n": 10**15}), "out of bounds"),
        (changed(recorded.LABELS, taskData={**recorded.LABELS["taskData"], "refSparql": "SELECT"}), "does not parse"),
        (changed(recorded.CONNECTION, interactions=[["prompt", "t", "?"], ["response", "t", "!"]]), "no start and end"),
        (changed(recorded.PORTS, interactions=[["prompt", "t", "?"], ["response", "t", "!"]]), "no graph"),
    ],
)
def test_records_that_cannot_be_scored_are_told_and_kept(record: Record, reason: str) -> None:
    found = rescored(record)[0]
    assert reason in (found.comparison.skipped or "")
    assert found.item == record


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**400, 10**401)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def paths(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [before, *(path for key, part in inner for path in paths(part, (*before, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copied = value.copy()
    copied[path[0]] = replaced(value[path[0]], path[1:], new)
    return copied


PLACES = [(record, path) for record in recorded.ALL for path in paths(record)[1:]]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), JSON), min_size=1, max_size=12))
def test_no_wrong_value_in_any_place_of_a_record_breaks_anything(
    changes: list[tuple[tuple[Record, tuple[Any, ...]], Any]],
) -> None:
    records = [replaced(record, path, new) for (record, path), new in changes]
    found = rescored(*records, corrected=True)
    assert len(found) == len(records)
    for one, record in zip(found, records, strict=True):
        item: Mapping[str, Any] = one.item  # type: ignore[assignment]  # of a record
        assert item.keys() >= record.keys()
        json.dumps(item, allow_nan=False)


def test_reading_does_not_need_a_graph_for_other_tasks() -> None:
    skipped = [recorded_dialogue(record, Reading()).skipped for record in recorded.ALL]
    assert sum(reason is not None for reason in skipped) == 1


@pytest.mark.parametrize("form", ["text", "md", "csv"])
def test_table_of_corrections_in_each_format(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "a.json"
    source.write_text(json.dumps([recorded.CONNECTION, recorded.LINES]), encoding="utf-8")
    assert main(["rescore", str(source), "--rules", "corrected", "--format", form]) == 0
    captured = capsys.readouterr()
    assert ("dialogues per second" in captured.out) == (form == "text")
    assert ("dialogues per second" in captured.err) == (form != "text")
    row = next(line for line in captured.out.splitlines() if "listTrimF1" in line)
    for cell in ("maker--m1", "RdfConnectionExplainStatic-x", "0.750", "1.000", "+0.250", "fences 1"):
        assert cell in row
