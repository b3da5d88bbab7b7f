from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.answer_cache import AnswerCache
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import LlmkgError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Answer, FailedCall, Message, ModelSpec, Usage
from tests import strategies

SPEC = ModelSpec("mine", "openai/gpt-4o", "litellm", temperature=0.0, extra={"top_k": 5})
REQUEST = AskRequest((Message("user", "Who knows Ada?"),), "Flat/c1", 2, 30.0)
ANSWER = Answer("Bob.", "stop", Usage(10, 2, 0.01), 1.5, "gpt-4o-2026", "hm", ("seed",))

specs = st.builds(
    ModelSpec,
    id=st.just("m"),
    model=strategies.names,
    connector=strategies.names,
    api_base=st.none() | strategies.names,
    temperature=strategies.amounts,
    max_tokens=strategies.counts,
    top_p=strategies.amounts,
    seed=strategies.counts,
    extra=strategies.plain_tables,
)
requests = st.builds(AskRequest, st.lists(strategies.messages, max_size=3).map(tuple), iteration=st.integers(1, 3))


def files(directory: Path) -> list[Path]:
    return sorted(directory.glob("??/*.json"))


def asked(spec: ModelSpec, request: AskRequest) -> str:
    """What the answer may depend on, in an independent writing."""
    left_out: dict[str, Any] = {"id": "", "rpm": None, "max_concurrency": None, "price_in": None}
    return json.dumps([to_plain(replace(spec, **left_out)), to_plain(request.messages), request.iteration])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(specs, requests, strategies.answers), min_size=1, max_size=4))
def test_round_trip_and_other_calls_have_other_answers(calls: list[tuple[ModelSpec, AskRequest, Answer]]) -> None:
    with TemporaryDirectory() as folder:
        cache = AnswerCache(Path(folder, "cache"))
        latest = {}
        for spec, request, answer in calls:
            cache.put(spec, request, answer)
            latest[asked(spec, request)] = answer
        assert len(files(cache.directory)) == len(latest)
        for spec, request, _ in calls:
            expected = replace(latest[asked(spec, request)], from_cache=True)
            assert cache.get(spec, request) == expected


def test_an_answer_comes_back_without_the_calls_that_failed_before_it(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "deep" / "cache")
    assert cache.get(SPEC, REQUEST) is None
    assert not cache.directory.exists(), "reading leaves nothing behind"
    cache.put(SPEC, REQUEST, replace(ANSWER, failed_calls=(FailedCall("full", 429),)))
    assert cache.get(SPEC, REQUEST) == replace(ANSWER, from_cache=True)


@pytest.mark.parametrize(
    "change",
    [
        {"connector": "http"},
        {"model": "other"},
        {"api_base": "http://127.0.0.1:1/v1"},
        {"temperature": None},
        {"temperature": 0.5},
        {"max_tokens": 5},
        {"top_p": 0.5},
        {"seed": 1},
        {"extra": {"top_k": 6}},
    ],
)
def test_what_changes_the_answer_makes_another_key(tmp_path: Path, change: dict[str, Any]) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(SPEC, REQUEST, ANSWER)
    assert cache.get(replace(SPEC, **change), REQUEST) is None


@pytest.mark.parametrize("change", [{"iteration": 1}, {"messages": ()}, {"messages": (Message("system", "Who?"),)}])
def test_another_question_makes_another_key(tmp_path: Path, change: dict[str, Any]) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(SPEC, REQUEST, ANSWER)
    assert cache.get(SPEC, replace(REQUEST, **change)) is None


def test_what_does_not_change_the_answer_makes_no_other_key(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(SPEC, REQUEST, ANSWER)
    same = replace(SPEC, id="alias", rpm=1, max_concurrency=1, price_in=1.0, price_out=1.0, context=1, temperature=0)
    assert cache.get(same, replace(REQUEST, case_key="Other/c9", timeout=1.0)) is not None


def test_a_password_in_the_address_is_neither_stored_nor_asked_for(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(replace(SPEC, api_base="https://me:hunter2@models.example/v1"), REQUEST, ANSWER)
    assert cache.get(replace(SPEC, api_base="https://models.example/v1"), REQUEST) is not None
    assert b"hunter2" not in files(tmp_path)[0].read_bytes()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b"{}", b"[" * 100_000, b'{"schema":1,"answer":{}}'])
def test_a_broken_file_is_a_miss_and_replaced(tmp_path: Path, content: bytes) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(SPEC, REQUEST, ANSWER)
    files(tmp_path)[0].write_bytes(content)
    assert cache.get(SPEC, REQUEST) is None
    cache.put(SPEC, REQUEST, ANSWER)
    assert cache.get(SPEC, REQUEST) == replace(ANSWER, from_cache=True)


@pytest.mark.parametrize(
    ("place", "value"),
    [("schema", 2), ("request", {}), ("answer", None), ("answer", {"text": 3}), ("answer", {"text": "", "new": 1})],
)
def test_a_file_of_another_call_or_layout_is_a_miss(tmp_path: Path, place: str, value: object) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(SPEC, REQUEST, ANSWER)
    path = files(tmp_path)[0]
    path.write_text(json.dumps({**json.loads(path.read_bytes()), place: value}), encoding="utf-8")
    assert cache.get(SPEC, REQUEST) is None


def test_the_folder_says_what_it_is(tmp_path: Path) -> None:
    AnswerCache(tmp_path).put(SPEC, REQUEST, ANSWER)
    assert (tmp_path / "CACHEDIR.TAG").read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")
    assert (tmp_path / ".gitignore").read_text(encoding="utf-8").splitlines()[-1] == "*"
    text = files(tmp_path)[0].read_text(encoding="utf-8")
    assert '"text": "Who knows Ada?"' in text


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    cache = AnswerCache(tmp_path / "file")
    assert cache.get(SPEC, REQUEST) is None
    with pytest.raises(LlmkgError, match=r"file: the answer was not kept for other runs: .*; make room"):
        cache.put(SPEC, REQUEST, ANSWER)


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(SPEC, REQUEST, ANSWER)
    plain = Path.write_bytes

    def half(path: Path, content: bytes) -> int:
        plain(path, content[: len(content) // 2])
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(LlmkgError, match="No space left on device"):
        cache.put(SPEC, REQUEST, replace(ANSWER, text="another"))
    monkeypatch.undo()
    assert cache.get(SPEC, REQUEST) == replace(ANSWER, from_cache=True)
    assert [path.name for path in tmp_path.rglob("*.tmp")] == []


MANY = """
import sys
from pathlib import Path
from tests.test_answer_cache import ANSWER, REQUEST, SPEC
from dataclasses import replace
from pytest_llmkg.answer_cache import AnswerCache
cache = AnswerCache(Path(sys.argv[1]))
for number in range(150):
    request = replace(REQUEST, iteration=1 + number % 5)
    # As long as its key says, so that a mixture of two writers would be seen.
    cache.put(SPEC, request, replace(ANSWER, text=f"{sys.argv[2]} " * 500 * request.iteration))
    found = cache.get(SPEC, request)
    words = found.text.split() if found else []
    if len(words) != 500 * request.iteration or len(set(words)) != 1:
        sys.exit(f"mixed or missing: {len(words)} {set(words)}")
"""


def test_processes_never_see_half_an_answer(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    command = [sys.executable, "-c", MANY, str(tmp_path / "cache")]
    running = [subprocess.Popen([*command, name], cwd=root, stderr=subprocess.PIPE) for name in "abc"]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()
    assert len(files(tmp_path / "cache")) == 5
    assert [path.name for path in tmp_path.rglob("*.tmp")] == []
