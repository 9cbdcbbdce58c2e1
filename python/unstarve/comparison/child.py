"""One side of a comparison as a child process that implements the protocol of serve.py.

Between its blocks the whole process group of the child is stopped (SIGSTOP): its threads and workers keep their state
but neither take time from the other side nor prefetch. The first block after the start is a warm-up.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self


class Failed(Exception):
    """The child could not start or failed; the text is the reason it gave."""


PR_SET_PDEATHSIG = 1  # linux/prctl.h


def signal_when_parent_ends(number: int) -> None:
    """Requests a signal for this process at the end of its parent."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)


class Child:
    """A side that runs as a child process on `cores`. Use as a context manager."""

    def __init__(self, command: Sequence[str | Path], cores: Iterable[int], cwd: Path,
                 environment: Mapping[str, str] | None = None) -> None:
        self.cpu_per_sample: list[float] = []  # CPU seconds in each block, of sides that measure them
        self.stderr = tempfile.TemporaryFile(mode="w+")
        libc = ctypes.CDLL(None)

        def prepare() -> None:
            os.sched_setaffinity(0, cores)
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

        self.process = subprocess.Popen(
            [str(part) for part in command], cwd=cwd, env={**os.environ, **(environment or {})}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.stderr, text=True, start_new_session=True, preexec_fn=prepare,
        )
        assert self.process.stdin and self.process.stdout
        self._commands, self._answers = self.process.stdin, self.process.stdout
        try:
            self._answer()
            self._stop()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def rate(self, seconds: float) -> float:
        """Samples per second over one block."""
        answer = self._ask(["run", seconds])
        self.cpu_per_sample.append(float(answer.get("cpu_seconds", 0)) / max(float(answer["samples"]), 1))
        return float(answer["samples"]) / float(answer["seconds"])

    def check(self, sheet: str | None = None) -> dict[str, Any]:
        """Statistics of a few batches; writes a sheet of crops to the path `sheet`."""
        return self._ask(["check", sheet])

    def close(self) -> None:
        """Ends the child and the processes that it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._commands.close()
        self._answers.close()
        self.stderr.close()

    def _ask(self, command: Sequence[Any]) -> dict[str, Any]:
        os.killpg(self.process.pid, signal.SIGCONT)
        try:
            self._commands.write(json.dumps(command) + "\n")
            self._commands.flush()
        except BrokenPipeError:
            raise Failed(self._exit_message()) from None
        answer = self._answer()
        self._stop()
        return answer

    def _answer(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:
            raise Failed(self._exit_message())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def _stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGSTOP)
        # Returns once all threads of the leader are stopped; WNOWAIT leaves an exit status for poll().
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def _exit_message(self) -> str:
        self.process.wait()
        self.stderr.seek(0)
        lines = [line.strip() for line in self.stderr.read().splitlines() if line.strip()]
        return f"exited with status {self.process.returncode}: {lines[-1] if lines else 'no message'}"


class ChildGroup:
    """Children that run concurrently as one side; its rate is the sum of their rates."""

    def __init__(self, starts: Iterable[Callable[[], Child]]) -> None:
        """starts: one callable per child that starts it."""
        self.children: list[Child] = []
        try:
            for start in starts:
                self.children.append(start())
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def rate(self, seconds: float) -> float:
        """The sum of the rates of the children."""
        with ThreadPoolExecutor(len(self.children)) as pool:
            return math.fsum(pool.map(lambda child: child.rate(seconds), self.children))

    def check(self, sheet: str | None = None) -> dict[str, Any]:
        """The statistics of the first child."""
        return self.children[0].check(sheet)

    def close(self) -> None:
        """Ends all children."""
        for child in self.children:
            child.close()
