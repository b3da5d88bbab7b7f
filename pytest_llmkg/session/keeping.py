"""The half of a session that keeps what was measured; only in the process that controls the run."""

from __future__ import annotations

import os
import platform
import re
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest_llmkg
from pytest_llmkg.errors import LlmkgError, RunFileError, UserError
from pytest_llmkg.plain import Json, to_plain
from pytest_llmkg.records import Case, RunHeader, Transcript
from pytest_llmkg.sealing import PUBLIC, new_cipher, private_key
from pytest_llmkg.session.holding import error_transcript
from pytest_llmkg.session.run_reports import ReportProcess, ReportRequest, write_run_reports
from pytest_llmkg.session.tally import Tally
from pytest_llmkg.store import (
    FILE_NAME,
    SCHEMA,
    SEALED_LINES,
    DialogueKey,
    RunIndex,
    RunWriter,
    absorb_parts,
    index_run,
)
from pytest_llmkg.suite_signature import suite_differences, wrapped_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pytest_llmkg.gatekeeper import Gatekeeper
    from pytest_llmkg.session.run_reports import Written
    from pytest_llmkg.suite import PlannedTest, Suite

__all__ = ["Keeper", "versions"]

_LARGE = 100  # dialogues from which on a process of its own for the reports pays


class Keeper:
    """Keeps what was measured: writes the run file as the run goes and the reports at its end.

    Attributes:
        directory: the run directory.
        tally: counts of what was kept.
        resumed: the run that is resumed, None for a new one.
        gate: what judges the run at its end, None without rules.
    """

    def __init__(self, suite: Suite, root: Path) -> None:
        """Writes nothing yet, unless it goes on with a run whose workers left something behind.

        Raises:
            UserError: the run directory holds a run already, or cannot be made or written, or the key that the
                run file is to be sealed with cannot be read; or the run to go on with is another one; or a rule of the
                gate is wrong, or its baseline cannot be read.
        """
        self._suite = suite
        self._reports = root / "reports"
        self._started = datetime.now(UTC)
        self._lock = new_cipher(private_key() or PUBLIC).lock if suite.settings.seal_run else None
        self._writer: RunWriter | None = None
        self._writing = threading.RLock()
        self._planned: dict[str, dict[str, int]] = {}
        self._unwritten: list[tuple[Case, Transcript]] = []
        self._cases: dict[tuple[str, str], Case] = {}
        self._reporter: ReportProcess | None = None
        self.tally = Tally(suite)
        self.gate = _gatekeeper(suite)
        self.resumed: RunIndex | None = None
        self.directory = suite.settings.run_dir or self._default_directory()
        if suite.settings.resume is not None:
            self.resumed = self._opened(suite.settings.resume)
        # A default directory of the same second gets a number when it is made.
        elif suite.settings.run_dir is not None and self._holds_a_run():
            raise UserError(
                f"{self.directory} holds a run already; choose another --llmkg-run-dir, or go on with it by "
                f"--llmkg-resume={self.directory}"
            )
        nearest = next(path for path in (self.directory, *self.directory.parents) if os.access(path, os.F_OK))
        if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
            trouble = "cannot be written" if nearest.is_dir() else "is no folder"
            raise UserError(
                f"no run can be written to {self.directory}, since {nearest} {trouble}; use --llmkg-run-dir"
            )

    @property
    def lock(self) -> Json:
        """The lock of the run file's sealed lines, for workers; None when none is sealed."""
        return self.header().settings.get(SEALED_LINES)

    def plan(self, tests: Iterable[PlannedTest]) -> None:
        """Says which dialogues this session is to hold; the run file's header counts them."""
        models: dict[str, Counter[str]] = {model.id: Counter() for model in self._suite.models}
        held, kept = frozenset() if self.resumed is None else self.resumed.finished(), set()
        for test in tests:
            if test.case and test.model and test.iteration:
                models[test.model.id][test.case.label] += 1
                kept |= {(test.case.label, test.case.id, test.model.id, test.iteration)} & held
        self._planned = {model: dict(sorted(labels.items())) for model, labels in models.items()}
        if self._suite.settings.shard is not None:
            self.open()  # a shard without any case is a run, too, or joining the shards would miss it
        self.tally.plan({model: labels.total() for model, labels in models.items()}, kept)
        if self.resumed is not None:
            for key in kept:
                self.tally.keep(self.resumed.read(DialogueKey(*key)))

    def open(self) -> None:
        """Begins the run file, so that an empty session leaves nothing; does nothing the second time.

        Raises:
            LlmkgError: it cannot be written.
            OSError: the run directory cannot be made.
        """
        with self._writing:
            if self._writer is None:
                if self.resumed is not None:
                    self._writer = RunWriter(self.directory / FILE_NAME, resume=True)
                    return
                self._make_directory()
                self._writer = RunWriter(self.directory / FILE_NAME)
                self._writer.header(self.header())
                if sum(sum(labels.values()) for labels in self._planned.values()) >= _LARGE:
                    self._reporter = ReportProcess()

    def record(self, case: Case, transcript: Transcript) -> Callable[[], Transcript]:
        """Appends one dialogue, and gives back what reads it again; may be called from any thread.

        Raises:
            LlmkgError: it cannot be written; it is kept in memory until the session ends.
            OSError: the run directory cannot be made.
        """
        try:
            with self._writing:
                self.open()
                if self._writer is None:
                    raise RunFileError(f"{self.directory}: the run file is closed")
                if self._cases.get((case.label, case.id)) is not case:  # comparing its texts each time takes long
                    self._writer.case(case)
                    self._cases[case.label, case.id] = case
                receipt, writer = self._writer.transcript(transcript), self._writer
        except (LlmkgError, OSError):
            self._unwritten.append((case, transcript))
            raise
        self.tally.add(transcript)
        return lambda: writer.read(receipt)

    def record_lost(self, node_id: str, error: str) -> None:
        """Records the dialogue of a test whose process died, of which only the id is known."""
        test = self._suite.find([node_id]).get(node_id)
        if test is not None and test.case and test.model and test.iteration:
            self.record(test.case, error_transcript(test.case, test.model.id, test.iteration, error))

    def finish(self, width: int) -> Written | None:
        """Closes the run file and writes the reports, for so many columns; None when no dialogue was held.

        Raises:
            RunFileError: the run file cannot be written or read again; what it lacks was saved elsewhere.
        """
        with self._writing:
            if self.resumed is not None:
                self.open()  # it may have been killed when only its reports were missing
            if self._writer is None:
                return None
            self._write_late()
            absorb_parts(self.directory, self._writer)
            self._writer.close()
        request = ReportRequest(str(self.directory), str(self._reports / "leaderboard.html"), width)
        reporter, self._reporter = self._reporter, None
        return write_run_reports(request) if reporter is None else reporter.write(request)

    def close(self) -> None:
        """Ends what `finish` was not called for; may be called twice."""
        if self._reporter is not None:
            self._reporter.close()

    def _write_late(self) -> None:
        """Writes what could not be written: the disk was full, and may have room again. Else another place takes it."""
        unwritten, self._unwritten = self._unwritten, []
        try:
            for case, transcript in unwritten:
                self.record(case, transcript)
        except (LlmkgError, OSError) as error:
            rescue = Path(tempfile.mkdtemp(prefix="llmkg-rescue-"))
            with RunWriter(rescue / FILE_NAME) as writer:
                writer.header(self.header())
                for case, transcript in unwritten:
                    writer.case(case)
                    writer.transcript(transcript)
            raise RunFileError(
                f"{error}; {len(unwritten)} dialogue(s) that it lacks were saved to {rescue}: "
                f"join them by llmkg merge {self.directory} {rescue} --out DIR"
            ) from error

    def _opened(self, path: Path) -> RunIndex:
        """The run to go on with, with all that its workers left behind."""
        if not (path / FILE_NAME).exists():
            raise UserError(f"{path} holds no run to go on with; leave --llmkg-resume out to begin one")
        run = index_run(path)
        known, wanted = run.header.settings.get("suite"), self._suite.signature()
        if not isinstance(known, dict):
            raise UserError(f"{path}: the run does not say what it measured, as those of old versions; begin a new one")
        differences = suite_differences(known, wanted)
        if run.header.settings.get("shard") != self._shard:
            differences += (f"the shard is {self._shard}, was {run.header.settings.get('shard')}",)
        if differences:
            raise UserError(f"{path} is another run, so it cannot be resumed: {'; '.join(differences)}")
        # Nothing is touched before it is sure that no other process, whose workers write beside, is still at it.
        with RunWriter(path / FILE_NAME, resume=True) as writer:
            absorb_parts(path, writer)
        return index_run(path)

    @property
    def _shard(self) -> str | None:
        shard = self._suite.settings.shard
        return None if shard is None else f"{shard[0]}/{shard[1]}"

    def _holds_a_run(self) -> bool:
        try:
            return (self.directory / FILE_NAME).exists()
        except OSError as error:  # e.g. a name that is too long
            raise UserError(f"no run can be written to {self.directory}: {error.strerror}") from error

    def _default_directory(self) -> Path:
        models = self._suite.models
        slug = re.sub(r"[^a-z0-9.]+", "-", models[0].id.lower()).strip("-")[:40]
        more = f"+{len(models) - 1}" if len(models) > 1 else ""
        return self._reports / "runs" / f"{self._started:%Y%m%dT%H%M%SZ}-{slug}{more}"

    def _make_directory(self) -> None:
        """Makes the run directory; a default one is new, also when another session began in the same second."""
        base, is_given, number = self.directory, self._suite.settings.run_dir is not None, 1
        while True:
            try:
                self.directory.mkdir(parents=True, exist_ok=is_given)
            except FileExistsError:
                if is_given:
                    raise
                number += 1
                self.directory = base.with_name(f"{base.name}.{number}")
            else:
                return

    def header(self) -> RunHeader:
        """The first line of the run file; of a resumed run, the one that it has."""
        if self.resumed is not None:
            return self.resumed.header
        settings = self._suite.settings
        return RunHeader(
            schema=SCHEMA,
            run=self.directory.name,
            started=self._started.isoformat(timespec="seconds"),
            versions=versions(),
            models=self._suite.models,
            tasks=tuple(task.info for task in self._suite.tasks),
            seed=settings.seed,
            iterations=settings.iterations,
            settings={
                "tasks": list(settings.tasks),
                "timeout": settings.timeout,
                "max_turns": settings.max_turns,
                "min_score": settings.min_score,
                "hide_cases": settings.hide_cases or None,  # reports leave out what is None
                "suite": self._suite.signature(),
                "shard": self._shard,
                "planned": to_plain(self._planned),
                "wrapped": wrapped_settings(self._suite.wrapped) or None,
                SEALED_LINES: to_plain(self._lock) if self._lock else None,
            },
        )


def _gatekeeper(suite: Suite) -> Gatekeeper | None:
    """What judges the run; loaded only where there is a rule, since all of the reports come along."""
    if not suite.settings.gate and suite.settings.baseline is None:
        return None
    from pytest_llmkg.gatekeeper import make_gatekeeper

    gate = make_gatekeeper(suite.settings.gate, suite.settings.baseline)
    if gate is not None:
        gate.check_scopes(suite.models, suite.all_cases)
    return gate


def versions() -> dict[str, str]:
    """Versions that a score or a price can depend on; a library that is not installed is left out."""
    found = {"pytest-llmkg": pytest_llmkg.__version__, "python": platform.python_version()}
    for name in ("rdflib", "pyoxigraph", "litellm", "xllamacpp"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
