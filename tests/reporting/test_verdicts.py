"""Verdicts as text: nothing that a model, a label or a case is called may steer a terminal, a CI system or a page."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.analysis.comparability import Finding
from pytest_llmkg.gate import GateResult, Verdict
from pytest_llmkg.reporting.markdown_tables import escaped, link
from pytest_llmkg.reporting.verdicts import (
    MOST_ANNOTATIONS,
    MOST_PASSED,
    github_annotations,
    headline_of,
    verdict_lines,
    verdicts_json,
    verdicts_junit,
    verdicts_markdown,
)

PASS = Verdict("drop:0.1", "m", None, passed=True, value=-0.05, limit=0.1, text="fell by 0.05", note="beware")
FAIL = replace(PASS, label="Tiny", passed=False, text="fell by 0.5", note=None)
FINDINGS = (Finding("missing", "c1 is missing"), Finding("prices", "dearer"), Finding("note", "rdflib 8"))
RESULT = GateResult("new", "main", ("drop:0.1", "allow:prices"), (PASS, FAIL), FINDINGS, ("prices",))
GOOD = replace(RESULT, verdicts=(PASS,), findings=FINDINGS[1:])
TEXTS = (
    "\n::error::pwned",
    "::set-output name=a::b",
    "##[error]x",
    "%0A::add-mask::x",
    "</testcase><x>&\x00\x1b[31m\ud800",
    "a|b`c`[x](http://e.example) @all <script>",
    "]]>\u202e\u2028::warning::",
)
any_text = st.sampled_from(TEXTS) | st.text(max_size=20)


def result_with(text: str) -> GateResult:
    verdict = replace(FAIL, rule=text, model=text, label=text, text=text, note=text)
    return GateResult(text, text, (text,), (verdict, replace(verdict, passed=True)), (Finding("missing", text),), ())


def test_terminal() -> None:
    assert verdict_lines(RESULT) == [
        "gate FAILED against baseline main: 1 of 2 verdicts failed, 1 finding not allowed",
        "      rule      judged           result",
        "FAIL  drop:0.1  m, Tiny          fell by 0.5",
        "pass  drop:0.1  m, all together  fell by 0.05",
        "      note: beware",
        "FAIL  missing: c1 is missing",
        "allow prices: dearer",
        "note  rdflib 8",
        "      let findings pass by: allow:missing",
    ]
    assert verdict_lines(GOOD)[0] == "gate passed against baseline main: 1 verdict"
    assert headline_of(replace(RESULT, verdicts=(), findings=())).endswith("nothing was judged")


def test_terminal_of_many_verdicts() -> None:
    lines = verdict_lines(replace(RESULT, verdicts=(PASS,) * (MOST_PASSED + 7), findings=()))
    assert lines[-1] == "pass  7 more verdicts"
    assert len(lines) == 2 + 2 * MOST_PASSED + 1


@given(any_text)
def test_terminal_is_plain_and_no_command(text: str) -> None:
    for line in verdict_lines(result_with(text)):
        assert re.fullmatch(r"[ -~]*", line)
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


def test_annotations() -> None:
    assert github_annotations(RESULT) == [
        "::error title=llmkg gate%3A drop%3A0.1::m, Tiny: fell by 0.5",
        "::error title=llmkg gate%3A missing::c1 is missing",
    ]
    assert github_annotations(GOOD) == ["::notice title=llmkg gate::gate passed against baseline main: 1 verdict"]
    many = github_annotations(replace(RESULT, verdicts=(FAIL,) * 30))
    assert len(many) == MOST_ANNOTATIONS
    assert many[-1].endswith("::22 more failures; see the job summary")
    assert len(github_annotations(replace(RESULT, verdicts=(), findings=()))) == 1


@given(any_text)
def test_annotations_cannot_be_broken_out_of(text: str) -> None:
    """Read as GitHub's runner does: one command a line, properties up to the next ``::``, split at commas."""
    for line in github_annotations(result_with(text)):
        assert len(line.splitlines()) == 1
        found = re.fullmatch(r"::error title=([^:,]*)::(.*)", line)
        assert found is not None
        assert not re.search(r"%(?!25|3A|2C|0D|0A)", found[1] + found[2])


def test_markdown() -> None:
    text = verdicts_markdown(RESULT)
    assert text.startswith("## ❌ gate FAILED against baseline main: 1 of 2")
    assert "| FAIL | drop:0.1 | m | Tiny | fell by 0.5 |" in text
    assert "- **prices** (does not fail the gate): dearer" in text
    assert verdicts_markdown(GOOD).startswith("## ✅ gate passed")


@given(any_text)
def test_markdown_stays_a_table(text: str) -> None:
    lines = verdicts_markdown(result_with(text)).split("\n")
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
    for line in lines:
        assert not re.search(r"(?<!\\)[<>`$~]|@|://", line)


@given(any_text, any_text)
def test_links_stay_links(text: str, address: str) -> None:
    found = re.fullmatch(r"\[(.*)\]\(([!-~]*)\)", link(text, address.encode("utf-8", "replace").decode()))
    assert found is not None
    assert not re.search(r"(?<!\\)[\[\]]", found[1])
    assert not re.search(r"[()<>\"\s]", found[2])


def test_escaped_is_still_readable() -> None:
    assert escaped("scripted:m.json drop:0.1") == "scripted:m.json drop:0.1"
    assert escaped("see http://www.x.org") == "see http&#58;//www&#46;x.org"


def test_junit() -> None:
    suite = ET.fromstring(verdicts_junit(RESULT)).find("testsuite")  # noqa: S314  (made here)
    assert suite is not None
    assert suite.attrib == {"name": "llmkg gate", "tests": "4", "failures": "2", "errors": "0", "skipped": "1"}
    failures = [case.find("failure") for case in suite.iter("testcase")]
    assert [None if one is None else one.get("message") for one in failures] == [
        None,
        "fell by 0.5",
        "c1 is missing",
        None,
    ]
    assert [case.get("name") for case in suite.iter("testcase")] == [
        "m, all together",
        "m, Tiny",
        "finding 1",
        "finding 2",
    ]


@given(any_text)
def test_junit_is_always_xml(text: str) -> None:
    root = ET.fromstring(verdicts_junit(result_with(text)).encode())  # noqa: S314
    assert len(list(root.iter("testcase"))) == 3
    assert len(list(root.iter("failure"))) == 2


def test_json() -> None:
    data = verdicts_json(RESULT)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert (data["schema"], data["passed"], data["baseline"]) == (1, False, "main")
    assert data["findings"] == [
        {"kind": "missing", "text": "c1 is missing", "fails": True},
        {"kind": "prices", "text": "dearer", "fails": False},
        {"kind": "note", "text": "rdflib 8", "fails": False},
    ]
    assert isinstance(data["verdicts"], list)
    assert data["verdicts"][1] == {
        "rule": "drop:0.1",
        "model": "m",
        "label": "Tiny",
        "passed": False,
        "value": -0.05,
        "limit": 0.1,
        "text": "fell by 0.5",
        "note": None,
        "blind": False,
    }


@pytest.mark.parametrize("text", TEXTS)
def test_json_of_anything(text: str) -> None:
    assert json.dumps(verdicts_json(result_with(text)), ensure_ascii=False).encode("utf-8")


BLIND = replace(PASS, rule="significant-drop:0.05", note="3 independent values are too few", blind=True)
UNSEEING = replace(GOOD, verdicts=(BLIND, replace(BLIND, label="Tiny")), findings=())


def test_a_pass_that_nothing_could_have_failed_says_so() -> None:
    told = "gate passed against baseline main, but nothing could be judged: 2 of 2 verdicts could not have failed"
    assert UNSEEING.passed
    assert headline_of(UNSEEING) == f"{told} (too few cases)"
    assert [line.split()[0] for line in verdict_lines(UNSEEING) if "Tiny" in line] == ["n/a"]
    assert verdicts_markdown(UNSEEING).startswith("## ⚠️ gate passed against baseline main, but")
    assert github_annotations(UNSEEING) == [f"::warning title=llmkg gate::{told} (too few cases)"]


def test_verdicts_that_could_not_have_failed_are_counted_beside_others() -> None:
    some = replace(UNSEEING, verdicts=(PASS, BLIND, FAIL))
    told = "1 of 3 verdicts could not have failed (too few cases)"
    assert headline_of(some) == f"gate FAILED against baseline main: 1 of 3 verdicts failed; {told}"
    assert headline_of(replace(some, verdicts=(PASS, PASS, BLIND))) == (
        f"gate passed against baseline main: 3 verdicts; {told}"
    )
    assert [line.split()[0] for line in verdict_lines(some)[2:] if "note:" not in line] == ["FAIL", "n/a", "pass"]
    assert "✅" in verdicts_markdown(replace(some, verdicts=(PASS, BLIND)))


def test_junit_skips_what_could_not_have_failed() -> None:
    suite = ET.fromstring(verdicts_junit(replace(UNSEEING, verdicts=(PASS, BLIND)))).find("testsuite")  # noqa: S314
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "0", "1")
    skipped = [case.find("skipped") for case in suite.iter("testcase")]
    assert [None if one is None else one.get("message") for one in skipped] == [
        None,
        "could not have failed, whatever the scores were: too few cases",
    ]
    found = suite.find("properties/property")
    assert found is not None
    assert str(found.get("value")).endswith("1 of 2 verdicts could not have failed (too few cases)")
