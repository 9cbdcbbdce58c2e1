"""The wheel of `make wheel` in virtual environments that have nothing else; no compiler is on PATH."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Environment:
    """A virtual environment; commands run in it with nothing but its bin folder on PATH."""

    folder: Path

    @property
    def packages(self) -> Path:
        return self.folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"

    def run(self, *command: object, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of the environment, in an empty folder."""
        there = self.folder / "work"
        there.mkdir(exist_ok=True)
        kept = {key: os.environ[key] for key in ("HOME", "TMPDIR", "LANG") if key in os.environ}
        words = [str(self.folder / "bin" / str(command[0])), *map(str, command[1:])]
        return subprocess.run(words, cwd=there, env={**kept, "PATH": str(self.folder / "bin"), **variables},
                              capture_output=True, text=True, check=False)

    def python(self, code: str, *arguments: object) -> str:
        """What the code prints; it must not fail."""
        done = self.run("python", "-c", code, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def unstarve(self, *arguments: object) -> str:
        """What the command `unstarve` prints; it must not fail."""
        done = self.run("unstarve", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


def install(folder: Path, *wanted: object) -> Environment:
    """A new environment, for which pip is called once per argument."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    for item in wanted:
        subprocess.run([folder / "bin/python", "-m", "pip", "install", "-q", "--only-binary=:all:", str(item)],
                       check=True)
    return Environment(folder)


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The built wheel."""
    found = list((ROOT / "dist").glob("unstarve-*.whl"))
    assert len(found) == 1, f"test wheel {ROOT}/dist: {len(found)} wheels; expected one. Run: make wheel"
    return found[0]


@pytest.fixture(scope="session")
def plain(wheel, tmp_path_factory) -> Environment:
    """The wheel with NumPy, its only requirement."""
    return install(tmp_path_factory.mktemp("plain") / "venv", wheel)


@pytest.fixture(scope="session")
def with_parquet(wheel, tmp_path_factory) -> Environment:
    """The wheel, then its extra `parquet` by the command that messages name."""
    return install(tmp_path_factory.mktemp("parquet") / "venv", wheel, "unstarve[parquet]")


@pytest.fixture(scope="session")
def with_pillow(wheel, tmp_path_factory) -> Environment:
    """The wheel and Pillow."""
    return install(tmp_path_factory.mktemp("pillow") / "venv", wheel, "pillow")


@pytest.fixture(scope="session")
def with_torch(wheel, tmp_path_factory) -> Environment:
    """The wheel in front of the packages of this interpreter, which include torch and pyarrow: another gigabyte."""
    environment = install(tmp_path_factory.mktemp("torch") / "venv", wheel)
    (environment.packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return environment


@pytest.fixture(scope="session")
def photos(plain) -> Path:
    """A folder of images in two classes."""
    plain.unstarve("synth", "photos", "--classes", "2", "--images", "24", "--size", "32")
    return plain.folder / "work" / "photos"
