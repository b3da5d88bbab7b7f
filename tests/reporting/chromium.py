"""A Chromium without a window, driven through its DevTools pipe with the standard library alone."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Browser", "Tab", "find_chromium"]

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
SECONDS = 90
# The pipe's ends must be 3 and 4 in the browser; they may be each other's numbers before.
START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """Where Chromium is, None when it is not installed."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One Chromium process; tabs share it."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="llmkg-chromium-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        start = [sys.executable, "-c", START, str(to_read), str(to_write)]
        command = [*start, program, *FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(
            command, pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_read)
        os.close(to_write)
        self._number = 0
        self._rest = b""
        self.listeners: dict[str, Callable[[dict[str, Any]], None]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._write)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        shutil.rmtree(self._profile, ignore_errors=True)

    def send(self, method: str, session: str | None = None, **parameters: object) -> dict[str, Any]:
        """Calls a method of the DevTools protocol and waits for its result."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + SECONDS
        while True:
            found = self._next(deadline)
            if found.get("id") == self._number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                result: dict[str, Any] = found["result"]
                return result
            self._tell(found)

    def wait(self, done: Callable[[], bool], seconds: float = SECONDS) -> None:
        """Reads events until ``done``."""
        deadline = time.monotonic() + seconds
        while not done():
            self._tell(self._next(deadline))

    def _tell(self, message: dict[str, Any]) -> None:
        listener = self.listeners.get(message.get("sessionId", ""))
        if listener:
            listener(message)

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("Chromium did not answer")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise RuntimeError("Chromium ended")
            self._rest += part
        line, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def tab(self, *, width: int = 1280, height: int = 900, dark: bool = False, scripts: bool = True) -> Tab:
        """A new tab."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Tab(self, session, (width, height), dark=dark, scripts=scripts)


class Tab:
    """A page in a browser.

    Attributes:
        complaints: errors and warnings on the console, violations of the page's policy, uncaught exceptions.
        requests: addresses of everything that was asked for, without the page itself.
    """

    def __init__(self, browser: Browser, session: str, size: tuple[int, int], *, dark: bool, scripts: bool) -> None:
        self._browser, self._session = browser, session
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._address = ""
        self._loaded = False
        browser.listeners[session] = self._event
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.resize(*size)
        self.media(dark=dark)
        if not scripts:
            self.send("Emulation.setScriptExecutionDisabled", value=True)

    def send(self, method: str, **parameters: object) -> dict[str, Any]:
        """Calls a method of the DevTools protocol for this tab."""
        return self._browser.send(method, self._session, **parameters)

    def resize(self, width: int, height: int) -> None:
        """Sets the size of the window."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def media(self, *, dark: bool, medium: str = "") -> None:
        """Sets the preferred colours and the medium."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=medium, features=[scheme])

    def _event(self, message: dict[str, Any]) -> None:
        method, found = message["method"], message["params"]
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(found["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and found["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(found["args"]))
        elif method == "Log.entryAdded" and found["entry"]["level"] in ("error", "warning"):
            self.complaints.append(found["entry"]["text"])
        elif method == "Network.requestWillBeSent" and found["request"]["url"] != self._address:
            self.requests.append(found["request"]["url"])

    def open(self, path: Path, fragment: str = "") -> None:
        """Opens the page ``path`` and waits until it is loaded."""
        self._address, self._loaded = path.as_uri(), False
        self.send("Page.navigate", url=self._address + (f"#{fragment}" if fragment else ""))
        self._browser.wait(lambda: self._loaded)

    def run(self, script: str) -> Any:
        """The value of an expression; of a promise what it brings."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"].get("description", str(found)))
        return found["result"].get("value")

    def until(self, script: str, seconds: float = 30) -> None:
        """Waits until an expression is true."""
        deadline = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > deadline:
                raise TimeoutError(script)
            time.sleep(0.05)

    def screenshot(self, path: Path, *, whole: bool = False, clip: tuple[int, int, int, int] | None = None) -> None:
        """Writes a picture of the window, of the whole page or of a part (x, y, width, height)."""
        parameters: dict[str, object] = {"format": "png", "captureBeyondViewport": whole or clip is not None}
        if clip is not None:
            parameters["clip"] = dict(zip(("x", "y", "width", "height"), clip, strict=True)) | {"scale": 1}
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", **parameters)["data"]))
