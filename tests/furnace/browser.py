"""A real browser, driven over its DevTools protocol through two pipes: nothing but Chromium itself is needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from select import select
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--mute-audio",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


class Browser:
    """One browser with one page. `complaints` are the errors that the page logged."""

    def __init__(self, width: int = 1280, height: int = 720, *, dark: bool = False) -> None:
        found = next(filter(None, map(shutil.which, NAMES)), None)
        if found is None:
            pytest.skip("chromium is not installed")
        self._folder = tempfile.TemporaryDirectory(prefix="furnace-browser-", ignore_cleanup_errors=True)
        hears, self._to = os.pipe()
        self._from, says = os.pipe()
        command = [
            found,
            *FLAGS,
            f"--user-data-dir={self._folder.name}",
            f"--window-size={width},{height}",
            "about:blank",
        ]
        self._process = _started(command, hears, says)
        self._number = 0
        self._data = b""
        self.complaints: list[str] = []
        self._session: str | None = None
        pages = [each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page"]
        self._session = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of one command."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _read(self, seconds: float = 30.0) -> Any:
        while b"\0" not in self._data:
            assert select([self._from], [], [], seconds)[0], "the browser does not answer"
            piece = os.read(self._from, 1 << 20)
            assert piece, "the browser has ended"
            self._data += piece
        text, _, self._data = self._data.partition(b"\0")
        return json.loads(text)

    def _note(self, event: Any) -> None:
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(parameters["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")

    def open(self, url: str) -> None:
        """Go to an address."""
        self.call("Page.navigate", url=url)

    def value(self, script: str) -> Any:
        """What an expression of the page gives."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, script: str, seconds: float = 20.0) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.value(f"!!({script})"):
            assert time.monotonic() < end, f"never true: {script}; the page shows {self.text('body')}"
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        """The text of an element as one reads it."""
        return str(self.value(f"(document.querySelector({json.dumps(selector)}) || {{innerText: ''}}).innerText"))

    def click(self, selector: str) -> None:
        """Press the mouse in the middle of an element."""
        x, y = self._box(selector)(0.5, 0.5)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def draw(self, selector: str, points: list[tuple[float, float]]) -> None:
        """Draw a line through points, given as shares of the element's width and height."""
        at = self._box(selector)
        x, y = at(*points[0])
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        for each in points[1:]:
            x, y = at(*each)
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", clickCount=1)

    def choose_file(self, selector: str, path: Path) -> None:
        """Put a file into a file input."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[str(path)], nodeId=node)

    def picture(self) -> bytes:
        """The page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def _box(self, selector: str) -> Any:
        script = (
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'});"
            "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()"
        )
        left, top, width, height = self.value(script)
        return lambda x, y: (left + x * width, top + y * height)

    def close(self) -> None:
        """End the browser."""
        os.close(self._to)
        os.kill(self._process, signal.SIGTERM)
        os.waitpid(self._process, 0)
        os.close(self._from)
        self._folder.cleanup()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _started(command: list[str], hears: int, says: int) -> int:
    """A process that reads from descriptor 3 and writes to 4, as the browser expects; gives its number."""
    ends = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in (hears, says)]
    actions = [
        (os.POSIX_SPAWN_DUP2, ends[0], 3),
        (os.POSIX_SPAWN_DUP2, ends[1], 4),
        *((os.POSIX_SPAWN_OPEN, each, os.devnull, os.O_RDWR, 0) for each in (0, 1, 2)),
    ]
    process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    for each in (*ends, hears, says):
        os.close(each)
    return process
