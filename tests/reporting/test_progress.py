"""Lines of progress: their parts, what a narrow terminal loses, and that nothing breaks them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.reporting.progress import ModelProgress, Pace, progress_line, progress_lines, seconds_left

GPT = ModelProgress("gpt-4o", 562, 120, 0, 16, None, 0, 3, 0.812, 1_200_000, 0.43)
OTHER = ModelProgress("qwen2.5-7b", 562, 7, 0, 3, 32, 1, 1, None, 9_500, None)

counts = st.integers(0, 10**7)
progresses = st.builds(
    ModelProgress,
    model=st.text(max_size=60),
    planned=counts,
    done=counts,
    kept=counts,
    in_flight=counts,
    limit=st.none() | counts,
    errors=counts,
    retries=counts,
    mean=st.none() | st.floats(),
    tokens=st.none() | st.integers(0, 10**15),
    cost=st.none() | st.floats(min_value=0),
)


def test_a_wide_line_says_everything() -> None:
    # 442 dialogues at 120 per 35.2 s: 129.65 s.
    assert progress_line(GPT, 35.2, 120) == (
        "gpt-4o  120/562  21%  16 in flight  0 errors  3 retries  mean 0.812  1.2M tokens  $0.43  2:10 left"
    )


def test_60_columns_keep_what_matters_most() -> None:
    assert progress_line(GPT, 35.2, 60) == "gpt-4o  120/562  0 errors  mean 0.812  $0.43  2:10 left"
    lines = progress_lines([GPT, replace(OTHER, model="openrouter/meta-llama/llama-3.3-70b-instruct")], 35.2, 60)
    assert lines == [
        "gpt-4o             120/562  0 errors  mean 0.812   2:10 left",
        "openrou..instruct    7/562  1 error   mean     -  46:31 left",
    ]


def test_columns_of_several_models_are_aligned() -> None:
    first, second = progress_lines([GPT, OTHER], 35.2, 130)
    assert first.index("/562") == second.index("/562")
    assert first.index("mean") == second.index("mean")
    assert len(first) == len(second)
    assert "3/32 in flight" in second
    assert "1 error " in second
    assert "1 retry " in second
    assert "cost unknown" in second


def test_unknown_figures_are_no_numbers() -> None:
    line = progress_line(replace(GPT, mean=None, tokens=None, cost=None, done=0), 10, 120)
    assert line == "gpt-4o  0/562  0%  16 in flight  0 errors  3 retries  mean     -  cost unknown  - left"


@pytest.mark.parametrize(
    ("elapsed", "done", "kept", "left"),
    [
        (10.0, 10, 0, 90.0),
        (10.0, 50, 40, 50.0),  # ten were held in 10 s, fifty are missing
        (10.0, 40, 40, None),  # all kept: nothing is known about the speed
        (10.0, 0, 0, None),
        (0.0, 10, 0, None),
        (10.0, 100, 100, 0.0),
    ],
)
def test_time_left_counts_only_what_was_held(elapsed: float, done: int, kept: int, left: float | None) -> None:
    assert seconds_left(replace(GPT, planned=100, done=done, kept=kept), elapsed) == left


@pytest.mark.parametrize(
    ("remaining", "shown"),
    [(59.2, "1:00"), (3599, "59:59"), (3600, "1:00:00"), (90061, "1d 1h")],
)
def test_durations(remaining: float, shown: str) -> None:
    line = progress_lines([GPT], 1, 120, left={"gpt-4o": remaining})[0]
    assert line.endswith(f"  {shown} left")


def test_the_pace_follows_a_provider_that_gets_slower() -> None:
    pace = Pace()
    done = 0
    for second in range(1, 601):
        done += 10 if second <= 300 else 1
        left = pace.note([replace(GPT, planned=10_000, done=done)], float(second))
    # 6,700 are missing at one per second; the whole session's speed of 5.5 per second would say 1,218.
    assert left["gpt-4o"] == pytest.approx(6_700, rel=0.1)


def test_a_stalled_model_has_no_time_left() -> None:
    pace = Pace()
    for second in range(1, 200):
        left = pace.note([replace(GPT, done=min(second, 20))], float(second))
    assert left == {"gpt-4o": None}


def test_of_many_models_the_unfinished_come_first_and_all_are_summed() -> None:
    models = [replace(GPT, model=f"m{i}", planned=10, done=10 if i < 5 else 5, errors=1) for i in range(20)]
    lines = progress_lines(models, 10, 120)
    assert [line.split()[0] for line in lines] == [*(f"m{i}" for i in range(5, 17)), "all"]
    assert lines[-1].startswith("all 20 models  125/200  62%  320 in flight  20 errors  60 retries")
    assert "mean" not in lines[-1]
    assert lines[-1].endswith("24.0M tokens  $8.60  0:10 left")
    assert [line.split()[0] for line in progress_lines(models, 10, 120, most=0)] == ["all"]


def test_the_end_says_what_did_not_run() -> None:
    lines = progress_lines(
        [replace(GPT, in_flight=0), replace(GPT, model="b", done=562, in_flight=0)], 60, 120, ended=True
    )
    assert lines[0].endswith("442 not run")
    assert lines[1].endswith("  done")
    assert "in flight" not in "".join(lines)
    # The leaderboard beneath has another mean, of task labels, and the cost of all sessions.
    assert "mean" not in "".join(lines)
    assert "  spent $0.43" in lines[0]


def test_retries_are_shown_where_there_are_any_and_outlast_tokens() -> None:
    quiet = replace(GPT, retries=0)
    assert "retr" not in progress_line(quiet, 35.2, 120)
    assert "3 retries" in progress_line(GPT, 35.2, 85)
    assert "tokens" not in progress_line(GPT, 35.2, 85)


def test_escapes_in_a_name_are_harmless() -> None:
    line = progress_line(replace(GPT, model="\x1b[2Jevil\r\n\u202e"), 35.2, 160)
    assert line.startswith(r"\x1b[2Jevil\r\n\u202e  120/562")


@given(st.lists(progresses, max_size=16), st.floats(), st.integers(-5, 200), st.booleans())
def test_every_line_is_harmless_and_fits(models: list[ModelProgress], elapsed: float, width: int, ended: bool) -> None:
    lines = progress_lines(models, elapsed, width, ended=ended)
    assert len(lines) == min(len(models), 13)
    for line in lines:
        assert len(line) <= max(width, 0)
        assert re.fullmatch(r"[ -~]*", line)


@given(progresses, st.floats())
def test_no_figure_is_nan_or_negative_time(progress: ModelProgress, elapsed: float) -> None:
    line = progress_line(replace(progress, model="m"), elapsed, 300)
    assert not re.search(r"nan|inf\b|(?<!mean )-\d", line)
    left = seconds_left(progress, elapsed)
    assert left is None or left >= 0


@given(progresses, st.floats(0, 1e6), st.integers(60, 200))
def test_60_columns_always_have_room_for_the_required_parts(p: ModelProgress, elapsed: float, width: int) -> None:
    p = replace(p, model="m", mean=0.5, planned=10**4, done=p.done % 10**4)
    line = progress_line(p, elapsed, width)
    assert f"{p.done}/{p.planned}" in line
    assert "mean 0.500" in line
    assert line.endswith(" left")
