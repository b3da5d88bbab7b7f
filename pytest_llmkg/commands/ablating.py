"""``llmkg ablate``: the published ablations of the retrieval pipeline as one run, with a table and a plot."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.paired import compare_all
from pytest_llmkg.analysis.values import headline_values
from pytest_llmkg.commands import Command
from pytest_llmkg.connectors import discover
from pytest_llmkg.errors import UserError
from pytest_llmkg.models import load_model_table, model_table_paths, resolve_models
from pytest_llmkg.pipelines.ablations import chosen_ablations, level_name
from pytest_llmkg.pipelines.retrieval import load_embedding
from pytest_llmkg.pipelines.settings import settings_from
from pytest_llmkg.reporting.ablation import AblationRow, ablation_json, ablation_markdown, ablation_svg
from pytest_llmkg.reporting.files import write_atomically
from pytest_llmkg.store import read_run

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.analysis.values import CaseValues
    from pytest_llmkg.pipelines.ablations import Ablation
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import ModelSpec

__all__ = ["COMMANDS"]

_SCHEME = "rag"
# One turn, or the hints of the task would do again what an ablation takes out of the pipeline.
_SUITE = "benchmarks --tasks=*Kgqa* --llmkg-max-turns=1"


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model to wrap, or a rag model of a table, whose settings are the baseline")
    add("--ablations", metavar="A1,A2,..", default="", help="which ones (default: all)")
    add("--llms", metavar="MODEL,..", default="", help="the other models of A10")
    add(
        "--out",
        type=Path,
        default=Path("reports/ablation"),
        help="folder of tables, plot and run (default: %(default)s)",
    )
    add("--describe", action="store_true", help="write the model table and print the command, run nothing")
    add("--only-report", action="store_true", help="make table and plot of the run that is there already")
    add("--pytest", metavar="ARGUMENTS", default=_SUITE, help="what pytest is given, in quotes (default: %(default)s)")


def _run(options: argparse.Namespace) -> int:
    ablations = chosen_ablations(options.ablations)
    if options.ablations and ("A10" in {ablation.id for ablation in ablations}) != bool(options.llms.strip()):
        raise UserError("A10 and --llms belong together: A10 compares the models that --llms names")
    plan = _Plan.make(options.model, ablations, options.llms)
    command = _command(options, plan)
    run = options.out / "run"
    if not options.only_report and not options.describe and run.exists():
        raise UserError(f"{run} is there already; look at it with --only-report, or choose another --out")
    options.out.mkdir(parents=True, exist_ok=True)
    for note in plan.left_out:
        print(note, file=sys.stderr)
    if not options.only_report:
        write_atomically(options.out / "llmkg.toml", _table(plan.specs))
        if options.describe:
            print(shlex.join(command))
            return 0
        _run_pytest(command, run)
    rows = plan.rows(run)
    write_atomically(options.out / "ablation.md", ablation_markdown(rows, plan.baseline))
    write_atomically(options.out / "ablation.svg", ablation_svg(rows, plan.baseline))
    data = json.dumps(ablation_json(rows, plan.baseline), indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(options.out / "ablation.json", data + "\n")
    print(ablation_markdown(rows, plan.baseline))
    print(f"wrote {options.out / 'ablation.md'}, ablation.svg and ablation.json")
    return 0


def _command(options: argparse.Namespace, plan: _Plan) -> list[str]:
    try:
        given = shlex.split(options.pytest)
    except ValueError as error:
        raise UserError(f"--pytest {options.pytest!r:.200}: {error}") from error
    models = ",".join(spec.id for spec in plan.specs)
    places = [f"--llmkg-run-dir={(options.out / 'run').resolve()}", f"--rootdir={options.out.resolve()}"]
    return [sys.executable, "-m", "pytest", *given, f"--models={models}", *places]


def _run_pytest(command: list[str], run: Path) -> None:
    status = subprocess.run(command, check=False).returncode  # noqa: S603  (what the user asked for)
    if not (run / "run.jsonl").is_file():
        raise UserError(f"pytest ended with {status} and left no run in {run}")
    if status not in (0, 1):
        print(f"pytest ended with {status}: the run is not complete, and so is the table", file=sys.stderr)
    elif status == 1:
        print("pytest ended with 1: some dialogues have no score; see the column of cases", file=sys.stderr)


class _Plan:
    """The models that are run, and which level of which ablation each is; equal settings are run once."""

    def __init__(self, base: ModelSpec, ablations: Sequence[Ablation], others: Sequence[ModelSpec]) -> None:
        self.baseline = base.id
        self._levels: list[tuple[str, str, str, str]] = []
        self.left_out: list[str] = []
        specs = {base.id: base}
        for ablation in ablations:
            for level in ablation.levels:
                spec = _variant(base, level)
                missing = _missing(spec) if spec != base else None
                if missing is None:
                    specs.setdefault(spec.id, spec)
                else:
                    self.left_out.append(f"{ablation.id} {level_name(level)} is left out: {missing}")
                self._levels.append((ablation.id, ablation.factor, level_name(level), spec.id))
            if ablation.id == "A10":
                for other in others:
                    specs.setdefault(other.id, other)
                    self._levels.append((ablation.id, ablation.factor, other.model, other.id))
        self.specs = tuple(specs.values())

    @classmethod
    def make(cls, model: str, ablations: Sequence[Ablation], others: str) -> _Plan:
        table, schemes = load_model_table(model_table_paths(Path.cwd())), discover().names()
        models = resolve_models(model, table, schemes)
        if len(models) != 1:
            raise UserError(f"an ablation has one baseline, found {model!r:.200}; further models go to --llms")

        def wrapping(spec: ModelSpec) -> ModelSpec:
            """The pipeline around ``spec``, with the settings that a table has for it; or ``spec``, if it is one."""
            one = spec.connector == _SCHEME
            return spec if one else resolve_models(f"{_SCHEME}:{spec.id}", table, schemes)[0]

        base = wrapping(models[0])
        settings_from(base.extra, f"model {base.id!r}")
        found = resolve_models(others, table, schemes) if others.strip() else ()
        return cls(base, ablations, [replace(wrapping(one), extra=base.extra) for one in found])

    def rows(self, run: Path) -> tuple[AblationRow, ...]:
        """The baseline and all levels, compared with it on the questions that both answered."""
        read = read_run(run)
        values = headline_values(read.transcripts, read.header.tasks)
        levels = [name for name in dict.fromkeys(level[3] for level in self._levels) if name != self.baseline]
        pairs = [(name, self.baseline) for name in levels if name in values.models and self.baseline in values.models]
        found = dict(
            zip([one for one, _ in pairs], compare_all(values, seed=read.header.seed, pairs=pairs), strict=True)
        )
        first = AblationRow("", "baseline", "", self.baseline, None, _mean(values, self.baseline))
        return (first, *(AblationRow(*level, found.get(level[3]), _mean(values, level[3])) for level in self._levels))


def _variant(base: ModelSpec, level: Mapping[str, Json]) -> ModelSpec:
    """``base`` with other settings; itself when these are its own already."""
    place = f"model {base.id!r}"
    extra = {**base.extra, **level}
    if settings_from(extra, place) == settings_from(base.extra, place):
        return base
    return replace(base, id=f"{base.id}/{level_name(level)}", extra=extra)


def _missing(spec: ModelSpec) -> str | None:
    """Why ``spec`` cannot be run here, None if nothing is known of that."""
    try:
        name = settings_from(spec.extra, spec.id).embedding
        if name != "bm25":
            load_embedding(name)
    except UserError as error:
        return str(error)
    return None


def _mean(values: CaseValues, model: str) -> float | None:
    """Mean over labels of means over cases, each with the same weight."""
    labels: dict[str, list[float]] = {}
    for (of, label, _), found in values.by_case.items():
        if of == model and found:
            labels.setdefault(label, []).append(sum(found) / len(found))
    means = [sum(row) / len(row) for row in labels.values()]
    return sum(means) / len(means) if means else None


def _table(specs: Sequence[ModelSpec]) -> str:
    """A model table with ``specs`` and the user's own models, since pytest reads no other beside the shipped one."""
    shipped = load_model_table(model_table_paths(None))
    own = load_model_table(model_table_paths(Path.cwd()))
    entries = [*(spec for name, spec in own.items() if shipped.get(name) != spec), *specs]
    return "\n".join(_entry(spec) for spec in {spec.id: spec for spec in entries}.values())


def _entry(spec: ModelSpec) -> str:
    values = {field.name: getattr(spec, field.name) for field in fields(spec) if field.name != "id"}
    lines = [f"{name} = {_toml(value)}" for name, value in values.items() if value not in (None, {})]
    return "\n".join([f"[models.{json.dumps(spec.id)}]", *lines, ""])


def _toml(value: Json) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


COMMANDS = (
    Command(
        "ablate",
        "Runs the retrieval pipeline with one part changed at a time (the published ablations A1 to A11) and shows "
        "what each change does, with paired intervals.",
        "llmkg ablate gpt-4o --ablations A1,A8 --pytest 'benchmarks --tasks=*Kgqa* --llmkg-max-turns=1'",
        _arguments,
        _run,
    ),
)
