"""``llmkg gate`` and ``llmkg baseline``: verdicts on a run, and the runs that later ones are compared with."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.baselines import (
    DEFAULT_NAME,
    FOLDER,
    baseline_names,
    baseline_summary,
    find_baseline,
    read_slim,
    write_baseline,
)
from pytest_llmkg.commands import Command
from pytest_llmkg.errors import UserError
from pytest_llmkg.gate import DEFAULT_RULE, RULES_HELP
from pytest_llmkg.gatekeeper import JUNIT_NAME, make_gatekeeper, publish
from pytest_llmkg.reporting.formats import plain_line
from pytest_llmkg.reporting.verdicts import verdicts_json

if TYPE_CHECKING:
    import argparse

__all__ = ["COMMANDS"]


def _gate_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run_path", metavar="RUN", type=Path, help="run folder or run file to judge")
    add("--baseline", metavar="RUN", help=f"run to compare with, or the name of a baseline in {FOLDER}")
    rules = RULES_HELP.replace("%", "%%")
    add("--rule", metavar="RULE,..", action="append", default=[], help=f"repeatable (default: {DEFAULT_RULE}). {rules}")
    add("--junit", metavar="FILE", type=Path, help=f"where to write JUnit (default: {JUNIT_NAME} in the run folder)")
    add("--json", action="store_true", help="print the verdicts as JSON")


def _gate(options: argparse.Namespace) -> int:
    here, path = Path.cwd(), options.run_path
    baseline = None if options.baseline is None else find_baseline(options.baseline, here, here)
    rules = [part for text in options.rule for part in text.split(",") if part.strip()]
    keeper = make_gatekeeper(rules, baseline)
    if keeper is None:
        raise UserError("nothing to judge: give --baseline or --rule")
    result = keeper.judge(path)
    folder = path if path.is_dir() else None
    junit = options.junit or (None if folder is None else folder / JUNIT_NAME)
    judged = publish(result, folder, junit)
    if options.json:
        print(json.dumps(verdicts_json(result), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        print("\n".join(judged.lines))
    if judged.problems:
        raise UserError("; ".join(judged.problems))
    return 0 if result.passed else 1


def _baseline_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    setting = actions.add_parser("set", help="makes a run the baseline NAME, in place of an older one")
    setting.add_argument("run_path", metavar="RUN", type=Path, help="run folder or run file")
    setting.add_argument("--name", default=DEFAULT_NAME, help=f"(default: {DEFAULT_NAME})")
    setting.set_defaults(act=_set_baseline)
    listing = actions.add_parser("list", help=f"lists the baselines in {FOLDER} with run, date and models")
    listing.set_defaults(act=_list_baselines)


def _baseline(options: argparse.Namespace) -> int:
    status: int = options.act(options)
    return status


def _set_baseline(options: argparse.Namespace) -> int:
    run = read_slim(options.run_path)
    path = write_baseline(run, options.name, Path.cwd())
    shown = path.relative_to(Path.cwd())
    print(f"wrote {len(run.transcripts)} dialogues to {shown}; compare with them by --llmkg-baseline={options.name}")
    errors = sum(one.outcome == "error" for one in run.transcripts)
    if errors:
        print(f"note: {errors} of them ended as errors, which later runs will not be compared with", file=sys.stderr)
    if run.truncated:
        print(f"note: {options.run_path} ends in the middle of a line, which is left out", file=sys.stderr)
    return 0


def _list_baselines(_options: argparse.Namespace) -> int:
    for name in baseline_names(Path.cwd()):
        print(plain_line(baseline_summary(name, Path.cwd())))
    return 0


COMMANDS = (
    Command(
        "gate",
        "Judges a run by rules, alone or against a baseline. Exit status: 0 passed; 1 a rule is not kept, or something "
        "is missing or was measured otherwise; 2 usage error.",
        "llmkg gate reports/runs/20261130T120000Z-gpt-4o --baseline main --rule significant-drop:0.05,errors:0",
        _gate_arguments,
        _gate,
    ),
    Command(
        "baseline",
        f"Keeps slim copies of runs (scores without prompts and answers) in {FOLDER}, to compare later runs with.",
        "llmkg baseline set reports/runs/20261130T120000Z-gpt-4o --name main",
        _baseline_arguments,
        _baseline,
    ),
)
