"""Sealed files: what was sealed comes back, what was changed does not, and each failure is one sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.cases.files import load_case_files
from pytest_llmkg.cases.sealed import case_files_in, open_sealed, seal_text, with_canary
from pytest_llmkg.errors import CaseFileError, UserError
from pytest_llmkg.sealing import CANARY, PUBLIC, PUBLIC_KEY, Lock, SealKey, new_cipher, open_lock, private_key
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    from pathlib import Path

CASES = """
schema = 1
task = "RdfSyntaxFixList"
[[variant]]
label = "Fix-turtle"
format = "turtle"
[[case]]
id = "c1"
broken = ":secret :b"
reference = { file = "graph.ttl" }
"""
MINE = SealKey("private", "my key", "LLMKG_CASES_KEY")
CHEAP = 2
"""Scrypt's cost in tests that derive often."""

texts = st.text(st.characters(codec="utf-8"))
changes = st.tuples(st.integers(0), st.integers(1, 255))


@pytest.fixture(autouse=True)
def no_key_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LLMKG_CASES_KEY", raising=False)
    monkeypatch.delenv("LLMKG_CASES_KEY_FILE", raising=False)


def refused(content: bytes, private: SealKey | None = None) -> str:
    """The complaint about ``content``: one sentence that names the file and shows nothing of the text."""
    with pytest.raises(CaseFileError) as caught:
        open_sealed(content, "suite.toml.sealed", private)
    message = str(caught.value)
    assert message.startswith("suite.toml.sealed: ")
    assert "\n" not in message
    assert "secret" not in message
    return message


@settings(max_examples=80, deadline=None)
@given(texts, texts)
def test_what_was_sealed_comes_back(text: str, passphrase: str) -> None:
    key = SealKey("private", passphrase, "a test")
    content = seal_text(text, new_cipher(key, cost=CHEAP))
    opened = open_sealed(content, "f", key)
    assert opened.text == text
    assert opened.sealed


@settings(max_examples=40, deadline=None)
@given(texts, texts, texts)
def test_another_key_opens_nothing(text: str, right: str, wrong: str) -> None:
    content = seal_text(text, new_cipher(SealKey("private", right, "a test"), cost=CHEAP))
    # HMAC, inside scrypt, pads keys with zero bytes, so passphrases that differ in those alone are the same key.
    if right.rstrip("\0") != wrong.rstrip("\0"):
        with pytest.raises(CaseFileError, match="another key"):
            open_sealed(content, "f", SealKey("private", wrong, "a test"))


SEALED = seal_text(CASES, new_cipher(MINE, cost=CHEAP))


@settings(max_examples=300, deadline=None)
@given(changes)
def test_a_flipped_byte_anywhere_is_noticed(change: tuple[int, int]) -> None:
    place, bits = change
    content = bytearray(SEALED)
    content[place % len(content)] ^= bits
    refused(bytes(content), MINE)


def test_each_byte_counts() -> None:
    for place in range(len(SEALED)):
        content = bytearray(SEALED)
        content[place] ^= 1
        refused(bytes(content), MINE)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(SEALED) - 1))
def test_a_file_that_was_cut_off_is_refused(length: int) -> None:
    refused(SEALED[:length], MINE)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | texts.map(str.encode))
def test_anything_else_is_no_sealed_file(content: bytes) -> None:
    assert "sealed file" in refused(content, MINE)


def test_a_body_under_another_header_is_refused() -> None:
    other = json.loads(seal_text(CASES, new_cipher(MINE, cost=CHEAP)))
    mixed = {**json.loads(SEALED), "data": other["data"]}
    text = json.dumps(mixed, indent=0) + "\n"
    assert "was changed or damaged after it was sealed" in refused(text.encode(), MINE)


def test_line_ends_of_another_system_do_no_harm() -> None:
    assert open_sealed(SEALED.replace(b"\n", b"\r\n"), "f", MINE).text == CASES


def test_wrong_and_missing_key_and_unknown_version_have_their_own_sentence() -> None:
    assert "is sealed with a private key; set LLMKG_CASES_KEY or LLMKG_CASES_KEY_FILE" in refused(SEALED)
    wrong = SealKey("private", "other", "the key file k.txt")
    assert "is sealed with another key than the one in the key file k.txt" in refused(SEALED, wrong)
    newer = SEALED.replace(b'"version": 1', b'"version": 2')
    assert "has layout 2, this version reads 1; update pytest-llmkg" in refused(newer, MINE)
    assert "is no sealed file" in refused(CASES.encode())


@pytest.mark.parametrize(
    "numbers",
    [(2**22, 8, 1), (2**15, 8, 2**20), (2, 2**30, 1), (3, 8, 1), (0, 8, 1), (-8, 8, 1), (2**15, 0, 1), (2, 8, -1),
     (2**20, 1, 1), (2**16, 1, 1), (10**400, 8, 1), (1, 8, 1)],
)  # fmt: skip
def test_hostile_scrypt_parameters_are_refused_before_they_are_used(numbers: tuple[int, int, int]) -> None:
    n, r, p = numbers
    lock = Lock("private", "00000000", n, r, p, new_cipher(MINE, cost=CHEAP).lock.salt)
    with pytest.raises(UserError, match=r"its header (asks for more than|holds scrypt parameters that cannot be)"):
        open_lock(lock, MINE)


@pytest.mark.parametrize("salt", ["", "AAAA", "not base64!", "é" * 24])
def test_a_broken_salt_is_refused(salt: str) -> None:
    with pytest.raises(UserError, match="its header has no salt of 16 bytes"):
        open_lock(Lock("private", "00000000", 2, 8, 1, salt), MINE)


def test_the_canary_is_outside_and_inside_but_the_text_is_not() -> None:
    assert CANARY.encode() in SEALED
    assert b"secret" not in SEALED
    assert MINE.passphrase.encode() not in SEALED
    cipher = new_cipher(MINE, cost=CHEAP)
    bodies = [json.loads(seal_text(text, cipher))["data"] for text in ("", CANARY)]
    assert len("".join(bodies[1])) > len("".join(bodies[0])) > len(CANARY)


def test_the_canary_is_put_on_top_once() -> None:
    assert with_canary(CASES) == f"# {CANARY}\n{CASES}"
    assert with_canary(with_canary(CASES)) == with_canary(CASES)
    assert with_canary(f'canary = "{CANARY}"') == f'canary = "{CANARY}"'


def test_sealing_twice_gives_different_files_under_one_lock() -> None:
    cipher = new_cipher(PUBLIC, cost=CHEAP)
    first, second = (json.loads(seal_text("text", cipher)) for _ in range(2))
    assert first["lock"] == second["lock"]
    assert first["data"] != second["data"]
    assert new_cipher(PUBLIC, cost=CHEAP).lock.salt != cipher.lock.salt


def test_no_passphrase_is_shown_where_a_key_is_printed() -> None:
    assert MINE.passphrase not in repr(MINE)
    cipher = new_cipher(MINE, cost=CHEAP)
    assert "secret" not in repr(cipher)
    assert PUBLIC_KEY not in repr(PUBLIC)


def test_key_is_taken_from_option_variable_and_file_in_this_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"from option\r\n")
    two.write_text(" from file ", encoding="utf-8")
    assert private_key() is None
    monkeypatch.setenv("LLMKG_CASES_KEY_FILE", str(two))
    assert private_key() == SealKey("private", " from file ", f"the key file {two}")
    monkeypatch.setenv("LLMKG_CASES_KEY", "from variable")
    assert private_key() == SealKey("private", "from variable", "LLMKG_CASES_KEY")
    assert private_key(one) == SealKey("private", "from option", f"the key file {one}")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(None, "cannot be read: No such file"), (b"\n", "is empty"), (b"\xff", "is not UTF-8 text")],
)
def test_key_files_that_hold_no_key(tmp_path: Path, content: bytes | None, complaint: str) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=complaint):
        private_key(path)


def write_suite(folder: Path, key: SealKey, *, seal: tuple[str, ...] = ("a.toml", "graph.ttl")) -> Path:
    """A folder with a case file and its graph, those in ``seal`` sealed."""
    folder.mkdir(exist_ok=True)
    cipher = new_cipher(key, cost=CHEAP)
    for name, text in {"a.toml": CASES, "graph.ttl": ":secret :b :c ."}.items():
        if name in seal:
            (folder / f"{name}.sealed").write_bytes(seal_text(text, cipher))
        else:
            (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("seal", [(), ("a.toml",), ("graph.ttl",), ("a.toml", "graph.ttl")])
def test_sealed_files_give_the_same_cases(tmp_path: Path, seal: tuple[str, ...]) -> None:
    suite = write_suite(tmp_path / "suite", PUBLIC, seal=seal)
    (case,) = load_case_files([suite], tmp_path, discover_tasks(), 1)
    assert case.text("broken") == ":secret :b"
    assert case.text("reference") == ":secret :b :c ."
    assert case.sealed == bool(seal)


def test_private_suite_needs_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = write_suite(tmp_path / "suite", MINE)
    with pytest.raises(CaseFileError, match=r"a\.toml\.sealed: is sealed with a private key"):
        load_case_files([suite], tmp_path, discover_tasks(), 1)
    monkeypatch.setenv("LLMKG_CASES_KEY", MINE.passphrase)
    assert len(load_case_files([suite], tmp_path, discover_tasks(), 1)) == 1
    monkeypatch.delenv("LLMKG_CASES_KEY")
    monkeypatch.setenv("LLMKG_CASES_KEY_FILE", str(tmp_path / "absent"))
    with pytest.raises(CaseFileError, match=r"a\.toml\.sealed: .*absent: the key file cannot be read"):
        load_case_files([suite], tmp_path, discover_tasks(), 1)


def test_a_private_key_does_not_hinder_public_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = write_suite(tmp_path / "suite", PUBLIC)
    monkeypatch.setenv("LLMKG_CASES_KEY", "of something else")
    assert len(load_case_files([suite], tmp_path, discover_tasks(), 1)) == 1


def test_a_damaged_graph_names_case_and_field(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", PUBLIC)
    graph = suite / "graph.ttl.sealed"
    graph.write_bytes(graph.read_bytes()[:-3])
    with pytest.raises(CaseFileError, match=r"a\.toml\.sealed: case 'c1' .*field 'reference': file 'graph\.ttl': "):
        load_case_files([suite], tmp_path, discover_tasks(), 1)


def test_folders_are_read_in_the_order_of_plain_names(tmp_path: Path) -> None:
    for name in ("b.toml.sealed", "a.toml", "a-b.toml.sealed", "c.toml", "x.ttl.sealed", "d.toml.sealed.tmp"):
        (tmp_path / name).touch()
    names = [path.name for path in case_files_in(tmp_path)]
    assert names == ["a-b.toml.sealed", "a.toml", "b.toml.sealed", "c.toml"]


def test_a_file_in_both_forms_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").touch()
    (tmp_path / "a.toml.sealed").touch()
    with pytest.raises(CaseFileError, match=r"a\.toml\.sealed: is there plain, too; delete one of the two"):
        case_files_in(tmp_path)
