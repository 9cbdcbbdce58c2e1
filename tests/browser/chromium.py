"""Headless Chromium, controlled over its debugging pipe: no port and no further package.

Chromium reads commands from file descriptor 3 and writes answers and events to 4, each JSON ended by a zero byte
(https://chromedevtools.github.io/devtools-protocol/, flag --remote-debugging-pipe).
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import tempfile
import time
from pathlib import Path

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
]


def find_chromium() -> str | None:
    """The browser's program, or None if it is not installed."""
    for name in ("chromium", "chromium-browser"):
        if path := shutil.which(name):
            return path
    return None


class Chromium:
    """One browser process with one page. Use as a context manager; errors of the page are collected in `problems`."""

    def __init__(self, program: str, timeout_s: float = 60) -> None:
        self._timeout_s = timeout_s
        self._profile = tempfile.mkdtemp(prefix="unstarve-browser-")
        self._buffer = b""
        self._next_id = 0
        self._session: str | None = None
        self._loaded = 0
        self.problems: list[str] = []
        commands_out, self._commands = self._pipe()
        self._answers, answers_in = self._pipe()
        null = os.open(os.devnull, os.O_RDWR)
        actions = [
            (os.POSIX_SPAWN_DUP2, null, 0),
            (os.POSIX_SPAWN_DUP2, null, 1),
            (os.POSIX_SPAWN_DUP2, null, 2),
            (os.POSIX_SPAWN_DUP2, commands_out, 3),
            (os.POSIX_SPAWN_DUP2, answers_in, 4),
        ]
        arguments = [program, *FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        self._pid = os.posix_spawn(program, arguments, dict(os.environ), file_actions=actions)
        for descriptor in (commands_out, answers_in, null):
            os.close(descriptor)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    @staticmethod
    def _pipe() -> tuple[int, int]:
        # Other numbers than 3 and 4, which the child uses.
        ends = os.pipe()
        moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
        for end in ends:
            os.close(end)
        return moved  # type: ignore[return-value]

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._session = None
            self.call("Browser.close")
        except (OSError, TimeoutError, RuntimeError):
            os.kill(self._pid, 9)
        os.waitpid(self._pid, 0)
        os.close(self._commands)
        os.close(self._answers)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters: object) -> dict:
        """Sends a command and returns its result; events that arrive meanwhile are stored."""
        self._next_id += 1
        wanted = self._next_id
        message: dict = {"id": wanted, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self._timeout_s
        while True:
            answer = self._receive(deadline, method)
            if answer.get("id") != wanted:
                self._note(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"chromium: {method}: {answer['error']}")
            return answer["result"]

    def _receive(self, deadline: float, waiting_for: str) -> dict:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"chromium: no answer to {waiting_for} in {self._timeout_s} s")
            chunk = os.read(self._answers, 1 << 20)
            if not chunk:
                raise RuntimeError(f"chromium: ended while waiting for {waiting_for}")
            self._buffer += chunk
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def _note(self, event: dict) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded += 1
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append("exception: " + details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append("console: " + json.dumps([value.get("value") for value in parameters["args"]]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append("log: " + parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if not url.startswith(("file:", "data:", "about:")):
                self.problems.append("request: " + url)

    def show(self, page: Path, width: int, scheme: str) -> None:
        """Opens the file in a window of `width` pixels with the colour scheme, and waits until it is drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.set_scheme(scheme)
        before = self._loaded
        self.call("Page.navigate", url=page.resolve().as_uri())
        deadline = time.monotonic() + self._timeout_s
        while self._loaded == before:
            self._note(self._receive(deadline, "the page to load"))
        self.settle()

    def set_scheme(self, scheme: str) -> None:
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def settle(self) -> None:
        """Waits for two frames, after which observers have run and their output is drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def evaluate(self, expression: str) -> object:
        """The value of a JavaScript expression; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"chromium: {expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """The whole page as a PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))
