"""``hide_cases``: scores of sealed cases are shown, what was asked and answered is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.records import Answer, Case, Evaluation, FailedCall, Prompt, ScoreSet, Turn
from pytest_llmkg.reporting.dialogue_files import DialogueFiles
from pytest_llmkg.reporting.dialogues import HIDDEN, dialogue_groups
from pytest_llmkg.reporting.html import render_page
from pytest_llmkg.reporting.markdown import render_markdown
from pytest_llmkg.reporting.tabular import render_csv, render_json
from pytest_llmkg.reporting.views import Report, build_report
from pytest_llmkg.store import Run
from tests.builders import make_header, make_transcript

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_llmkg.plain import Json

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SECRETS = (
    *("secret-prompt", "secret-answer", "secret-info", "secret-error", "secret-late", "secret-question"),
    *("secret-thought", "secret-call", "secret-note"),
)


def report(settings: Mapping[str, Json], *, sealed: bool = True, known: bool = True) -> Report:
    """A run with one evaluated dialogue, 0.625, and one that broke off; every text of them is in `SECRETS`."""
    evaluation = Evaluation("scored", (ScoreSet("rules:v1", {"f1": 0.625}),), {"note": "secret-info"})
    answer = Answer(
        "secret-answer",
        "stop",
        reasoning="secret-thought",
        failed_calls=(FailedCall("refused: secret-call", 400),),
        notes={"example": "secret-note"},
    )
    turn = Turn(Prompt.user("secret-prompt"), answer, evaluation)
    broken = replace(
        make_transcript(turn, iteration=2, error="boom: secret-error"), unevaluated=Answer("secret-late", "stop")
    )
    case = Case("c1", "Flat", "Flat", {"question": "secret-question"}, sealed)
    header = replace(make_header("m"), settings=settings)
    return build_report([Run(header, {"Flat/c1": case} if known else {}, (make_transcript(turn), broken))])


def test_no_text_of_a_sealed_case_is_in_any_report() -> None:
    hidden = report({"hide_cases": True})
    page = render_page(hidden, NOW)
    texts = (page, render_markdown(hidden, NOW), render_csv(hidden), render_json(hidden, NOW))
    assert [secret for secret in SECRETS for text in texts if secret in text] == []
    assert HIDDEN in page
    assert all("0.625" in text for text in texts)
    assert "secret" not in repr(dialogue_groups(hidden, 10))


def test_no_text_of_a_sealed_case_is_in_files_beside_the_page(tmp_path: Path) -> None:
    hidden, shown = (
        Run(replace(made.headers[0], run=name), made.cases, tuple(made.full(t) for t in made.transcripts))
        for name, made in (("hidden", report({"hide_cases": True})), ("shown", report({})))
    )
    for run in (hidden, shown):
        files = DialogueFiles(tmp_path / run.header.run, "token", limit=0)
        build_report([run], files.add)
        assert not files.finish().is_inline
    written = {
        name: "".join(path.read_text(encoding="utf-8") for path in (tmp_path / name).iterdir())
        for name in ("hidden", "shown")
    }
    assert [secret for secret in SECRETS if secret in written["hidden"]] == []
    assert [secret for secret in SECRETS if secret not in written["shown"]] == []
    assert "0.625" in written["hidden"]


def test_who_hides_keeps_numbers_roles_and_outcomes() -> None:
    shown, hidden = (dialogue_groups(report(settings), 10) for settings in ({}, {"hide_cases": True}))
    for before, after in zip(shown[0].dialogues, hidden[0].dialogues, strict=True):
        assert (after.case, after.headline, after.outcome) == (before.case, before.headline, before.outcome)
        assert after.turns[0].scores == before.turns[0].scores
        assert after.turns[0].messages == (("user", after.turns[0].answer),)
        assert (before.error is None) == (after.error is None)


@pytest.mark.parametrize(
    ("settings", "sealed"), [({}, True), ({"hide_cases": False}, True), ({"hide_cases": True}, False)]
)
def test_nothing_else_is_hidden(settings: dict[str, Json], sealed: bool) -> None:
    page = render_page(report(settings, sealed=sealed), NOW)
    assert all(secret in page for secret in SECRETS)
    assert HIDDEN not in page


def test_a_dialogue_whose_case_is_unknown_is_hidden_to_be_safe() -> None:
    assert "secret" not in render_page(report({"hide_cases": True}, known=False), NOW)
