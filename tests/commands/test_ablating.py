"""``llmkg ablate``: the table that it writes, the command that it runs, and a whole run with a scripted model."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from pytest_llmkg.cli import main
from pytest_llmkg.commands import ablating
from pytest_llmkg.errors import UserError
from pytest_llmkg.models import load_model_table
from pytest_llmkg.pipelines.ablations import ABLATIONS, chosen_ablations, level_name
from pytest_llmkg.pipelines.settings import settings_from
from pytest_llmkg.store import read_run
from tests.pipelines.harbour import GOOD, TURTLE, block

CASES = """
schema = 1
task = "Text2SparqlKgqa"
[defaults]
kg = "harbour"
graph = { file = "harbour.ttl" }
format = "turtle"
language = "en"
[defaults.prefixes]
h = "http://harbour.example/"
[[variant]]
label = "Text2SparqlKgqa-harbour-en"
"""
QUESTIONS = {"ships": GOOD, "lengths": "SELECT ?l { ?s h:length ?l }", "names": "SELECT ?n { ?s a h:Ship ; h:name ?n }"}
SUITE = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_published_ablation_is_a_setting_of_the_pipeline() -> None:
    assert [ablation.id for ablation in ABLATIONS] == [f"A{number}" for number in range(1, 12)]
    for ablation in ABLATIONS:
        for level in ablation.levels:
            settings_from(level, ablation.id)
    assert level_name({"tries": 1, "execution": False}) == "execution=off+tries=1"
    assert [ablation.id for ablation in chosen_ablations(" a8,A1 ")] == ["A1", "A8"]


def test_what_would_be_run_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "llmkg.toml").write_text(
        '[models.mine]\nmodel = "openai/x"\ntemperature = 0.5\n[models.my-rag]\nmodel = "rag:mine"\nextra = { k = 5 }\n'
    )
    arguments = ["ablate", "my-rag", "--ablations", "A3,A5,A10", "--llms", "symbolic", "--out", "out", "--describe"]
    assert main(arguments) == 0
    command = shlex.split(capsys.readouterr().out)
    names = ["my-rag", "my-rag/k_examples=0", "my-rag/ranges=off", "rag:symbolic"]
    assert f"--models={','.join(names)}" in command
    assert "--llmkg-max-turns=1" in command
    table = load_model_table([tmp_path / "out" / "llmkg.toml"])
    assert table["mine"].temperature == 0.5
    assert {name: table[name].extra for name in names} == {
        "my-rag": {"k": 5},
        "my-rag/k_examples=0": {"k": 5, "k_examples": 0},
        "my-rag/ranges=off": {"k": 5, "ranges": False},
        "rag:symbolic": {"k": 5},
    }
    assert all(table[name].connector == "rag" for name in names[1:])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nope"], "unknown model"),
        (["symbolic", "--ablations", "A12"], "unknown ablation"),
        (["symbolic", "--ablations", ","], "names none"),
        (["symbolic", "--only-report"], "run.jsonl"),
        (["symbolic,gpt-4o"], "an ablation has one baseline, found 'symbolic,gpt-4o'"),
        (["symbolic", "--pytest", "'benchmarks"], '--pytest "\'benchmarks": No closing quotation'),
        (["symbolic", "--ablations", "A10"], "A10 and --llms belong together"),
        (["symbolic", "--ablations", "A3", "--llms", "gpt-4o"], "A10 and --llms belong together"),
        (["symbolic", "--ablations", "A10", "--llms", "nope"], "unknown model 'nope'"),
    ],
)
def test_what_cannot_be_done_is_told(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablate", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_a_run_that_is_there_is_never_taken_for_a_new_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out" / "run").mkdir(parents=True)
    (tmp_path / "out" / "run" / "run.jsonl").write_text("of yesterday")
    assert main(["ablate", "symbolic", "--ablations", "A3", "--out", "out"]) == 2
    assert "is there already; look at it with --only-report, or choose another --out" in capsys.readouterr().err
    assert not (tmp_path / "out" / "llmkg.toml").exists()


def test_a_level_that_cannot_be_run_here_is_left_out_and_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> None:
        raise UserError(f"the embedding {name!r} needs a package")

    monkeypatch.setattr(ablating, "load_embedding", missing)
    assert main(["ablate", "symbolic", "--ablations", "A9", "--describe"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "A9 embedding=use is left out: the embedding 'use' needs a package\n"
    assert "--models=rag:symbolic " in printed.out


def test_a_whole_ablation_with_a_scripted_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [
        f"[[case]]\nid = '{name}'\nquestion = '{name}?'\nquery = '{query}'\n" for name, query in QUESTIONS.items()
    ]
    (tmp_path / "harbour.toml").write_text(CASES + "".join(entries))
    (tmp_path / "harbour.ttl").write_text(TURTLE)
    broken = block("SELECT ?s { ?s a h:Boat }")
    cases = {f"Text2SparqlKgqa-harbour-en/{name}": [broken, block(query)] for name, query in QUESTIONS.items()}
    (tmp_path / "script.json").write_text(json.dumps({"cases": cases}))
    suite = (
        f"{SUITE} --tasks=Text2SparqlKgqa-harbour-en --llmkg-cases=harbour.toml --llmkg-max-turns=1 -p no:cacheprovider"
    )
    arguments = ["ablate", "scripted:script.json", "--ablations", "A3,A8", "--out", "out", "--pytest", suite]
    assert main(arguments) == 0
    rows = {row["level"]: row for row in json.loads((tmp_path / "out" / "ablation.json").read_text())["rows"]}
    assert rows[""]["mean"] == 1.0
    assert rows["k_examples=0"]["difference"] == 0.0
    assert rows["execution=off+tries=1+validation=off"]["difference"] == -1.0  # the first try is never corrected
    assert "A8" in (tmp_path / "out" / "ablation.md").read_text()
    assert (tmp_path / "out" / "ablation.svg").read_text().startswith("<?xml")
    answers = [
        t.turns[0].answer
        for t in read_run(tmp_path / "out" / "run").transcripts
        if t.model == "rag:scripted:script.json"
    ]
    assert len(answers) == 3
    for answer in answers:
        assert answer.notes["calls"] == 2
        assert answer.notes["leak"] == {"same_query": [], "same_result": []}
        assert {"retrieve", "model", "validate", "execute", "wait"} <= answer.stages.keys()
    capsys.readouterr()
    assert main([*arguments, "--only-report"]) == 0
    assert "ablation.md" in capsys.readouterr().out


def test_settings_that_a_table_has_for_the_pipeline_are_the_baselines(tmp_path: Path) -> None:
    own = (
        '[models.mine]\nmodel = "openai/x"\n[models."rag:mine"]\nmodel = "mine"\nconnector = "rag"\nextra = { k = 7 }\n'
    )
    (tmp_path / "llmkg.toml").write_text(own)
    assert main(["ablate", "mine", "--ablations", "A3", "--out", "out", "--describe"]) == 0
    assert load_model_table([tmp_path / "out" / "llmkg.toml"])["rag:mine"].extra == {"k": 7}
