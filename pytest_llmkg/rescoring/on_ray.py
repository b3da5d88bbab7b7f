"""Scores shards on a Ray cluster: the one of RAY_ADDRESS, else one that is started on this machine and ends with us."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest_llmkg
from pytest_llmkg.errors import EngineError, LlmkgError, RunFileError, UserError
from pytest_llmkg.rescoring.shards import (
    LARGEST_PART,
    Outcome,
    Shard,
    ShardScores,
    file_of,
    in_order,
    score_shard_here,
    size_of,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from types import ModuleType

    from pytest_llmkg.rescoring.files import Plan

__all__ = ["over_ray", "ray_cluster", "score_task"]

_RETRIES = 3
_INSTALL = "--engine ray needs Ray: pip install 'pytest-llmkg[ray]'"
# Set before Ray is imported. The second keeps a cluster of this machine to the loopback address on Linux, too.
_LOCAL_SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


@contextmanager
def ray_cluster() -> Iterator[ModuleType]:
    """Connects to the cluster of RAY_ADDRESS, or starts one here; leaves or ends it afterwards, also on Ctrl-C.

    A connection that the program has already is used and left as it is.

    Raises:
        UserError: Ray is not installed, or there is no cluster at RAY_ADDRESS.
        EngineError: Ray cannot be started.
    """
    address = os.environ.get("RAY_ADDRESS", "")
    for name, value in _LOCAL_SETTINGS.items():
        if name == "RAY_USAGE_STATS_ENABLED" or not address:
            os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise UserError(_INSTALL) from error
    if ray.is_initialized():
        yield ray
        return
    where: dict[str, Any] = {"address": address} if address else {"address": "local", "include_dashboard": False}
    try:
        ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError) as error:
        raise UserError(f"no Ray cluster at RAY_ADDRESS={address!r}: {_first_line(error)}") from error
    except (RuntimeError, OSError) as error:
        raise EngineError(f"Ray cannot be started: {_first_line(error)}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def over_ray(
    ray: ModuleType, shards: Sequence[Shard], plan: Plan, most: int
) -> Generator[tuple[Shard, Outcome], None, None]:
    """Scores shards as tasks of ``ray``, at most ``most`` of them given to it at a time; outcomes come in order.

    Ray repeats a task whose worker died or whose graph engine failed; one that fails for good is an outcome of its
    own, and the others go on.
    """
    task = ray.remote(score_task).options(max_retries=_RETRIES, retry_exceptions=[EngineError], num_cpus=1)
    shared = ray.put(plan)
    waiting: set[Any] = set()

    def start(shard: Shard) -> Any:
        content = _content(shard)
        if isinstance(content, LlmkgError):
            return content
        reference = task.remote(shard, shared, content, pytest_llmkg.__version__)
        waiting.add(reference)
        return reference

    def outcome(shard: Shard, reference: Any) -> Outcome:
        if isinstance(reference, LlmkgError):
            return reference
        try:
            found: Outcome = ray.get(reference)
        except ray.exceptions.RayError as error:
            return EngineError(f"{shard}: failed {_RETRIES + 1} times on the Ray cluster: {_cause(error)}")
        finally:
            waiting.discard(reference)
        return found

    try:
        yield from in_order(shards, start, outcome, most)
    finally:
        for reference in waiting:
            ray.cancel(reference, force=True)


def score_task(shard: Shard, plan: Plan, content: bytes | None, version: str) -> Outcome:
    """What a worker of the cluster runs; an error that repeating cannot mend is given back, not raised.

    Raises:
        EngineError: the graph engine failed.
    """
    if version != pytest_llmkg.__version__:
        here = pytest_llmkg.__version__
        return UserError(f"{shard}: a Ray worker has pytest-llmkg {here}, not {version}; install the same everywhere")
    try:
        scores: ShardScores = score_shard_here(shard, plan, content)
    except EngineError:
        raise
    except LlmkgError as error:
        return error
    return scores


def _content(shard: Shard) -> bytes | LlmkgError | None:
    """The bytes of a file that goes with its task; None for a larger one, which the workers must reach themselves."""
    if size_of(shard.path) > LARGEST_PART:
        return None
    try:
        return file_of(shard.path).read_bytes()
    except OSError as error:
        return RunFileError(f"{file_of(shard.path)}: cannot be read: {error.strerror or error}")


def _cause(error: Exception) -> str:
    cause = getattr(error, "cause", None)
    return _first_line(cause if isinstance(cause, Exception) else error)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__
