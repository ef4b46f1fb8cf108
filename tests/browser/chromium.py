"""A headless Chromium, driven by its own protocol: https://chromedevtools.github.io/devtools-protocol/."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.browser.small_png import small_png

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    """One page of one browser. A context manager: it ends the browser.

    :param profile: a folder of its own
    """

    def __init__(self, profile: Path) -> None:
        self._profile = profile
        self._number = 0
        #: What the page printed, and what its policy refused.
        self.messages: list[str] = []

    def __enter__(self) -> Chromium:
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--window-size=1400,1000")
        self._process = subprocess.Popen(
            [str(PROGRAM), *flags, f"--user-data-dir={self._profile}", "about:blank"], stderr=subprocess.DEVNULL
        )
        told = self._profile / "DevToolsActivePort"
        _wait(told.exists, "Chromium", 60)
        port = told.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30) as answer:
            page = next(target for target in json.load(answer) if target["type"] == "page")
        self._open = ExitStack()
        self._socket: ClientConnection = self._open.enter_context(connect(page["webSocketDebuggerUrl"], max_size=None))
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._process.terminate()
        self._process.wait(30)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Return what the browser answers."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled"):
                self.messages.append(json.dumps(message["params"]))
            if message.get("id") == self._number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return dict(message["result"])

    def go(self, address: str) -> None:
        """Open a page, and wait until its document is there."""
        self.send("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """Return the value of an expression in JavaScript; None where it raises."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return None if "exceptionDetails" in answer else answer["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 60) -> None:
        """Wait until an expression is true."""

        def true() -> bool:
            return self.value(f"Boolean({expression})") is True

        _wait(true, f"{expression}\n{self.value('document.body.innerText')}", seconds)

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key and let it go."""
        known = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **known)
        self.send("Input.dispatchKeyEvent", type="keyUp", **known)

    def prefer(self, theme: str) -> None:
        """Set what the system of the reader prefers: light or dark."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def picture(self, file: Path, height: int = 1000) -> None:
        """Store what is seen as a PNG file."""
        self.resize(1400, height)
        time.sleep(0.7)
        self._store(file)
        self.send("Emulation.clearDeviceMetricsOverride")

    def whole_page(self, file: Path) -> None:
        """Store the page from its top to its bottom as a PNG file, as wide as it is."""
        size = {"width": self.value("innerWidth"), "height": self.value("document.documentElement.scrollHeight")}
        clip = {"x": 0, "y": 0, "scale": 1, **size}
        self._store(file, captureBeyondViewport=True, clip=clip)

    def _store(self, file: Path, **options: Any) -> None:
        shot = self.send("Page.captureScreenshot", format="png", **options)
        file.write_bytes(small_png(base64.b64decode(shot["data"])))

    def resize(self, width: int, height: int, *, phone: bool = False) -> None:
        """Show the page in a window, or on a phone, of another size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def accessible(self) -> list[tuple[str, str]]:
        """Return role and name of what a screen reader finds on the page."""
        nodes = self.send("Accessibility.getFullAXTree")["nodes"]
        shown = (node for node in nodes if not node.get("ignored"))
        return [(str(node["role"]["value"]), str(node.get("name", {}).get("value", ""))) for node in shown]


def _wait(true: Callable[[], bool], what: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.2)
