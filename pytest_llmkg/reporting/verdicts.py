"""The gate's verdicts for people and programs: terminal, Markdown, GitHub Actions, JUnit, JSON.

The section ``gate`` of ``report.json`` (and ``llmkg gate --json``):

- ``schema``: 1, the number of this layout;
- ``passed``: whether the gate passed; ``run``, ``baseline`` (what it is called: name and run; null without one),
  ``rules`` (as given, with the default);
- ``verdicts``: a list of ``rule``, ``model`` and ``label`` (null: all together), ``passed``, ``value`` (null: could not
  be measured), ``limit``, ``text``, ``note`` (null: none), ``blind`` (no scores could have failed it, since they are
  too few). What ``value`` is depends on the rule: the difference of means (``drop``), the corrected one-sided p
  (``significant-drop``), a mean (``min``), a number (``errors``), US dollars (``max-cost``), seconds
  (``max-seconds``);
- ``findings``: a list of ``kind`` (``missing``, ``signature``, ``prices``, ``note``), ``text``, ``fails`` (whether it
  fails the gate); ``allowed``: kinds that were allowed.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from pytest_llmkg.plain import Json, to_plain
from pytest_llmkg.reporting.formats import plain_line, visible
from pytest_llmkg.reporting.markdown_tables import escaped, table

if TYPE_CHECKING:
    from pytest_llmkg.gate import GateResult, Verdict

__all__ = [
    "github_annotations",
    "headline_of",
    "last_line",
    "verdict_lines",
    "verdicts_json",
    "verdicts_junit",
    "verdicts_markdown",
]

GATE_SCHEMA = 1

MOST_PASSED = 20
"""Passed verdicts that the terminal shows one by one."""

_BLIND = "could not have failed, whatever the scores were: too few cases"

MOST_ANNOTATIONS = 10
"""Failures with an annotation of their own; GitHub shows no more than ten errors of a step."""


def headline_of(result: GateResult) -> str:
    """The whole in one line; a pass that nothing could have failed says so."""
    against = "" if result.baseline is None else f" against baseline {result.baseline}"
    count, blind = len(result.verdicts), sum(verdict.blind for verdict in result.verdicts)
    if _saw_nothing(result):
        return f"gate passed{against}, but nothing could be judged: {_unfailing(blind, count)}"
    told = f"; {_unfailing(blind, count)}" if blind else ""
    if result.passed:
        return f"gate passed{against}: {_number(count, 'verdict')}{told}"
    hindering = sum(map(result.hinders, result.findings))
    parts = [f"{len(result.failed)} of {_number(count, 'verdict')} failed"] if result.failed else []
    parts += [f"{_number(hindering, 'finding')} not allowed"] if hindering else []
    return f"gate FAILED{against}: {', '.join(parts) or 'nothing was judged'}{told}"


def last_line(result: GateResult) -> str:
    """`headline_of` for a terminal: ASCII only."""
    return _plain(headline_of(result))


def _saw_nothing(result: GateResult) -> bool:
    """Whether the gate passed and would have whatever the scores were."""
    return result.passed and all(verdict.blind for verdict in result.verdicts)


def _unfailing(blind: int, count: int) -> str:
    return f"{blind} of {_number(count, 'verdict')} could not have failed (too few cases)"


def _word(row: Verdict) -> str:
    return "FAIL" if not row.passed else "n/a" if row.blind else "pass"


def _in_order(result: GateResult) -> list[Verdict]:
    """Failures first, then what could not be judged."""
    return sorted(result.verdicts, key=lambda verdict: (verdict.passed, not verdict.blind))


def verdict_lines(result: GateResult) -> list[str]:
    """Lines for a terminal, ASCII only, failures first; none is what a CI system takes for a command.

    The word ``n/a`` stands before a verdict that could not have failed.
    """
    rows = _in_order(result)
    passed = [row for row in rows if row.passed]
    shown = [row for row in rows if not row.passed] + passed[:MOST_PASSED]
    rules = max([len("rule"), *(len(_plain(row.rule)) for row in shown)])
    scopes = max([len("judged"), *(len(_plain(_scope(row))) for row in shown)])
    lines = [_plain(headline_of(result)), f"{'':4}  {'rule':<{rules}}  {'judged':<{scopes}}  result"]
    for row in shown:
        lines.append(
            f"{_word(row):<4}  {_plain(row.rule):<{rules}}  {_plain(_scope(row)):<{scopes}}  {_plain(row.text)}"
        )
        lines += [f"      note: {_plain(row.note)}"] if row.note else []
    if len(passed) > MOST_PASSED:
        lines.append(f"pass  {len(passed) - MOST_PASSED} more verdicts")
    for finding in sorted(result.findings, key=lambda one: not result.hinders(one)):
        word = "FAIL  " if result.hinders(finding) else "note  " if finding.kind == "note" else "allow "
        kind = "" if finding.kind == "note" else f"{finding.kind}: "
        lines.append(f"{word}{kind}{_plain(finding.text)}")
    kinds = dict.fromkeys(finding.kind for finding in result.findings if result.hinders(finding))
    lines += [f"      let findings pass by: {', '.join(f'allow:{kind}' for kind in kinds)}"] if kinds else []
    return lines


def verdicts_markdown(result: GateResult) -> str:
    """For a job summary or a pull request."""
    sign = "❌" if not result.passed else "⚠️" if _saw_nothing(result) else "✅"
    lines = [f"## {sign} {escaped(headline_of(result))}", ""]
    lines += [f"Run {escaped(result.run)}, rules: {escaped(', '.join(result.rules))}", ""]
    lines += table(
        ("", "Rule", "Model", "Task variant", "Result"),
        (
            (
                _word(row),
                row.rule,
                row.model or "all together",
                row.label or "all together",
                f"{row.text}. {row.note}" if row.note else row.text,
            )
            for row in _in_order(result)
        ),
        5,
    )
    if result.findings:
        lines += ["", "### Findings", ""]
        lines += [
            f"- **{finding.kind}**{'' if result.hinders(finding) else ' (does not fail the gate)'}: "
            f"{escaped(finding.text)}"
            for finding in result.findings
        ]
    return "\n".join(lines) + "\n"


def github_annotations(result: GateResult) -> list[str]:
    """Workflow commands, one line each: an error for each failure; a notice, or a warning, when the gate passed."""
    if result.passed:
        return [
            _command(
                "warning" if any(row.blind for row in result.verdicts) else "notice", "llmkg gate", headline_of(result)
            )
        ]
    texts = [(f"llmkg gate: {row.rule}", f"{_scope(row)}: {row.text}") for row in result.failed]
    texts += [
        (f"llmkg gate: {finding.kind}", finding.text) for finding in result.findings if result.hinders(finding)
    ] or ([] if texts else [("llmkg gate", headline_of(result))])
    if len(texts) > MOST_ANNOTATIONS:
        left = len(texts) - MOST_ANNOTATIONS + 1
        texts = [*texts[: MOST_ANNOTATIONS - 1], ("llmkg gate", f"{left} more failures; see the job summary")]
    return [_command("error", title, text) for title, text in texts]


def verdicts_junit(result: GateResult) -> str:
    """A JUnit file with one test case for each verdict and each finding; what could not have failed is skipped."""
    root = ET.Element("testsuites")
    findings = [finding for finding in result.findings if finding.kind != "note"]
    failures = len(result.failed) + sum(map(result.hinders, findings))
    suite = ET.SubElement(
        root,
        "testsuite",
        {
            "name": "llmkg gate",
            "tests": str(len(result.verdicts) + len(findings)),
            "failures": str(failures),
            "errors": "0",
            "skipped": str(
                len(findings) - sum(map(result.hinders, findings)) + sum(row.blind for row in result.verdicts)
            ),
        },
    )
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", {"name": "headline", "value": _xml(headline_of(result))})
    for row in result.verdicts:
        case = _case(suite, row.rule, _scope(row))
        if not row.passed:
            _with_message(case, "failure", row.text)
        elif row.blind:
            _with_message(case, "skipped", _BLIND)
        ET.SubElement(case, "system-out").text = _xml(f"{row.text}. {row.note}" if row.note else row.text)
    for number, finding in enumerate(findings, 1):
        case = _case(suite, finding.kind, f"finding {number}")
        _with_message(case, "failure" if result.hinders(finding) else "skipped", finding.text)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def verdicts_json(result: GateResult) -> dict[str, Json]:
    """The section ``gate`` of ``report.json``; see the module."""
    section: dict[str, Json] = {
        "schema": GATE_SCHEMA,
        "passed": result.passed,
        "run": result.run,
        "baseline": result.baseline,
        "rules": to_plain(result.rules),
        "verdicts": to_plain(result.verdicts),
        "findings": [{"kind": one.kind, "text": one.text, "fails": result.hinders(one)} for one in result.findings],
        "allowed": to_plain(result.allowed),
    }
    # Once more as a whole, so that no lone surrogate is left in any text.
    return {name: to_plain(value) for name, value in section.items()}


def _scope(row: Verdict) -> str:
    return ", ".join(dict.fromkeys((row.model or "all together", row.label or "all together")))


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _plain(text: str) -> str:
    return plain_line(_one_line(text))


def _one_line(text: str) -> str:
    return " ".join(visible(text).split())


def _command(name: str, title: str, text: str) -> str:
    # As the runner unescapes: https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts
    message = _one_line(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    head = _one_line(title).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    return f"::{name} title={head}::{message}"


def _case(suite: ET.Element, rule: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", {"classname": _xml(f"llmkg.gate.{rule}"), "name": _xml(name), "time": "0"})


def _with_message(case: ET.Element, kind: str, text: str) -> None:
    ET.SubElement(case, kind, {"message": _xml(text)})


def _xml(text: str) -> str:
    """``text`` without what XML 1.0 cannot hold."""
    return visible(text)
