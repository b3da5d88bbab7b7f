"""The command line itself: complaints are one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.cli import main

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "x\n::error::boo\r\x1b[31m\u2028y"
SHOWN = "x\\n::error::boo\\r\\x1b[31m\\u2028y"


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", HOSTILE),
        ("text2sparql", "ask", HOSTILE, "empty"),
        ("gate", HOSTILE, "--baseline", HOSTILE),
        ("compare", HOSTILE, HOSTILE),
        ("merge", HOSTILE, "--out", "new"),
        ("ablate", HOSTILE),
        ("rescore", f"{HOSTILE}.json"),
    ],
)
def test_no_name_in_a_complaint_begins_a_line(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status = main(arguments)
    told = capsys.readouterr()
    lines = (told.out + told.err).split("\n")
    assert status != 0
    assert any("::error::boo" in line for line in lines)
    assert not any(line.startswith("::error") for line in lines)
    assert not {"\r", "\x1b", "\u2028"} & set(told.out + told.err)


def test_what_cannot_be_printed_is_shown_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", HOSTILE]) == 2
    assert capsys.readouterr().err.startswith(f"llmkg: error: {SHOWN}: ")


def test_the_parser_speaks_in_one_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", "run", f"--{HOSTILE}"])
    assert f"error: unrecognized arguments: --{SHOWN}\n" in capsys.readouterr().err
