"""Sockets whose every step must end by a moment: a time-out of the socket alone starts anew with every byte."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

    from typing_extensions import Buffer

__all__ = ["DeadlineSocket"]


class DeadlineSocket:
    """What `http.client` needs of a socket; ``deadline`` (of `time.monotonic`) is set anew for every request."""

    def __init__(self, inner: socket.socket, deadline: float) -> None:
        self.inner = inner
        self.deadline = deadline

    def limit(self) -> None:
        """Gives the next step the time that is left.

        Raises:
            TimeoutError: none is left.
        """
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no time is left")
        self.inner.settimeout(left)

    def sendall(self, data: bytes) -> None:
        """See `socket.socket.sendall`."""
        self.limit()
        self.inner.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """A stream of what is received."""
        return io.BufferedReader(_Received(self), 2**16)

    def close(self) -> None:
        """See `socket.socket.close`; streams that `makefile` gave stay open."""
        self.inner.close()


class _Received(io.RawIOBase):
    """The bytes of a socket. Holds the socket open until it is closed itself."""

    def __init__(self, owner: DeadlineSocket) -> None:
        self._owner = owner
        self._raw = owner.inner.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Buffer, /) -> int | None:
        """The next bytes, within the time that is left."""
        self._owner.limit()
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Lets the socket go."""
        self._raw.close()
        super().close()
