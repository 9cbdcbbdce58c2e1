"""A disk of a few hundred kilobytes: a tmpfs that is visible only to the given commands."""

import shutil
import subprocess
from pathlib import Path

import pytest


class SmallDisk:
    """A mount namespace with a small tmpfs at `path`; skips the test where none may be made.

    `prefix` put before a command runs it there. Paths have to be absolute. Nothing stays mounted, however it ends."""

    def __init__(self, path: Path, size: str):
        for tool in ("unshare", "nsenter"):
            if shutil.which(tool) is None:
                pytest.skip(f"no small file system can be mounted here: no {tool}")
        self.path = Path(path)
        self.path.mkdir()
        script = 'mount -t tmpfs -o "size=$2" tmpfs "$1" && echo mounted && exec cat'
        self.process = subprocess.Popen(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", self.path, size],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "mounted\n":
            reason = self.process.communicate()[1].strip()
            pytest.skip("no small file system can be mounted here: " + reason)
        self.prefix = ["nsenter", "--target", str(self.process.pid), "--user", "--preserve-credentials", "--mount"]
        self.seen = Path(f"/proc/{self.process.pid}/root{self.path}")  # the same folder for this process

    def grow(self, size: str) -> None:
        subprocess.run([*self.prefix, "mount", "-o", f"remount,size={size}", self.path], check=True)

    def run(self, command, **options) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.prefix, *map(str, command)], capture_output=True, text=True, check=False,
                              **options)

    def close(self) -> None:
        self.process.communicate()
