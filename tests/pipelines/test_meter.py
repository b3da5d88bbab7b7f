"""The clock and the bill, with a clock of the test's own."""

from __future__ import annotations

import asyncio

import pytest

from pytest_llmkg.errors import UserError
from pytest_llmkg.pipelines.meter import Meter, summed_usage
from pytest_llmkg.records import Usage
from tests.pipelines.harbour import Scripted, request


class Clock:
    """Moves on when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_stages_add_up_and_the_rest_is_waiting() -> None:
    clock = Clock()
    meter = Meter(Scripted(["a", "b"]), clock)
    for seconds in (1.0, 2.0):
        with meter.stage("retrieve"):
            clock.now += seconds
        asyncio.run(meter.ask(request()))
        clock.now += 1.0  # of which the model says that it took 0.25
    with meter.stage("prepare"):
        clock.now += 10.0
    answer = meter.bill("text")
    assert answer.stages == {"retrieve": 3.0, "model": 0.5, "prepare": 10.0, "wait": 1.5}
    assert answer.seconds == 3.5
    assert answer.usage == Usage(200, 20, 1.0)
    assert meter.calls == 2


def test_a_stage_that_fails_is_timed_all_the_same() -> None:
    clock = Clock()
    meter = Meter(Scripted(["a"]), clock)

    def fail() -> None:
        with meter.stage("execute"):
            clock.now += 2.0
            raise UserError("broken")

    with pytest.raises(UserError, match="broken"):
        fail()
    asyncio.run(meter.ask(request()))
    assert meter.bill("").stages["execute"] == 2.0


def test_what_is_unknown_of_one_call_is_unknown_of_all() -> None:
    assert summed_usage([Usage(1, 2, 0.5, 1), Usage(1, None, None, 0)]) == Usage(2, None, None, 1)
    assert summed_usage([]) == Usage(0, 0, 0, 0, 0)
