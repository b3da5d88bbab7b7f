"""LLM-KG-Bench result files, with small records in their layout that were invented here."""

from __future__ import annotations

import gzip
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
import pyzipper
from hypothesis import given

from pytest_llmkg.cli import main
from pytest_llmkg.errors import RunFileError
from pytest_llmkg.interchange import differences, recorded_dialogue, with_scores
from pytest_llmkg.result_files import read_records
from tests import strategies

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.plain import Json

PASSWORD = "seaweed and rope"  # noqa: S105  (of the archives made here)
GRAPH = 'PREFIX : <https://kg.example/shore/>\n:kelp :growsIn :bay ; :label "kelp" .\n:wrack :growsIn :bay .\n'


def make_record(task: str, version: str, data: dict[str, Json], *talk: str) -> dict[str, Any]:
    """A record whose prompts and responses alternate in ``talk``."""
    roles = ("prompt", "response")
    return {
        "startTime": "2026-01-01T00:00:00",
        "modelId": "m",
        "taskInfo": {"taskId": task, "taskLabel": f"{task}-x", "version": version},
        "scores": {"kept": 1},
        "info": {},
        "taskData": data,
        "interactions": [[roles[n % 2], f"2026-01-01T00:00:0{n}", text] for n, text in enumerate(talk)],
        "duration": 1.5,
    }


FIX = make_record(
    "RdfSyntaxFixList",
    "0.3-testing",
    {"graphFormat": "nt", "taskUid": "dot", "task": "<urn:a> <urn:b> <urn:c>", "optimal": "<urn:a> <urn:b> <urn:c> ."},
    "Repair it.",
    "```\n<urn:a> <urn:b>\n```",
    "Again.",
    "```\n<urn:a> <urn:b> <urn:c> .\n```",
)
FRIENDS = make_record(
    "RdfFriendCount",
    "4.4",
    {
        "graphFormat": "nt",
        "n": 5,
        "knowsCount": 1,
        "specialIndex": 3,
        "specialAddKnowsCount": 2,
        "specialNodeIri": "https://kg.example/person-00000004",
        "specialFriends": ["person-00000001", "person-00000002"],
    },
    "Who is known best?\n\n<urn:a> <urn:b> <urn:c> .\n\n<urn:d> <urn:b> <urn:c> .\n",
    "person-00000004",
)
LINES = make_record(
    "Sparql2AnswerListOrganizational",
    "2.0.2",
    {
        "uid": "bay",
        "question": "?",
        "refSparql": "SELECT ?p { ?p :growsIn :bay }",
        "refResultSet": [":kelp", ":wrack"],
        "graphTurtle": GRAPH,
        "graphFormat": "json-ld",
    },
    "Evaluate it.",
    ":kelp\n:wrack",
)
QUERIES = make_record(
    "Text2SparqlExecEvalListOrganizational",
    "3.1.2",
    {
        "uid": "bay",
        "question": "What grows in the bay?",
        "refSparql": "SELECT ?p { ?p :growsIn :bay }",
        "refResultSet": [":kelp", ":wrack"],
        "graphTurtle": GRAPH,
        "multishotLimit": 3,
    },
    "Write a query.",
    "```sparql\nSELECT ?p { ?p :growsIn :bay }\n```",
)
RECORDS = [FIX, FRIENDS, LINES, QUERIES]


def zipped(files: dict[str, bytes], password: str | None = PASSWORD) -> bytes:
    memory = io.BytesIO()
    encryption = pyzipper.WZ_AES if password else None
    with pyzipper.AESZipFile(memory, "w", compression=pyzipper.ZIP_DEFLATED, encryption=encryption) as archive:
        if password:
            archive.setpassword(password.encode())
        for name, content in files.items():
            archive.writestr(name, content)
    return memory.getvalue()


CONTENT = json.dumps(RECORDS).encode()


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_plain_gzipped_and_encrypted_files_hold_the_same(tmp_path: Path) -> None:
    archive = zipped({"run/m_result.json": CONTENT, "run/m_debug.log": b"log", "run/m_stats.json": b"{}"})
    assert read_records(written(tmp_path, "a.json", CONTENT)) == RECORDS
    assert read_records(written(tmp_path, "a.json.gz", gzip.compress(CONTENT))) == RECORDS
    assert read_records(written(tmp_path, "a.zip", archive), PASSWORD) == RECORDS
    assert read_records(written(tmp_path, "b.zip", zipped({"result.json": CONTENT}, None))) == RECORDS


def test_archives_are_opened_in_memory_only(tmp_path: Path) -> None:
    path = written(tmp_path, "a.zip", zipped({"m_result.json": CONTENT}))
    read_records(path, PASSWORD)
    assert list(tmp_path.iterdir()) == [path]


ENCRYPTED = zipped({"m_result.json": CONTENT})
GZIPPED = gzip.compress(CONTENT)


def damaged(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


@pytest.mark.parametrize(
    ("name", "content", "password", "complaint"),
    [
        ("a.zip", ENCRYPTED, "wrong", "the password is wrong or the file is damaged"),
        ("a.zip", ENCRYPTED, None, "give --password or set LLMKG_PASSWORD"),
        ("a.zip", ENCRYPTED, "", "give --password or set LLMKG_PASSWORD"),
        ("a.zip", ENCRYPTED[:-30], PASSWORD, "the archive cannot be opened"),
        ("a.zip", damaged(ENCRYPTED, 200), PASSWORD, "the archive cannot be opened"),
        ("a.zip", b"", PASSWORD, "the archive cannot be opened"),
        ("a.zip", CONTENT, None, "the archive cannot be opened"),
        ("a.zip", zipped({"notes.txt": b"x"}), PASSWORD, r"holds no result file"),
        ("a.zip", zipped({"a_result.json": b"[]", "b_result.json": b"[]"}), PASSWORD, r"holds 2 result files"),
        ("a.zip", zipped({"a_result.json": b"["}), PASSWORD, "not a complete JSON file"),
        ("a.json.gz", GZIPPED[:-20], None, "not a complete JSON file"),
        ("a.json.gz", b"\x1f\x8b" + b"\x00" * 30, None, "cannot be read|not a complete JSON file"),
        ("a.json.gz", CONTENT, None, "cannot be read: Not a gzipped file"),
        ("a.json", CONTENT[:-20], None, "not a complete JSON file"),
        ("a.json", b"", None, "not a complete JSON file"),
        ("a.json", b"\xff\xfe\x00", None, "not a complete JSON file"),
        ("a.json", b"[" * 100_000, None, "not a complete JSON file"),
        ("a.json", b"[" + b"9" * 5000 + b"]", None, "not a complete JSON file"),
        ("a.json", b"{}", None, "not an LLM-KG-Bench result file"),
        ("a.json", b'[{"taskInfo": {}}, 3]', None, "not an LLM-KG-Bench result file"),
        ("a.json", b'[{"kind": "header"}]', None, "not an LLM-KG-Bench result file"),
    ],
)
def test_complaint_names_the_file_and_what_is_wrong(
    name: str, content: bytes, password: str | None, complaint: str, tmp_path: Path
) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(RunFileError, match=complaint) as caught:
        read_records(path, password)
    assert str(caught.value).startswith(f"{path}: ")
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize("place", range(10, len(GZIPPED), 7))
def test_no_damage_goes_unnoticed_or_raises_anything_else(place: int, tmp_path: Path) -> None:
    with pytest.raises(RunFileError):
        read_records(written(tmp_path, "a.json.gz", damaged(GZIPPED, place)))


def test_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"absent\.json: cannot be read: No such file"):
        read_records(tmp_path / "absent.json")


def test_syntax_fix_record() -> None:
    dialogue = recorded_dialogue(FIX)
    assert dialogue.skipped is None
    assert dialogue.label == "RdfSyntaxFixList-x"
    assert dialogue.answers == ("```\n<urn:a> <urn:b>\n```", "```\n<urn:a> <urn:b> <urn:c> .\n```")
    assert dialogue.case is not None
    assert (dialogue.case.id, dialogue.case.task, dialogue.case.label) == ("dot", "RdfSyntaxFixList", dialogue.label)
    assert dialogue.case.data == {
        "format": "nt",
        "broken": "<urn:a> <urn:b> <urn:c>",
        "reference": "<urn:a> <urn:b> <urn:c> .",
    }


def test_friend_record_takes_its_graph_from_the_prompt() -> None:
    case = recorded_dialogue(FRIENDS).case
    assert case is not None
    # All that follows the first empty line, to the letter.
    assert case.data["graph"] == "<urn:a> <urn:b> <urn:c> .\n\n<urn:d> <urn:b> <urn:c> .\n"
    # 5 types; ring 1>2 2>3 3>4 4>5 5>1; 1>4 2>4 are new
    assert case.data["triples"] == 12
    assert case.id == "RdfFriendCount-x"


def test_link_that_the_ring_has_already_counts_once() -> None:
    data = {**FRIENDS["taskData"], "specialAddKnowsCount": 3}
    case = recorded_dialogue({**FRIENDS, "taskData": data}).case
    assert case is not None
    assert case.data["triples"] == 12  # 3>4 is in the ring


@pytest.mark.parametrize("record", [LINES, QUERIES])
def test_base_prefix_is_taken_from_the_graph(record: dict[str, Any]) -> None:
    case = recorded_dialogue(record).case
    assert case is not None
    assert case.id == "bay"
    assert case.mapping("prefixes")[""] == "https://kg.example/shore/"


def test_rdfs_does_not_denote_rdfs_in_recorded_queries() -> None:
    case = recorded_dialogue(QUERIES).case
    assert case is not None
    prefixes = case.mapping("prefixes")
    assert "rdf-schema" not in prefixes["rdfs"]
    assert prefixes["foaf"] == "http://xmlns.com/foaf/0.1/"


def changed(record: dict[str, Any], **parts: object) -> dict[str, Any]:
    return {**record, **parts}


@pytest.mark.parametrize(
    ("record", "label", "reason"),
    [
        (make_record("FactExtract", "1", {}, "?", "!"), "FactExtract-x", "task 'FactExtract' is not known"),
        (make_record("RdfFriendCount", "9", {}, "?", "!"), "RdfFriendCount-x", "version '9' of task"),
        (changed(FIX, interactions=[]), "RdfSyntaxFixList-x", "the record holds no answer"),
        (changed(FIX, interactions=[["prompt", "t", "?"]]), "RdfSyntaxFixList-x", "the record holds no answer"),
        (changed(FIX, interactions=[["prompt"]]), "RdfSyntaxFixList-x", "the record is not complete"),
        (changed(FIX, interactions=None), "RdfSyntaxFixList-x", "interactions is no list"),
        (changed(FIX, interactions=["text"]), "RdfSyntaxFixList-x", "the record"),
        (changed(FIX, taskData={}), "RdfSyntaxFixList-x", "graphFormat"),
        (changed(FIX, taskData=None), "RdfSyntaxFixList-x", "taskData is no table"),
        (changed(FRIENDS, taskData={**FRIENDS["taskData"], "n": "many"}), "RdfFriendCount-x", "not complete"),
        (changed(LINES, taskData={**LINES["taskData"], "graphTurtle": ":a :b :c ."}), None, "declares no empty prefix"),
        (changed(FIX, taskInfo={}), "None", "taskLabel"),
        (changed(FIX, taskInfo=None), "?", "taskInfo is no table"),
    ],
)
def test_other_records_are_skipped_with_a_reason(record: dict[str, Any], label: str | None, reason: str) -> None:
    dialogue = recorded_dialogue(record)
    assert dialogue.case is None
    assert dialogue.answers == ()
    assert dialogue.skipped is not None
    assert reason in dialogue.skipped
    assert label is None or dialogue.label == label


def test_with_scores_keeps_everything_else_in_its_order() -> None:
    rescored = with_scores(FIX, {"f1": 0.5}, {"note": "x"})
    assert list(rescored) == list(FIX)
    assert rescored == {**FIX, "scores": {"f1": 0.5}, "info": {"note": "x"}}
    assert FIX["scores"] == {"kept": 1}


@pytest.mark.parametrize(
    ("recorded", "recomputed", "met", "missed"),
    [
        ({"a": 1, "b": {"c": 0.5}}, {"b": {"c": 0.5}, "a": 1}, 2, []),
        ({"a": 1.0}, {"a": 1}, 1, []),
        ({"a": 0.1 + 0.2}, {"a": 0.3}, 1, []),
        ({"a": 1.0}, {"a": 1.00001}, 0, [".a=1.0!=1.00001"]),
        ({"a": 1, "b": 2}, {"a": 1}, 1, [".b"]),
        ({"a": 1}, {"a": 1, "b": 2}, 1, [".b"]),
        ({"a": {"b": 1}}, {"a": 1}, 0, [".a={'b': 1}!=1"]),
        ({"a": None}, {"a": 0}, 0, [".a=None!=0"]),
        ({"a": "1"}, {"a": 1}, 0, [".a='1'!=1"]),
        ({"a": "x"}, {"a": "x"}, 1, []),
        # A list is one value; the order counts but in answerSet.
        ({"l": [1, 2]}, {"l": [1, 2]}, 1, []),
        ({"l": [1, 2]}, {"l": [2, 1]}, 0, [".l=[1, 2]!=[2, 1]"]),
        ({"answerSet": ["b", "a"]}, {"answerSet": ["a", "b"]}, 1, []),
        ({"answerSet": ["a", "a"]}, {"answerSet": ["a"]}, 0, [".answerSet=['a', 'a']!=['a']"]),
        ({}, {}, 0, []),
    ],
)
def test_differences_count_values(recorded: Json, recomputed: Json, met: int, missed: list[str]) -> None:
    assert differences(recorded, recomputed) == (met, missed)


@given(strategies.plain)
def test_nothing_differs_from_itself(value: Json) -> None:
    assert differences(value, value)[1] == []


def lines_of(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_rescored_file_keeps_records_and_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unknown = make_record("FactExtract", "1", {}, "?", "!")
    source = written(tmp_path, "a.json", json.dumps([FIX, unknown, LINES, FRIENDS, QUERIES]).encode())
    out = tmp_path / "out.json"
    assert main(["rescore", str(source), "--out", str(out)]) == 1
    assert "skipped: 1 of FactExtract-x: task 'FactExtract' is not known" in lines_of(capsys)
    rescored = json.loads(out.read_text(encoding="utf-8"))
    assert [list(record) for record in rescored] == [list(record) for record in [FIX, unknown, LINES, FRIENDS, QUERIES]]
    assert rescored[1] == unknown
    assert rescored[0]["scores"]["max"]["combined"] == pytest.approx(1)
    assert rescored[0]["info"]["multiShotCount"] == 2
    assert rescored[2]["scores"]["combinedF1"] == 1
    assert rescored[3]["scores"]["f1"] == 1
    assert rescored[4]["scores"]["0"]["combined"] == 1


def test_rescored_file_agrees_with_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = written(tmp_path, "a.json", CONTENT), tmp_path / "out.json"
    assert main(["rescore", str(source), "--out", str(out)]) == 0
    assert "differs:" in lines_of(capsys)
    assert main(["rescore", str(out)]) == 0
    assert "differs:" not in lines_of(capsys)


def test_records_without_scores_can_be_scored(tmp_path: Path) -> None:
    bare = {key: value for key, value in LINES.items() if key not in {"scores", "info"}}
    out = tmp_path / "out.json"
    assert main(["rescore", str(written(tmp_path, "a.json", json.dumps([bare]).encode())), "--out", str(out)]) == 0
    assert json.loads(out.read_text(encoding="utf-8"))[0]["scores"]["combinedF1"] == 1


def test_password_comes_from_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = str(written(tmp_path, "a.zip", ENCRYPTED))
    monkeypatch.delenv("LLMKG_PASSWORD", raising=False)
    assert main(["rescore", source]) == 2
    assert "set LLMKG_PASSWORD" in capsys.readouterr().err
    monkeypatch.setenv("LLMKG_PASSWORD", PASSWORD)
    assert main(["rescore", source]) == 0
