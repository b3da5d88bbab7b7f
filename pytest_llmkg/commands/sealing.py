"""``llmkg seal``, ``unseal``, ``rekey`` and ``edit``: case files that only a key opens.

Reviewers see changes of sealed files as plain text with these two lines, the first in ``.gitattributes``::

    *.sealed diff=llmkg
    git config diff.llmkg.textconv "llmkg unseal --stdout"

Git must not cache what it shows (``cachetextconv``), since that would store the opened text.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.cases.files import check_case_text
from pytest_llmkg.cases.sealed import (
    LARGEST_FILE,
    SUFFIX,
    OpenedFile,
    open_sealed,
    plain_name,
    read_opened,
    seal_text,
    with_canary,
)
from pytest_llmkg.commands import Command
from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.errors import UserError
from pytest_llmkg.options import DEFAULT_SEED
from pytest_llmkg.sealing import KEY_FILE_VARIABLE, KEY_VARIABLE, PUBLIC, Cipher, SealKey, new_cipher, private_key
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

__all__ = ["COMMANDS"]

_PIPE = Path("-")
_TEXTCONV = (
    "to see plain text in git diff: put '*.sealed diff=llmkg' into .gitattributes and run "
    'git config diff.llmkg.textconv "llmkg unseal --stdout"'
)


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="a case file, or a graph of one")
    _key_option(parser)


def _key_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--key-file",
        type=Path,
        help=f"file with the private key (default: {KEY_VARIABLE}, then the file that {KEY_FILE_VARIABLE} names)",
    )


def _seal_arguments(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    parser.add_argument("--public", action="store_true", help="seal with the public key, a hurdle for crawlers only")
    parser.add_argument("--remove", action="store_true", help="delete the plain file once its sealed one is written")


def _seal(options: argparse.Namespace) -> int:
    key = PUBLIC if options.public else _wanted(private_key(options.key_file), "or give --public")
    cipher = new_cipher(key)  # one salt for all files, so that opening all of them derives one key
    if _is_pipe(options.files):
        sys.stdout.buffer.write(_sealed("standard input", _piped_text(), cipher))
        return 0
    for path in options.files:
        if path.suffix == SUFFIX:
            raise UserError(f"{path}: is sealed already")
        if path.parts[:2] == ("/", "dev"):
            raise UserError(f"{path}: is no file; to seal what a pipe gives, name - and take it from standard output")
        text = read_opened(path, str(path), lambda: None).text
        if path.suffix == ".toml":
            text = with_canary(text)
        target = path.with_name(path.name + SUFFIX)
        if target.exists() and _is_same(target, text, key, options.key_file):
            print(f"{target}: holds that text already, left as it is")
        else:
            _write_sealed(target, text, cipher)
            print(f"sealed {target} with the {key.name} key")
        if options.remove:
            path.unlink()
    return 0


def _is_pipe(files: Sequence[Path]) -> bool:
    """Whether ``-`` is named: standard input goes, sealed or opened, to standard output."""
    if _PIPE in files and len(files) > 1:
        raise UserError("- stands for standard input and must be the only FILE")
    return _PIPE in files


def _piped_text() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError("standard input: not a text in UTF-8") from error


def _is_same(target: Path, text: str, key: SealKey, key_file: Path | None) -> bool:
    """Whether ``target`` holds ``text``; complains when another key opens it, since sealing would change the key."""
    opened = _opened(target, key_file)
    if opened.cipher is None or opened.cipher.lock.key != key.name:
        raise UserError(f"{target}: is sealed with the other kind of key; use llmkg rekey to change its key")
    return opened.text == text


def _unseal_arguments(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    parser.add_argument("--stdout", action="store_true", help=f"print the text, write no file; {_TEXTCONV}")


def _unseal(options: argparse.Namespace) -> int:
    piped = _is_pipe(options.files)
    for path in options.files:
        opened = _opened(path, options.key_file)
        if options.stdout or piped:
            sys.stdout.buffer.write(opened.text.encode("utf-8"))
            sys.stdout.buffer.flush()
            continue
        target = path.with_name(plain_name(path.name))
        if target == path:
            raise UserError(f"{path}: the name does not end with {SUFFIX}; rename it or use --stdout")
        if target.exists() and target.read_bytes() != opened.text.encode("utf-8"):
            raise UserError(f"{target}: exists with another text; delete it first")
        _write(target, opened.text.encode("utf-8"))
        print(f"wrote {target}, in plain text")
    return 0


def _rekey_arguments(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    new = parser.add_mutually_exclusive_group(required=True)
    new.add_argument("--new-key-file", type=Path, help="file with the key to seal with from now on")
    new.add_argument("--public", action="store_true", help="seal with the public key from now on")


def _rekey(options: argparse.Namespace) -> int:
    cipher = new_cipher(PUBLIC if options.public else _wanted(private_key(options.new_key_file)))
    if _PIPE in options.files:
        raise UserError("rekey changes files; in a pipe write llmkg unseal - | llmkg seal -, each with its key")
    # All are opened before any is written: a key that does not fit the last file changes none.
    opened = [(path, _opened(path, options.key_file)) for path in options.files]
    for path, content in opened:
        _write_sealed(path, content.text, cipher)
        print(f"sealed {path} with the {'public' if options.public else 'new private'} key")
    return 0


def _edit_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="a sealed file")
    _key_option(parser)
    parser.add_argument("--no-check", action="store_true", help="seal the text even if it is no valid case file")


def _edit(options: argparse.Namespace) -> int:
    path: Path = options.file
    before = path.read_bytes() if path.is_file() else b""
    opened = _opened(path, options.key_file)
    cipher = opened.cipher
    if cipher is None:
        raise UserError(f"{path}: is not sealed; open it in your editor, then use llmkg seal")

    def keep(text: str) -> None:
        if plain_name(path.name).endswith(".toml") and not options.no_check:
            graphs = fixtures_root() / "graphs"
            check_case_text(text, path, graphs, discover_tasks(), DEFAULT_SEED)
        if path.read_bytes() != before:
            raise UserError(f"{path}: was changed by somebody else in the meantime")
        # The salt stays, so that the file goes on sharing it with the others of its suite.
        _write_sealed(path, text, cipher)

    changed = _edited(opened.text, plain_name(path.name), keep)
    print(f"sealed {path} again" if changed else f"{path}: not changed, left as it is")
    return 0


def _edited(text: str, name: str, seal: Callable[[str], None]) -> bool:
    """Lets the user edit a private copy of ``text`` and hands the new text to ``seal``; False when nothing changed.

    The copy is wiped afterwards, unless it holds changes that could not be sealed: they would be lost.
    """
    folder = Path(tempfile.mkdtemp(prefix="llmkg-edit-"))  # mode 0700
    copy = folder / name
    before, sealed = text.encode("utf-8"), False
    try:
        with os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(before)
        _run_editor(copy)
        if copy.read_bytes() == before:
            return False
        seal(read_opened(copy, str(copy), lambda: None).text)
        sealed = True
    finally:
        if sealed or not copy.is_file() or copy.read_bytes() in (b"", before):
            _wipe(folder)
        else:
            print(f"llmkg: nothing was sealed; your text is kept, in plain, in {copy}", file=sys.stderr)
    return True


def _run_editor(copy: Path) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        status = subprocess.run([*shlex.split(command), str(copy)], check=False).returncode  # noqa: S603  (the user's)
    except (OSError, ValueError) as error:
        raise UserError(f"the editor {command!r} cannot be started: {error}; set VISUAL or EDITOR") from error
    if status:
        raise UserError(f"the editor {command!r} ended with status {status}")


def _wipe(folder: Path) -> None:
    """Overwrites and deletes all that is in ``folder``, also what an editor left there."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            with path.open("r+b") as file:
                file.write(bytes(path.stat().st_size))
                file.flush()
                os.fsync(file.fileno())
    shutil.rmtree(folder)


def _wanted(key: SealKey | None, otherwise: str = "") -> SealKey:
    if key is None:
        raise UserError(f"no key to seal with; set {KEY_VARIABLE} or {KEY_FILE_VARIABLE} {otherwise}".rstrip())
    return key


def _opened(path: Path, key_file: Path | None) -> OpenedFile:
    """The sealed file ``path``, whatever its name is: git gives its textconv commands temporary names."""
    try:
        content = sys.stdin.buffer.read() if path == _PIPE else path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    return open_sealed(content, str(path), private_key(key_file))


def _write_sealed(path: Path, text: str, cipher: Cipher) -> None:
    _write(path, _sealed(str(path), text, cipher))


def _sealed(place: str, text: str, cipher: Cipher) -> bytes:
    content = seal_text(text, cipher)
    if len(content) > LARGEST_FILE:
        raise UserError(f"{place}: would be larger than {LARGEST_FILE // 2**20} MiB; split it")
    return content


def _write(path: Path, content: bytes) -> None:
    """Writes ``content`` so that a reader finds the old file or the whole new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error


COMMANDS = (
    Command(
        "seal",
        "Encrypts case files or their graphs, each as FILE.sealed beside it; - seals a pipe.",
        "llmkg seal --key-file ~/.llmkg-key --remove cases/*.toml",
        _seal_arguments,
        _seal,
    ),
    Command(
        "unseal",
        "Writes the plain text of sealed files beside them; - opens a pipe.",
        "llmkg unseal cases/text2sparql.toml.sealed",
        _unseal_arguments,
        _unseal,
    ),
    Command(
        "rekey",
        "Seals sealed files with another key.",
        "llmkg rekey --key-file old.key --new-key-file new.key cases/*.sealed",
        _rekey_arguments,
        _rekey,
    ),
    Command(
        "edit",
        "Opens a private copy of a sealed file in $VISUAL or $EDITOR and seals it again.",
        "llmkg edit cases/text2sparql.toml.sealed",
        _edit_arguments,
        _edit,
    ),
)
