"""Takes from the worker process what a text could misuse: network, other programs, files, memory.

Third of three layers (a parser's view of the text and a token scan come before it), so that a text which
deceives the first two still reaches nothing. Each part is best effort: what a platform lacks is left out.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["lock_down", "no_new_files"]

_REFUSED = (
    "socket.",
    "subprocess.",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "os.startfile",
    "pty.",
    "ftplib.",
    "http.",
    "urllib.",
    "smtplib.",
    "ctypes.",
    "shutil.",
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "os.chown",
    "tempfile.",
    "webbrowser.",
)
_CODE = (".py", ".pyc", ".so", ".pyd", ".dll", ".dylib")
_NEW_USER_AND_NETWORK = 0x10000000 | 0x40000000


def lock_down(memory_bytes: int) -> None:
    """Locks the process down for good; called once, with everything imported, while only one thread runs."""
    _leave_network()
    _limit_resources(memory_bytes)
    roots = tuple(str(Path(p).resolve()) for p in (*sys.path, sys.prefix, sys.base_prefix) if p)
    sys.addaudithook(lambda event, args: _audit(event, args, roots))


def _audit(event: str, args: tuple[object, ...], roots: tuple[str, ...]) -> None:
    if event.startswith(_REFUSED):
        raise PermissionError(f"{event} is not allowed while a text is evaluated")
    if event == "open" and not _is_code(args, roots):
        raise PermissionError(f"opening {args[0]!r} is not allowed while a text is evaluated")


def _is_code(args: tuple[object, ...], roots: tuple[str, ...]) -> bool:
    """Reading a module is allowed: libraries import parts of themselves late."""
    path, _mode, flags = args
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    if isinstance(flags, int) and flags & writes:
        return False
    name = os.fsdecode(path) if isinstance(path, str | bytes) else ""
    return name.endswith(_CODE) and os.path.realpath(name).startswith(roots)


def _leave_network() -> None:
    """Moves the process into a network name space without interfaces, where the kernel permits it (Linux)."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    with contextlib.suppress(AttributeError):  # a C library without the call
        libc.unshare(_NEW_USER_AND_NETWORK)


def _limit_resources(memory_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limits; the time limits hold there all the same
        return
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_AS: _held() + memory_bytes}
    for kind, most in limits.items():
        with contextlib.suppress(ValueError, OSError):  # a platform that does not know or permit this limit
            _, hard = resource.getrlimit(kind)
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _held() -> int:
    """Bytes of address space in use; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


@contextlib.contextmanager
def no_new_files() -> Iterator[None]:
    """While it is entered, the kernel refuses every new file and socket, also to compiled code (POSIX)."""
    try:
        import resource
    except ImportError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
