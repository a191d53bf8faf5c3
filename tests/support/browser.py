"""Headless Chromium, steered through its debugging pipe: pictures, prints, script, complaints."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.tools import need

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


_KEY_CODES = {
    "Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
    "ArrowDown": 40, "Backspace": 8, " ": 32,
}  # fmt: skip

# What a picture would show: tables wider than their box, and texts cut at its edge.
TOO_WIDE = """
[...document.querySelectorAll('.scroll')]
  .filter(box => box.scrollWidth > box.clientWidth + 1)
  .map(box => (box.querySelector('caption') || box).textContent.trim().slice(0, 50))
"""
CLIPPED = """
[...document.querySelectorAll('.tiles li, .verdict, h1, h2, h3, h4, p, dd, dt, td, th')]
  .filter(box => !box.closest('.scroll') && box.scrollWidth > box.clientWidth + 1)
  .map(box => box.textContent.trim().slice(0, 50))
"""

# Every figure of the tables of a page: its metric, its text, and the text that the page computes.
TEXTS = """
capsheet.tables.flatMap(t => t.rows.flatMap(r => r.cells)).filter(c => c.$ref)
  .map(c => [c.$ref.m, c.textContent, capsheet.textOf(c.$ref, new capsheet.Model())])
"""


class Page:
    """One open page. ``errors`` and ``requests`` collect what it complained about and asked for."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._pending, self._number, self._session = b"", 0, ""
        self._target = ""
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._loaded = False

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and give its result; events that arrive meanwhile are noted.

        Raises:
            RuntimeError: the browser refused the command.
            TimeoutError: no answer within a minute.
        """
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        while True:
            answer = self._receive(60)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])

    def _receive(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._read], [], [], deadline - time.monotonic())
            chunk = os.read(self._read, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer")
            self._pending += chunk
        text, self._pending = self._pending.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", details).get("description", "error"))
        elif event == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def attach(self) -> None:
        """Open an empty page in a new tab and listen to it alone; the tab before is closed."""
        before, self._session = self._target, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        if before:
            self.call("Target.closeTarget", targetId=before)
        self._target = target
        self.errors, self.requests = [], []
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def look(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Set the window's size and the reader's colour preference."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, html: Path) -> None:
        """Load a file and wait until it has been drawn."""
        self._loaded = False
        self.call("Page.navigate", url=html.resolve().as_uri())
        while not self._loaded:
            self._receive(60)

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression in the page; a promise is awaited.

        Raises:
            RuntimeError: the script threw an error.
        """
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key: str, *, times: int = 1, shift: bool = False) -> None:
        """Press and release a key, such as ``Tab``, ``Enter`` or ``7``, as a reader would."""
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
        code = _KEY_CODES.get(key, ord(key.upper()) if re.fullmatch(r"\w", key) else 0)
        common: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code}
        common["modifiers"] = 8 if shift else 0
        for _ in range(times):
            self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
            self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def picture(self, png: Path) -> None:
        """Save the whole page, however long, as a PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        png.write_bytes(base64.b64decode(shot["data"]))

    def print(self, pdf: Path) -> None:
        """Save the page as it would be printed."""
        printed = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        pdf.write_bytes(base64.b64decode(printed["data"]))


@contextlib.contextmanager
def open_page(html: Path, width: int = 1280, *, dark: bool = False) -> Iterator[Page]:
    """A page of a browser with an empty profile, closed at the end."""
    chromium = need("chromium", "the page's look and behaviour")
    child_read, write = os.pipe()
    read, child_write = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # The browser expects the pipe as descriptors 3 and 4; only a shell can place them there.
        process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$@" 3<&{child_read} 4>&{child_write}',
                "bash",
                chromium,
                *_FLAGS,
                f"--user-data-dir={profile}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(child_read, child_write),
            start_new_session=True,
        )
        os.close(child_read)
        os.close(child_write)
        try:
            page = Page(write, read)
            page.attach()
            page.look(width, dark=dark)
            page.open(html)
            yield page
        finally:
            os.close(write)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            os.close(read)


def screenshot(
    html: Path, png: Path, width: int, dark: bool = False, print_pdf: Path | None = None
) -> None:
    """Save the whole page as a picture and, if asked, as it would be printed."""
    with open_page(html, width, dark=dark) as page:
        page.picture(png)
        if print_pdf is not None:
            page.print(print_pdf)
