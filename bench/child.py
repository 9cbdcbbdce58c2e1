"""One side of a comparison as a child process that implements the protocol of bench/peers/serve.py.

Between its blocks the whole process group of the child is stopped (SIGSTOP): its threads and workers keep their state
but neither take time from the other side nor prefetch. The first block after the start is a warm-up.
"""

import ctypes
import json
import os
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor


class Failed(Exception):
    """The child could not start or failed; the text is the reason it gave."""


PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Child:
    def __init__(self, command, cores, cwd, environment=None):
        self.stderr = tempfile.TemporaryFile(mode="w+")
        libc = ctypes.CDLL(None)

        def prepare():
            os.sched_setaffinity(0, cores)
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

        self.process = subprocess.Popen(
            [str(part) for part in command], cwd=cwd, env=os.environ | (environment or {}), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.stderr, text=True, start_new_session=True, preexec_fn=prepare,
        )
        try:
            self._answer()
            self._stop()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def rate(self, seconds):
        """Samples per second over one block."""
        answer = self._ask(["run", seconds])
        return answer["samples"] / answer["seconds"]

    def check(self, sheet=None):
        return self._ask(["check", sheet])

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.stderr.close()

    def _ask(self, command):
        os.killpg(self.process.pid, signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed(self._exit_message()) from None
        answer = self._answer()
        self._stop()
        return answer

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(self._exit_message())
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def _stop(self):
        os.killpg(self.process.pid, signal.SIGSTOP)
        # Returns once all threads of the leader are stopped; WNOWAIT leaves an exit status for poll().
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def _exit_message(self):
        self.process.wait()
        self.stderr.seek(0)
        lines = [line.strip() for line in self.stderr.read().splitlines() if line.strip()]
        return f"exited with status {self.process.returncode}: {lines[-1] if lines else 'no message'}"


class ChildGroup:
    """Children that run concurrently as one side; its rate is the sum of their rates."""

    def __init__(self, starts):
        """starts: one callable per child that starts it."""
        self.children = []
        try:
            for start in starts:
                self.children.append(start())
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def rate(self, seconds):
        with ThreadPoolExecutor(len(self.children)) as pool:
            return sum(pool.map(lambda child: child.rate(seconds), self.children))

    def check(self, sheet=None):
        return self.children[0].check(sheet)

    def close(self):
        for child in self.children:
            child.close()
