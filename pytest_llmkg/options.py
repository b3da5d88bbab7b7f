"""Command line and ini options, parsed once into frozen `Settings`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pytest

__all__ = ["DEFAULT_SEED", "Settings", "add_options", "is_active", "parse_settings"]

DEFAULT_SEED = 20261130
_DEFAULT_TIMEOUT = 120.0
_DEFAULT_DIALOGUE_TIMEOUT = 3600.0
_DEFAULT_CONCURRENCY = 16
_DEFAULT_RETRIES = 5


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked for.

    Attributes:
        models: entries of ``--models``, in order.
        tasks: globs of ``--tasks``; empty means all.
        iterations: how often each case is asked.
        seed: of generated cases.
        case_files: further case files.
        run_dir: where to write the run, None for a new folder under ``reports/runs``.
        min_score: a test fails when its headline score is below; None for off.
        timeout: seconds that one answer may take.
        dialogue_timeout: seconds that a whole dialogue may take, repeated calls and waiting included.
        max_turns: upper limit of turns, None for each task's own.
        concurrency: dialogues in flight for each model and process.
        retries: how often a call that failed is repeated.
        max_cost: US dollars that the run may cost, None for no limit.
        cache: folder of paid answers, None for none.
        resume: run directory to go on with, None for a new run.
        baseline: run to compare with at the end; None for none, and in workers, which judge nothing.
        gate: rules that the run must keep; see `pytest_llmkg.gate.rules`.
        shard: which part of the cases to ask, e.g. (2, 4) for the second of four; None for all.
        graphs: names and places of the graphs of question sets: files, or addresses of endpoints as texts.
        hide_cases: keep the texts of sealed cases out of reports.
        seal_run: keep sealed cases sealed in the run file; hides them in reports, too.
    """

    models: tuple[str, ...]
    tasks: tuple[str, ...] = ()
    iterations: int = 1
    seed: int = DEFAULT_SEED
    case_files: tuple[Path, ...] = ()
    run_dir: Path | None = None
    min_score: float | None = None
    timeout: float = _DEFAULT_TIMEOUT
    dialogue_timeout: float = _DEFAULT_DIALOGUE_TIMEOUT
    max_turns: int | None = None
    concurrency: int = _DEFAULT_CONCURRENCY
    retries: int = _DEFAULT_RETRIES
    max_cost: float | None = None
    cache: Path | None = None
    resume: Path | None = None
    baseline: Path | None = None
    gate: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    graphs: tuple[tuple[str, Path | str], ...] = ()
    hide_cases: bool = False
    seal_run: bool = False


def add_options(parser: pytest.Parser) -> None:
    """Registers every option; all defaults are None, so that a given option can be told from an absent one."""
    group = parser.getgroup("llmkg", "language models on knowledge graphs (pytest-llmkg)")
    for name, metavar, convert, text in _OPTIONS:
        if convert is None:
            group.addoption(name, metavar=metavar, action="append", help=text)
        else:
            group.addoption(name, metavar=metavar, type=convert, help=text)
    for name, text in _FLAGS:
        group.addoption(name, action="store_true", help=text)
    parser.addini("llmkg_models", "models under test when --models is not given", type="args", default=["symbolic"])
    parser.addini("llmkg_suites", "folders that hold benchmark tests", type="paths", default=[])
    parser.addini("llmkg_cases", "further case files or folders of them", type="paths", default=[])


def is_active(config: pytest.Config) -> bool:
    """True when this session is about models: by one of our options or by a benchmark folder among the arguments."""
    if any(config.getoption(name) is not None for name, *_ in _OPTIONS):
        return True
    base = config.invocation_params.dir
    targets = [(base / str(arg).split("::")[0]).resolve() for arg in config.args]
    suites = [Path(suite).resolve() for suite in config.getini("llmkg_suites")]
    return any(target.is_relative_to(suite) for target in targets for suite in suites)


def parse_settings(config: pytest.Config) -> Settings:
    """The settings of this session: command line over ini over default.

    Raises:
        UserError: ``--tasks`` names none, as with an empty shell variable; running all tasks then could be dear. Or
            an option that should name a folder is empty, likewise; or two options contradict each other; or
            there is no such baseline.
    """
    get = config.getoption
    models, tasks = get("models"), get("tasks")
    if tasks is not None and not _split(tasks):
        raise UserError("--tasks names no task; leave it out to run all of them")
    base = config.invocation_params.dir
    run_dir, resume = _folder(config, "run_dir"), _folder(config, "resume")
    if resume is not None and run_dir not in (None, resume):
        raise UserError("--llmkg-resume goes on in the folder that it names; leave --llmkg-run-dir out")
    seed = get("llmkg_seed")
    return Settings(
        models=_split(models if models is not None else ",".join(config.getini("llmkg_models"))),
        tasks=_split(tasks or ""),
        iterations=get("iterations") or 1,
        seed=DEFAULT_SEED if seed is None else seed,
        case_files=(*config.getini("llmkg_cases"), *(base / path for path in get("llmkg_cases") or ())),
        run_dir=resume or run_dir,
        min_score=get("llmkg_min_score"),
        timeout=get("llmkg_timeout") or _DEFAULT_TIMEOUT,
        dialogue_timeout=get("llmkg_dialogue_timeout") or _DEFAULT_DIALOGUE_TIMEOUT,
        max_turns=get("llmkg_max_turns"),
        concurrency=get("llmkg_concurrency") or _DEFAULT_CONCURRENCY,
        retries=_DEFAULT_RETRIES if get("llmkg_retries") is None else get("llmkg_retries"),
        max_cost=get("llmkg_max_cost"),
        cache=_folder(config, "cache"),
        resume=resume,
        baseline=_baseline(config),
        gate=_split(get("llmkg_gate") or ""),
        shard=get("llmkg_shard"),
        graphs=_graphs(get("kg") or (), base),
        hide_cases=get("llmkg_hide_cases") or get("llmkg_seal_run"),
        seal_run=get("llmkg_seal_run"),
    )


def _graphs(texts: Iterable[str], base: Path) -> tuple[tuple[str, Path | str], ...]:
    if not texts:
        return ()  # an unused plugin imports nothing more
    from pytest_llmkg.cases.graph_files import parse_place_option

    places = map(parse_place_option, texts)
    return tuple((name, place if isinstance(place, str) else base / place) for name, place in places)


def _folder(config: pytest.Config, name: str) -> Path | None:
    """The folder of an option, from where the user stands; an empty one is a slip, e.g. an empty shell variable."""
    folder = config.getoption(f"llmkg_{name}")
    if folder is not None and not folder.strip():
        raise UserError(f"--llmkg-{name.replace('_', '-')} names no folder; name one or leave the option out")
    path = None if folder is None else config.invocation_params.dir / folder
    if name == "cache" and path is not None and path.is_file():
        raise UserError(f"--llmkg-cache={folder} is a file; name a folder, which need not exist yet")
    return path


def _baseline(config: pytest.Config) -> Path | None:
    """The run that a baseline's name or path means; workers need none, and those elsewhere may not have it."""
    name = config.getoption("llmkg_baseline")
    if name is None or hasattr(config, "workerinput"):
        return None
    from pytest_llmkg.baselines import find_baseline

    return find_baseline(name, config.invocation_params.dir, config.rootpath)


def _split(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _checked(kind: Callable[[str], float], fits: Callable[[float], bool], wanted: str) -> Callable[[str], float]:
    def convert(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not fits(value):
            raise argparse.ArgumentTypeError(f"expected {wanted}, found {text!r}")
        return value

    return convert


_positive = _checked(int, lambda v: v >= 1, "a whole number from 1")
_score = _checked(float, lambda v: 0 <= v <= 1, "a number from 0 to 1")
_seconds = _checked(float, lambda v: 0 < v <= 86_400, "a number of seconds, at most a day")
_count = _checked(int, lambda v: v >= 0, "a whole number from 0")
_dollars = _checked(float, lambda v: 0 <= v < float("inf"), "an amount of US dollars")


def _shard(text: str) -> tuple[int, int]:
    number, slash, count = text.partition("/")
    if slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise argparse.ArgumentTypeError(f"expected i/n with i from 1 to n, e.g. 2/4, found {text!r}")


# Name, metavar, conversion (None: a text that may be given repeatedly), help.
_OPTIONS: tuple[tuple[str, str, Callable[[str], object] | None, str], ...] = (
    ("--models", "A,B", str, "models under test: aliases, litellm ids, symbolic, replay:FILE ... (default: symbolic)"),
    ("--tasks", "GLOB,..", str, "only tasks whose label or name matches, e.g. 'Text2Sparql*' (default: all)"),
    ("--iterations", "N", _positive, "ask every case N times (default: 1)"),
    ("--llmkg-seed", "N", int, f"seed of generated cases (default: {DEFAULT_SEED})"),
    ("--llmkg-cases", "PATH", None, "a further case file, question file (.yml, .json ...) or folder (repeatable)"),
    (
        "--kg",
        "NAME=PLACE",
        None,
        "the graph of a question file of that name: a file or a SPARQL endpoint, e.g. ck25=prod-inst.ttl (repeatable)",
    ),
    ("--llmkg-run-dir", "DIR", str, "where this run is written (default: reports/runs/<UTC>-<models>)"),
    (
        "--llmkg-resume",
        "DIR",
        str,
        "go on with an unfinished run: keeps finished dialogues, holds failed and missing ones",
    ),
    ("--llmkg-cache", "DIR", str, "keep paid answers there and take them from there (default: off)"),
    ("--llmkg-shard", "I/N", _shard, "ask only the I-th of N parts of the cases; llmkg merge joins the runs"),
    (
        "--llmkg-concurrency",
        "N",
        _positive,
        f"dialogues in flight for each model and process (default: {_DEFAULT_CONCURRENCY})",
    ),
    (
        "--llmkg-baseline",
        "RUN",
        str,
        "compare with this run, or with this baseline of reports/baselines, and fail when the run is worse",
    ),
    (
        "--llmkg-gate",
        "RULE,..",
        str,
        (
            "rules that the run must keep: drop:X, significant-drop:ALPHA, min:X, min:SCORE:X, errors:N, max-cost:USD, "
            "max-seconds:S, allow:missing, allow:signature, allow:prices; RULE@GLOB for each matching task variant, "
            "RULE%%GLOB for matching models; explained by llmkg gate --help (default with a baseline: "
            "significant-drop:0.05)"
        ),
    ),
    ("--llmkg-retries", "N", _count, f"how often a failed call is repeated (default: {_DEFAULT_RETRIES})"),
    ("--llmkg-max-cost", "USD", _dollars, "begin no dialogue that would make the run dearer (default: no limit)"),
    ("--llmkg-min-score", "X", _score, "a test fails when its headline score is below X (default: off)"),
    ("--llmkg-timeout", "S", _seconds, f"seconds that one answer may take (default: {_DEFAULT_TIMEOUT:g})"),
    (
        "--llmkg-dialogue-timeout",
        "S",
        _seconds,
        f"seconds that a dialogue may take with all waiting (default: {_DEFAULT_DIALOGUE_TIMEOUT:g})",
    ),
    ("--llmkg-max-turns", "N", _positive, "at most N turns in a dialogue (default: the task's own limit)"),
)
# These change how a run is kept; given alone, e.g. in addopts, they do not make a session one about models.
_FLAGS = (
    ("--llmkg-hide-cases", "keep prompts, references and answers of sealed cases out of the reports"),
    (
        "--llmkg-seal-run",
        "seal texts of sealed cases in the run file, too, with LLMKG_CASES_KEY or else the public key",
    ),
)
