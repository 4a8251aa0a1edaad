"""Headless Chromium, driven over its DevTools protocol on a pipe: one JSON text after another, each ended by a NUL."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from support.tools import requires

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PROGRAM = next(filter(None, map(shutil.which, PROGRAMS)), None)

requires_browser = requires(*PROGRAMS)

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")


@dataclass
class Browser:
    """One tab. `errors` are what pages wrote to the console as errors, and exceptions that nobody caught."""

    to: BinaryIO
    come: BinaryIO
    session: str = ""
    errors: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def open(self, page: Path, width: int = 1200, height: int = 900) -> None:
        """Show a file in a window of this size."""
        self.resize(width, height)
        self.call("Page.navigate", url=page.as_uri())
        ready = "new Promise(r => document.readyState === 'complete' ? r(1) : addEventListener('load', () => r(1)))"
        while self.evaluate("location.protocol") != "file:":
            pass
        self.evaluate(ready)

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def media(self, scheme: str = "light", media: str = "") -> None:
        """`scheme` light or dark; `media` print, or empty for the screen."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", media=media, features=[feature])

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def point(self, selector: str, place: int = 0, across: float = 0.5) -> None:
        """Move the mouse onto the element `place` of those that a CSS selector finds, so far across its width."""
        x, y = self._spot(selector, place, across)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def tap(self, selector: str, place: int = 0) -> None:
        """A finger comes down and goes up again."""
        x, y = self._spot(selector, place)
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def click(self, selector: str, place: int = 0) -> None:
        x, y = self._spot(selector, place)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, selector: str) -> bytes:
        """A PNG of the page from its top to the end of an element."""
        script = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect().bottom + scrollY + 16"
        clip = {"x": 0, "y": 0, "width": self.evaluate("innerWidth"), "height": self.evaluate(script), "scale": 1}
        return base64.b64decode(self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"])

    def call(self, method: str, **parameters: Any) -> Any:
        """The answer of one method of the protocol."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.to.write(json.dumps(message).encode() + b"\0")
        self.to.flush()
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self._note(answer)

    def _spot(self, selector: str, place: int, across: float = 0.5) -> tuple[float, float]:
        """Scrolls there first, and waits until the page has seen that."""
        position = self.evaluate(
            f"new Promise(done => {{ const e = document.querySelectorAll({json.dumps(selector)})[{place}];"
            "e.scrollIntoView({block: 'center', inline: 'center'});"
            "requestAnimationFrame(() => requestAnimationFrame(() => { const b = e.getBoundingClientRect();"
            f"done([b.x + b.width * {across}, b.y + b.height / 2]); }})); }})"
        )
        return position[0], position[1]

    def _receive(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self.come.read(1)) != b"\0":
            assert byte, "chromium ended"
            text += byte
        return dict(json.loads(text))

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"]["text"])
        elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.errors.append(str(parameters["args"]))
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Chromium with a profile of its own in a fresh folder, ended afterwards."""
    assert PROGRAM is not None
    to_read, to_write = os.pipe()
    come_read, come_write = os.pipe()

    def numbered() -> None:
        # By way of high numbers, so that neither pipe end is closed by the other's arrival at 3 or 4.
        reader, other = os.dup2(to_read, 60), os.dup2(come_write, 61)
        os.dup2(reader, 3)
        os.dup2(other, 4)

    command = [PROGRAM, *FLAGS, f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        command, preexec_fn=numbered, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(to_read)
    os.close(come_write)
    try:
        with os.fdopen(to_write, "wb") as to, os.fdopen(come_read, "rb") as come:
            tab = Browser(to, come)
            target = tab.call("Target.createTarget", url="about:blank")["targetId"]
            tab.session = tab.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log"):
                tab.call(f"{domain}.enable")
            yield tab
    finally:
        process.kill()
        process.wait()
