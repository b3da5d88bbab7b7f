"""The aggregates against recorded runs of LLM-KG-Bench 3, read in memory and no part of this project."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_llmkg.analysis.dialogue import layout_of_turns
from pytest_llmkg.records import TaskInfo

REFERENCE = Path(__file__).parents[2].parent / "shared" / "reference"
ARCHIVES = ("Anthropic-Claude-3-5-Haiku.zip", "Google-Gemini-2-0-Flash.zip", "OpenAI-GPT-3-5t.zip")
AGGREGATES = ("mean", "max", "meanExt", "last")
SPARQL_NAMES = ("answerParse", "f1measure", "combined")


def password() -> str:
    """From the environment, else as the data's description gives it."""
    if given := os.environ.get("LLMKG_PASSWORD"):
        return given
    found = re.search(r"password [^`]*`([^`]+)`", (REFERENCE / "README.md").read_text(encoding="utf-8"))
    if not found:
        pytest.skip("no password for the recorded runs: set LLMKG_PASSWORD")
    return found[1]


def recorded_dialogues(archive: str) -> list[dict[str, Any]]:
    pyzipper = pytest.importorskip("pyzipper")
    with pyzipper.AESZipFile(REFERENCE / "llm-kg-bench-v3" / archive) as bundle:
        bundle.setpassword(password().encode())
        name = next(n for n in bundle.namelist() if "_result_" in n and n.endswith(".json"))
        records = json.loads(bundle.read(name))
    return [record for record in records if "meanExt" in record["scores"]]


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the recorded runs (../shared/reference) are not here")
@pytest.mark.parametrize("archive", ARCHIVES)
def test_recorded_turns_give_the_recorded_aggregates(archive: str) -> None:
    dialogues = recorded_dialogues(archive)
    assert len(dialogues) == 10 * 20
    for number, record in enumerate(dialogues):
        scores = record["scores"]
        task = record["taskInfo"]["taskId"]
        names = () if task.startswith("RdfSyntaxFix") else SPARQL_NAMES
        info = TaskInfo(task, "recorded", "SPARQL", "", "max_combined", 3, names)
        turns = [scores[str(turn)] for turn in range(3) if str(turn) in scores]
        layout = layout_of_turns(turns, info)
        for aggregate in AGGREGATES:
            assert layout[aggregate] == pytest.approx(scores[aggregate], abs=1e-9), f"{task} {number} {aggregate}"
