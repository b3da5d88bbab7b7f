"""Hypothesis strategies for every record, for all tests that store, send or show records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from pytest_llmkg.records import (
    Answer,
    Case,
    Evaluation,
    Message,
    ModelSpec,
    Number,
    Prompt,
    RunHeader,
    ScoreSet,
    TaskInfo,
    Transcript,
    Turn,
    Usage,
)

if TYPE_CHECKING:
    from pytest_llmkg.plain import Json

texts = st.text(st.characters(codec="utf-8"), max_size=30)
"""Any text that UTF-8 can hold, with control characters, line separators and right-to-left marks."""

names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_.:/é", min_size=1, max_size=12)
finite = st.floats(allow_nan=False, allow_infinity=False)
numbers: st.SearchStrategy[Number] = st.one_of(st.integers(-(2**70), 2**70), finite)
plain: st.SearchStrategy[Json] = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
plain_tables = st.dictionaries(texts, plain, max_size=3)


counts = st.none() | st.integers(0, 10**9)
amounts = st.none() | st.floats(0, 1e6)
scores: st.SearchStrategy[Number] = st.one_of(st.integers(0, 1), st.floats(0, 1))

messages = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts)
prompts = st.builds(Prompt, st.lists(messages, max_size=3).map(tuple))
usages = st.builds(Usage, counts, counts, amounts)
answers = st.builds(Answer, texts, st.none() | names, usages, st.floats(0, 1e6), st.none() | names)
score_sets = st.builds(ScoreSet, names, st.dictionaries(names, numbers, max_size=4))
evaluations = st.builds(
    Evaluation,
    st.sampled_from(["scored", "unparsable", "no_answer"]),
    st.lists(score_sets, max_size=2).map(tuple),
    plain_tables,
)
turns = st.builds(Turn, prompts, answers, evaluations, st.none() | names)
cases = st.builds(Case, names, names, names, plain_tables)
transcripts = st.builds(
    Transcript,
    case=names,
    label=names,
    task=names,
    model=names,
    iteration=st.integers(1, 30),
    turns=st.lists(turns, max_size=3).map(tuple),
    started=st.just("2026-01-01T00:00:00Z"),
    seconds=st.floats(0, 1e6),
    error=st.none() | texts,
)
task_infos = st.builds(
    TaskInfo, names, names, names, texts, names, st.integers(1, 5), st.lists(names, max_size=3).map(tuple)
)
model_specs = st.builds(
    ModelSpec,
    id=names,
    model=names,
    connector=names,
    api_base=st.none() | names,
    temperature=amounts,
    max_tokens=counts,
    extra=plain_tables,
    price_in=amounts,
)
headers = st.builds(
    RunHeader,
    schema=st.just(1),
    run=names,
    started=st.just("2026-01-01T00:00:00Z"),
    versions=st.dictionaries(names, names, max_size=3),
    models=st.lists(model_specs, max_size=2).map(tuple),
    tasks=st.lists(task_infos, max_size=2).map(tuple),
    seed=st.integers(),
    iterations=st.integers(1, 30),
    settings=plain_tables,
)
records = st.one_of(
    messages,
    prompts,
    usages,
    answers,
    score_sets,
    evaluations,
    turns,
    cases,
    transcripts,
    task_infos,
    model_specs,
    headers,
)
