"""``llmkg seal``, ``unseal``, ``rekey`` and ``edit``, and what git shows of sealed files."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_llmkg.cases.files import load_case_files
from pytest_llmkg.cases.sealed import open_sealed
from pytest_llmkg.cli import main
from pytest_llmkg.sealing import CANARY, SealKey, _derive
from pytest_llmkg.tasks import discover_tasks

CASES = """schema = 1
task = "RdfSyntaxFixList"
[[variant]]
label = "Fix-turtle"
format = "turtle"
[[case]]
id = "c1"
broken = ":secret :b"
reference = ":secret :b :c ."
"""


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a key of our own and a temporary folder that can be looked through."""
    for name in ("LLMKG_CASES_KEY_FILE", "VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LLMKG_CASES_KEY", "mine")
    temporary, folder = tmp_path / "tmp", tmp_path / "work"
    temporary.mkdir()
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.chdir(folder)
    return temporary


@pytest.fixture
def plain() -> Path:
    path = Path("suite.toml")
    path.write_text(CASES, encoding="utf-8")
    return path


@pytest.fixture
def sealed(plain: Path) -> Path:
    assert main(["seal", str(plain), "--remove"]) == 0
    return Path("suite.toml.sealed")


def text_in(path: Path, key: str = "mine") -> str:
    return open_sealed(path.read_bytes(), str(path), SealKey("private", key, "a test")).text


def set_editor(monkeypatch: pytest.MonkeyPatch, code: str, variable: str = "EDITOR") -> None:
    """An editor that runs ``code`` with ``path``, a `Path`, as the file to edit."""
    script = f"import sys; from pathlib import Path; path = Path(sys.argv[1]); {code}"
    monkeypatch.setenv(variable, f"{shlex.quote(sys.executable)} -c {shlex.quote(script)}")


REPLACE = "path.write_text(path.read_text().replace('c1', 'c2'))"


def test_sealed_beside_the_plain_file_with_the_canary(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["seal", "suite.toml"]) == 0
    assert capsys.readouterr().out == "sealed suite.toml.sealed with the private key\n"
    assert plain.read_text(encoding="utf-8") == CASES
    content = Path("suite.toml.sealed").read_text(encoding="utf-8")
    assert CANARY in content
    assert "secret" not in content
    assert text_in(Path("suite.toml.sealed")) == f"# {CANARY}\n{CASES}"


def test_unsealing_gives_back_what_was_sealed(sealed: Path) -> None:
    assert not Path("suite.toml").exists()
    assert main(["unseal", str(sealed)]) == 0
    assert Path("suite.toml").read_bytes() == f"# {CANARY}\n{CASES}".encode()
    assert sealed.exists()


def test_graphs_are_sealed_as_they_are() -> None:
    Path("graph.ttl").write_text(":ä :b :c .", encoding="utf-8")
    assert main(["seal", "graph.ttl"]) == 0
    assert text_in(Path("graph.ttl.sealed")) == ":ä :b :c ."


def test_one_call_derives_one_key(plain: Path) -> None:
    names = [f"{number:02d}.toml" for number in range(12)]
    for name in names:
        Path(name).write_text(CASES.replace("c1", f"c{name[:2]}"), encoding="utf-8")
    plain.unlink()
    assert main(["seal", "--remove", *names]) == 0
    _derive.cache_clear()
    assert len(load_case_files([Path()], Path(), discover_tasks(), 1)) == 12
    assert _derive.cache_info().misses == 1


def test_sealing_the_same_text_again_leaves_the_file(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["seal", "suite.toml"])
    before = Path("suite.toml.sealed").read_bytes()
    assert main(["seal", "suite.toml", "--remove"]) == 0
    assert "holds that text already" in capsys.readouterr().out
    assert Path("suite.toml.sealed").read_bytes() == before
    assert not plain.exists()


def test_sealing_a_changed_text_replaces_the_file(plain: Path) -> None:
    main(["seal", "suite.toml"])
    plain.write_text(CASES.replace("c1", "c2"), encoding="utf-8")
    assert main(["seal", "suite.toml"]) == 0
    assert 'id = "c2"' in text_in(Path("suite.toml.sealed"))


def test_the_key_of_a_sealed_file_is_never_changed_by_the_way(
    plain: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["seal", "suite.toml"])
    before = Path("suite.toml.sealed").read_bytes()
    assert main(["seal", "suite.toml", "--public", "--remove"]) == 2
    assert "use llmkg rekey" in capsys.readouterr().err
    monkeypatch.setenv("LLMKG_CASES_KEY", "other")
    assert main(["seal", "suite.toml", "--remove"]) == 2
    assert "sealed with another key" in capsys.readouterr().err
    assert Path("suite.toml.sealed").read_bytes() == before
    assert plain.exists()


def test_public_key_needs_nothing(
    plain: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("LLMKG_CASES_KEY")
    assert main(["seal", "suite.toml"]) == 2
    error = capsys.readouterr().err
    assert error == (
        "llmkg: error: no key to seal with; set LLMKG_CASES_KEY or LLMKG_CASES_KEY_FILE or give --public\n"
    )
    assert main(["seal", "suite.toml", "--public"]) == 0
    plain.unlink()
    assert main(["unseal", "suite.toml.sealed"]) == 0
    assert plain.read_text(encoding="utf-8").endswith(CASES)


def test_rekey(sealed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Path("new.key").write_text("new\n", encoding="utf-8")
    assert main(["rekey", str(sealed), "--new-key-file", "new.key"]) == 0
    assert text_in(sealed, "new").endswith(CASES)
    capsys.readouterr()
    assert main(["unseal", str(sealed)]) == 2
    assert "sealed with another key than the one in LLMKG_CASES_KEY" in capsys.readouterr().err
    assert main(["rekey", str(sealed), "--key-file", "new.key", "--public"]) == 0
    monkeypatch.delenv("LLMKG_CASES_KEY")
    assert main(["unseal", str(sealed)]) == 0


def test_rekey_changes_all_files_or_none(sealed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.sealed").write_bytes(sealed.read_bytes()[:-1])
    before = sealed.read_bytes()
    assert main(["rekey", str(sealed), "broken.sealed", "--public"]) == 2
    assert capsys.readouterr().err.startswith("llmkg: error: broken.sealed: was changed or damaged")
    assert sealed.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["seal", "absent.toml"], "absent.toml: cannot be read: No such file"),
        (["seal", "suite.toml.sealed"], "suite.toml.sealed: is sealed already"),
        (["seal", "binary.ttl"], "binary.ttl: not a text in UTF-8"),
        (["unseal", "absent.sealed"], "absent.sealed: cannot be read: No such file"),
        (["unseal", "suite.toml"], "suite.toml: is no sealed file"),
        (["unseal", "renamed"], "renamed: the name does not end with .sealed; rename it or use --stdout"),
        (["unseal", "suite.toml.sealed"], "suite.toml: exists with another text; delete it first"),
        (["unseal", "suite.toml.sealed", "--key-file", "none"], "none: the key file cannot be read"),
        (["rekey", "suite.toml.sealed", "--new-key-file", "none"], "none: the key file cannot be read"),
        (["edit", "absent.sealed"], "absent.sealed: cannot be read: No such file"),
        (["edit", "suite.toml"], "suite.toml: is no sealed file"),
    ],
)
def test_complaints_are_one_sentence(
    sealed: Path, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("suite.toml").write_text("another", encoding="utf-8")
    Path("binary.ttl").write_bytes(b"\xff")
    Path("renamed").write_bytes(sealed.read_bytes())
    capsys.readouterr()
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"llmkg: error: {complaint}")
    assert printed.err.count("\n") == 1
    assert "secret" not in printed.err + printed.out


def test_editing_seals_the_new_text_and_leaves_nothing(
    sealed: Path, surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = "Path('modes').write_text(f'{path.stat().st_mode:o} {path.parent.stat().st_mode:o} {path.name}')"
    set_editor(monkeypatch, f"{REPLACE}; {note}; Path(str(path) + '~').write_text('a copy that an editor leaves')")
    before = sealed.read_bytes()
    assert main(["edit", str(sealed)]) == 0
    assert text_in(sealed) == f"# {CANARY}\n{CASES}".replace("c1", "c2")
    assert Path("modes").read_text(encoding="utf-8") == "100600 40700 suite.toml"
    assert list(surroundings.iterdir()) == []
    assert sealed.read_bytes() != before
    assert sealed.read_bytes().splitlines()[4:11] == before.splitlines()[4:11], "the lock, with its salt, stays"


def test_editing_without_a_change_leaves_the_file_untouched(
    sealed: Path, surroundings: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_editor(monkeypatch, "path.read_text()")
    before = (sealed.read_bytes(), sealed.stat().st_mtime_ns, sealed.stat().st_ino)
    assert main(["edit", str(sealed)]) == 0
    assert "not changed" in capsys.readouterr().out
    assert (sealed.read_bytes(), sealed.stat().st_mtime_ns, sealed.stat().st_ino) == before
    assert list(surroundings.iterdir()) == []


def test_an_invalid_case_file_is_not_sealed_and_not_lost(
    sealed: Path, surroundings: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_editor(monkeypatch, "path.write_text(path.read_text().replace('reference', 'refrence'))")
    before = sealed.read_bytes()
    capsys.readouterr()
    assert main(["edit", str(sealed)]) == 2
    (copy,) = surroundings.rglob("suite.toml")
    error = capsys.readouterr().err
    assert f"your text is kept, in plain, in {copy}" in error
    assert "suite.toml.sealed: case 'c1' (Fix-turtle): unknown field 'refrence'" in error
    assert copy.stat().st_mode & 0o777 == 0o600
    assert "refrence" in copy.read_text(encoding="utf-8")
    assert sealed.read_bytes() == before
    assert main(["edit", "--no-check", str(sealed)]) == 0
    assert "refrence" in text_in(sealed)


def test_a_graph_beside_the_sealed_file_is_found_while_checking(
    plain: Path, monkeypatch: pytest.MonkeyPatch, surroundings: Path
) -> None:
    Path("graph.ttl").write_text(":a :b :c .", encoding="utf-8")
    plain.write_text(CASES.replace('":secret :b :c ."', '{ file = "graph.ttl" }'), encoding="utf-8")
    main(["seal", "suite.toml", "graph.ttl", "--remove"])
    set_editor(monkeypatch, REPLACE, "VISUAL")
    monkeypatch.setenv("EDITOR", "false")
    assert main(["edit", "suite.toml.sealed"]) == 0
    assert list(surroundings.iterdir()) == []


@pytest.mark.parametrize("editor", ["false", "/no/such/editor", "unclosed 'quote"])
def test_an_editor_that_fails_changes_nothing(
    sealed: Path,
    surroundings: Path,
    editor: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("EDITOR", editor)
    before = sealed.read_bytes()
    assert main(["edit", str(sealed)]) == 2
    assert f"the editor {editor!r}" in capsys.readouterr().err
    assert sealed.read_bytes() == before
    assert list(surroundings.iterdir()) == []


def test_a_file_that_somebody_else_changed_is_not_overwritten(
    sealed: Path, surroundings: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_editor(monkeypatch, f"{REPLACE}; Path('suite.toml.sealed').write_text('theirs')")
    assert main(["edit", str(sealed)]) == 2
    assert "was changed by somebody else in the meantime" in capsys.readouterr().err
    assert sealed.read_text(encoding="utf-8") == "theirs"
    assert "c2" in next(surroundings.rglob("suite.toml")).read_text(encoding="utf-8")


def git(*arguments: str) -> str:
    done = subprocess.run(
        [shutil.which("git") or "git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_git_shows_changes_of_sealed_files_as_plain_text(
    sealed: Path, monkeypatch: pytest.MonkeyPatch, surroundings: Path
) -> None:
    git("init", "-q")
    Path(".gitattributes").write_text("*.sealed diff=llmkg\n", encoding="utf-8")
    git("config", "diff.llmkg.textconv", f"{shlex.quote(sys.executable)} -m pytest_llmkg unseal --stdout")
    git("add", ".")
    git("commit", "-qm", "one")
    set_editor(monkeypatch, REPLACE)
    assert main(["edit", str(sealed)]) == 0
    changed = [line for line in git("diff").splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ['-id = "c1"', '+id = "c2"']
    git("commit", "-qam", "two")
    assert '+id = "c2"' in git("log", "-p", "-1").splitlines()
    assert ["secret" in text for text in (git("log", "-p", "--no-textconv"), git("log", "-p"))] == [False, True]


def test_unsealing_to_standard_output_writes_the_text_alone(
    sealed: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    before = sorted(Path().iterdir())
    capfdbinary.readouterr()
    assert main(["unseal", "--stdout", str(sealed)]) == 0
    assert capfdbinary.readouterr().out == f"# {CANARY}\n{CASES}".encode()
    assert sorted(Path().iterdir()) == before


def piped(command: str, given: bytes) -> bytes:
    arguments = [sys.executable, "-m", "pytest_llmkg", *shlex.split(command), "-"]
    return subprocess.run(arguments, input=given, capture_output=True, check=True).stdout


def test_a_pipe_is_sealed_and_opened() -> None:
    sealed = piped("seal", CASES.encode())
    assert b"secret" not in sealed
    assert piped("unseal", sealed) == CASES.encode()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["seal", "-", "suite.toml"], "must be the only FILE"),
        (["unseal", "suite.toml.sealed", "-"], "must be the only FILE"),
        (["seal", "/dev/stdin"], "to seal what a pipe gives, name -"),
        (["rekey", "--public", "-"], "llmkg unseal - | llmkg seal -"),
    ],
)
def test_a_pipe_is_no_file_among_others(
    arguments: list[str], complaint: str, plain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert complaint in capsys.readouterr().err
    assert sorted(plain.parent.iterdir()) == [plain]
