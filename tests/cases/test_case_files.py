"""Case files: what is right becomes cases, what is wrong is told with file, entry and field."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.cases import sealed
from pytest_llmkg.cases.files import load_case_files
from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.errors import CaseFileError
from pytest_llmkg.records import Case
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.contracts import Task
    from pytest_llmkg.registry import Registry

HEAD = 'schema = 1\ntask = "RdfSyntaxFixList"\n'
VARIANT = '[[variant]]\nlabel = "Fix-turtle"\nformat = "turtle"\n'
CASE = '[[case]]\nid = "c1"\nbroken = ":a :b"\nreference = ":a :b :c ."\n'
GOOD = HEAD + VARIANT + CASE
FRIENDS = """
schema = 1
task = "RdfFriendCount"
[[variant]]
label = "Friends-nt"
format = "nt"
specialAddKnowsCount = 1
[[case]]
id = "n6"
n = 6
knowsCount = 2
specialIndex = 4
"""


@pytest.fixture(scope="module")
def tasks() -> Registry[Task]:
    return discover_tasks()


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    folder = tmp_path / "graphs"
    folder.mkdir()
    (folder / "shared.ttl").write_text(":a :b :c .", encoding="utf-8")
    return folder


def load(text: str | bytes, graphs: Path, tasks: Registry[Task], name: str = "mine.toml") -> tuple[Case, ...]:
    folder = graphs.parent / "cases"
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_case_files([path], graphs, tasks, seed=1)


def test_a_case_has_the_fields_of_its_entry_variant_and_defaults(graphs: Path, tasks: Registry[Task]) -> None:
    defaults = '[defaults]\nnote = "by default"\nformat = "nt"\n'
    second = '[[case]]\nid = "c-2"\nbroken = "x"\nreference = "y"\nnote = "its own"\n'
    assert load(HEAD + defaults + VARIANT + CASE + second, graphs, tasks) == (
        Case(
            "c1",
            "RdfSyntaxFixList",
            "Fix-turtle",
            {"note": "by default", "format": "turtle", "broken": ":a :b", "reference": ":a :b :c ."},
        ),
        Case(
            "c-2",
            "RdfSyntaxFixList",
            "Fix-turtle",
            {"note": "its own", "format": "turtle", "broken": "x", "reference": "y"},
        ),
    )


def test_cases_come_by_variant_then_entry_and_may_choose_variants(graphs: Path, tasks: Registry[Task]) -> None:
    other = '[[variant]]\nlabel = "Fix-nt"\nformat = "nt"\n'
    second = '[[case]]\nid = "c2"\nvariants = ["Fix-nt"]\nbroken = "x"\nreference = "y"\n'
    cases = load(HEAD + VARIANT + other + CASE + second, graphs, tasks)
    assert [(case.label, case.id) for case in cases] == [("Fix-turtle", "c1"), ("Fix-nt", "c1"), ("Fix-nt", "c2")]
    assert all("variants" not in case.data and "label" not in case.data for case in cases)


def test_folders_are_read_in_order_of_name(graphs: Path, tasks: Registry[Task]) -> None:
    folder = graphs.parent / "cases"
    folder.mkdir()
    for name in ("b", "a"):
        (folder / f"{name}.toml").write_text(GOOD.replace('"c1"', f'"{name}"'), encoding="utf-8")
    (folder / "notes.txt").write_text("not a case file", encoding="utf-8")
    assert [case.id for case in load_case_files([folder], graphs, tasks, 1)] == ["a", "b"]


def test_files_are_included_from_beside_the_case_file_first(graphs: Path, tasks: Registry[Task]) -> None:
    text = HEAD + VARIANT + '[[case]]\nid = "c1"\nbroken = "x"\nreference = { file = "shared.ttl" }\n'
    assert load(text, graphs, tasks)[0].data["reference"] == ":a :b :c ."
    (graphs.parent / "cases" / "shared.ttl").write_text("# mine", encoding="utf-8")
    assert load(text, graphs, tasks)[0].data["reference"] == "# mine"


def test_files_of_inner_folders_may_be_included(graphs: Path, tasks: Registry[Task]) -> None:
    (graphs / "inner").mkdir()
    (graphs / "inner" / "g.ttl").write_text("# inner", encoding="utf-8")
    text = GOOD.replace('":a :b"', '{ file = "inner/../inner/g.ttl" }')
    assert load(text, graphs, tasks)[0].data["broken"] == "# inner"


@pytest.mark.parametrize("name", ["../secret.txt", "../../secret.txt", "inner/../../secret.txt", "/etc/hostname"])
def test_no_file_outside_of_the_folders_is_shown(name: str, graphs: Path, tasks: Registry[Task]) -> None:
    (graphs.parent / "secret.txt").write_text("secret", encoding="utf-8")
    (graphs.parent.parent / "secret.txt").write_text("secret", encoding="utf-8")
    with pytest.raises(CaseFileError, match=r"case 'c1' .*field 'broken': file .* lies outside of "):
        load(GOOD.replace('":a :b"', f'{{ file = "{name}" }}'), graphs, tasks)


def test_no_link_leads_outside(graphs: Path, tasks: Registry[Task]) -> None:
    (graphs.parent / "secret.txt").write_text("secret", encoding="utf-8")
    (graphs / "link.ttl").symlink_to(graphs.parent / "secret.txt")
    with pytest.raises(CaseFileError, match="lies outside of"):
        load(GOOD.replace('":a :b"', '{ file = "link.ttl" }'), graphs, tasks)


def test_generated_cases_hold_their_graph(graphs: Path, tasks: Registry[Task]) -> None:
    (case,) = load(FRIENDS, graphs, tasks)
    assert case.data["specialNodeIri"] == "https://kg.example/people/person-00000005"
    assert case.data["n"] == 6
    assert case.text("graph").count("knows") == 13


BROKEN = {
    "not TOML": ("schema = ", [r"not a TOML file"]),
    "a key twice": (GOOD + 'broken = "again"\n', ["not a TOML file", "line 10"]),
    "nested deeply": ("x = " + "[" * 5000 + "]" * 5000, ["not a TOML file: nested too deeply"]),
    "other schema": (GOOD.replace("schema = 1", "schema = 2"), ["field 'schema' must be 1, found 2"]),
    "no schema": (GOOD.replace("schema = 1\n", ""), ["field 'schema' must be 1, found None"]),
    "unknown top field": ("cases = []\n" + GOOD, ["unknown field 'cases'", "a case file has canary, case, defaults,"]),
    "unknown task": (GOOD.replace("FixList", "FixLst"), ["field 'task'", "did you mean 'RdfSyntaxFixList'"]),
    "no task": (GOOD.replace('task = "RdfSyntaxFixList"\n', ""), ["field 'task'", "unknown task 'None'"]),
    "defaults no table": ("defaults = 3\n" + GOOD, ["field 'defaults' must be a table"]),
    "no variant": (HEAD + CASE, [r"at least one [[variant]]"]),
    "no case": (HEAD + VARIANT, [r"at least one [[case]]"]),
    "case no table": ("case = [1]\n" + HEAD + VARIANT, [r"at least one [[case]]"]),
    "variant without label": (GOOD.replace('label = "Fix-turtle"\n', ""), ["[[variant]]", "'label'"]),
    "case without id": (GOOD.replace('id = "c1"\n', ""), ["case 1: field 'id'", "found None"]),
    "bad id": (GOOD.replace('"c1"', '"C 1"'), ["case 1: field 'id'", "'C 1'"]),
    "id with double hyphen": (GOOD.replace('"c1"', '"c--1"'), ["case 1: field 'id'"]),
    "id no text": (GOOD.replace('"c1"', "1"), ["case 1: field 'id'", "found 1"]),
    "same id twice": (GOOD + CASE, ["case 'c1' of Fix-turtle exists already"]),
    "same label twice": (HEAD + VARIANT + VARIANT + CASE, ["case 'c1' of Fix-turtle exists already"]),
    "unknown variant": (GOOD + 'variants = ["Fix-xml"]\n', ["case 'c1'", "field 'variants'", "no variant 'Fix-xml'"]),
    "variants no list": (GOOD + 'variants = "Fix-turtle"\n', ["case 'c1'", "field 'variants'"]),
    "no variant chosen": (GOOD + "variants = []\n", ["case 'c1'", "field 'variants'", "would never be asked"]),
    "format misspelt": (
        GOOD.replace('"turtle"', '"turtel"'),
        ["case 'c1' (Fix-turtle)", "unknown serialization format 'turtel', did you mean 'turtle'"],
    ),
    "missing field": (
        GOOD.replace('reference = ":a :b :c ."\n', ""),
        ["case 'c1' (Fix-turtle)", "field 'reference' is missing"],
    ),
    "unknown field": (GOOD + 'refrence = "x"\n', ["case 'c1' (Fix-turtle)", "unknown field 'refrence'"]),
    "wrong type": (GOOD.replace('":a :b"', "3"), ["case 'c1'", "field 'broken' must be a text, found 3"]),
    "date": (GOOD.replace('":a :b"', "2020-01-01"), ["case 'c1'", "field 'broken' must be a text"]),
    "absent file": (
        GOOD.replace('":a :b"', '{ file = "nowhere.ttl" }'),
        ["case 'c1'", "field 'broken'", "no file 'nowhere.ttl'"],
    ),
    "file is a folder": (GOOD.replace('":a :b"', '{ file = "." }'), ["field 'broken'", "no file '.'"]),
    "file with zero byte": (GOOD.replace('":a :b"', r'{ file = "a\u0000b" }'), ["field 'broken'", "no file"]),
    "file with long name": (GOOD.replace('":a :b"', f'{{ file = "{"x" * 5000}" }}'), ["field 'broken'", "no file"]),
    "file no text": (GOOD.replace('":a :b"', "{ file = 3 }"), ["field 'broken'", "no file"]),
    "file with more": (GOOD.replace('":a :b"', '{ file = "shared.ttl", x = 1 }'), ["field 'broken' must be a text"]),
    "impossible parameters": (FRIENDS.replace("Index = 4", "Index = 1"), ["case 'n6' (Friends-nt)", "specialIndex=1"]),
    "parameter no number": (FRIENDS.replace("n = 6", 'n = "6"'), ["case 'n6'", "field 'n' must be a whole number"]),
    "boolean for number": (FRIENDS.replace("n = 6", "n = true"), ["case 'n6'", "field 'n' must be a whole number"]),
    "unknown format": (FRIENDS.replace('"nt"', '"n3"'), ["case 'n6' (Friends-nt)", "unknown serialization format"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_complaint_names_file_entry_and_field(name: str, graphs: Path, tasks: Registry[Task]) -> None:
    text, expected = BROKEN[name]
    with pytest.raises(CaseFileError) as caught:
        load(text, graphs, tasks)
    complaint = str(caught.value)
    assert complaint.startswith(f"{graphs.parent / 'cases' / 'mine.toml'}: ")
    for part in expected:
        assert part in complaint
    assert "\n" not in complaint


def test_text_in_another_encoding_is_refused(graphs: Path, tasks: Registry[Task]) -> None:
    with pytest.raises(CaseFileError, match=r"mine\.toml: not a text in UTF-8: .*position"):
        load(GOOD.replace("c1", "é").encode("latin-1"), graphs, tasks)


def test_included_text_in_another_encoding_is_refused(graphs: Path, tasks: Registry[Task]) -> None:
    (graphs / "latin.ttl").write_bytes("é".encode("latin-1"))
    with pytest.raises(CaseFileError, match=r"case 'c1' .*field 'broken': file 'latin.ttl': not a text in UTF-8"):
        load(GOOD.replace('":a :b"', '{ file = "latin.ttl" }'), graphs, tasks)


def test_huge_files_are_refused_before_they_are_read(
    graphs: Path, tasks: Registry[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    with (graphs / "huge.ttl").open("wb") as file:
        file.truncate(64 * 2**20 + 1)  # a hole, takes no room
    with pytest.raises(CaseFileError, match=r"field 'broken': file 'huge.ttl': larger than 64 MiB"):
        load(GOOD.replace('":a :b"', '{ file = "huge.ttl" }'), graphs, tasks)
    with pytest.raises(CaseFileError, match=r"huge\.ttl: larger than 64 MiB"):
        load_case_files([graphs / "huge.ttl"], graphs, tasks, 1)
    monkeypatch.setattr(sealed, "LARGEST_FILE", len(GOOD))
    assert len(load(GOOD, graphs, tasks)) == 1
    with pytest.raises(CaseFileError, match="split the file"):
        load(GOOD + "\n", graphs, tasks)


def test_absent_file_is_named(graphs: Path, tasks: Registry[Task]) -> None:
    with pytest.raises(CaseFileError, match=r"absent\.toml: cannot be read: No such file"):
        load_case_files([graphs / "absent.toml"], graphs, tasks, 1)


def test_ids_must_be_unique_over_all_files(graphs: Path, tasks: Registry[Task]) -> None:
    load(GOOD, graphs, tasks, "a.toml")
    load(GOOD, graphs, tasks, "b.toml")
    with pytest.raises(CaseFileError, match=r"b\.toml: case 'c1' of Fix-turtle exists already"):
        load_case_files([graphs.parent / "cases"], graphs, tasks, 1)


def test_complaints_are_the_same_each_time(graphs: Path, tasks: Registry[Task]) -> None:
    # Of several unknown fields the first by name is told, not one that the hash seed picks.
    with pytest.raises(CaseFileError, match="unknown field 'aa'"):
        load(GOOD + "zz = 1\nmm = 1\naa = 1\n", graphs, tasks)


def test_shipped_case_files_load(tasks: Registry[Task]) -> None:
    root = fixtures_root()
    cases = load_case_files([root / "cases"], root / "graphs", tasks, 1)
    assert len(cases) >= 100
    assert len({(case.label, case.id) for case in cases}) == len(cases)
    assert all(re.fullmatch(r"[A-Za-z0-9-]+", case.label) for case in cases)
    assert load_case_files([root / "cases"], root / "graphs", tasks, 1) == cases
