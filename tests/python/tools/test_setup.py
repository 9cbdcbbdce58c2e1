"""tools/setup.sh on simulated machines of stub commands: output, commands, exit codes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = "[build]\ng++   # compiler\ncmake\n[test]\nzstd\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with the script and short lists; `bin` is all of $PATH in addition to coreutils and the like."""
    (tmp_path / "tools").mkdir()
    for name in ("setup.sh", "venv.sh", "download_size.py"):
        shutil.copy(ROOT / "tools" / name, tmp_path / "tools" / name)
    (tmp_path / "tools" / "packages.txt").write_text(PACKAGES)
    (tmp_path / "requirements.txt").write_text("numpy==2.4.6\n")
    (tmp_path / "requirements-test.txt").write_text("pytest==9.2.0\n")
    (tmp_path / "bin").mkdir()
    for name in ("bash", "sh", "env", "awk", "cat", "cut", "dirname", "find", "mktemp", "rm", "sha256sum", "tr"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    return tmp_path


def stub(tree: Path, name: str, script: str) -> None:
    path = tree / "bin" / name
    path.write_text(f'#!/bin/sh\necho "{name} $*" >> {tree}/calls\n{script}\n')
    path.chmod(0o755)


def setup(tree: Path, *groups: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": str(tree / "bin"), "HOME": str(tree), "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [str(tree / "bin" / "bash"), str(tree / "tools" / "setup.sh"), *groups],
        env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def calls(tree: Path) -> str:
    path = tree / "calls"
    return path.read_text() if path.exists() else ""


def test_without_root_it_prints_the_list_and_the_command(tree: Path) -> None:
    stub(tree, "dpkg-query", '[ "$3" = cmake ] && echo -n installed')
    stub(tree, "id", "echo 1000")
    stub(tree, "apt-get", "exit 100")
    result = setup(tree)
    assert result.returncode == 4
    assert "these Debian packages are missing: g++ zstd\n" in result.stderr
    assert "not root, and sudo is not available" in result.stderr
    assert "    apt-get update && apt-get install -y --no-install-recommends g++ zstd\n" in result.stderr
    assert "apt-get" not in calls(tree)


def test_where_sudo_is_not_permitted_it_prints_the_list(tree: Path) -> None:
    stub(tree, "dpkg-query", "true")
    stub(tree, "id", "echo 1000")
    stub(tree, "apt-get", "exit 100")
    stub(tree, "sudo", "exit 1")
    result = setup(tree, "build")
    assert result.returncode == 4
    assert "sudo is not permitted" in result.stderr
    assert "install -y --no-install-recommends g++ cmake\n" in result.stderr
    assert "sudo -n true" in calls(tree)  # never prompts for a password


def test_setup_shows_the_size_before_installing_and_reports_failures(tree: Path) -> None:
    stub(tree, "dpkg-query", "true")
    stub(tree, "id", "echo 0")
    stub(
        tree,
        "apt-get",
        """case "$*" in
  *--print-uris*) echo "'http://x/a.deb' a.deb 1500000 SHA256:1"; echo "'http://x/b.deb' b.deb 500000 SHA256:2" ;;
  *install*) echo "E: disk full" >&2; exit 100 ;;
esac""",
    )
    result = setup(tree, "build")
    assert result.returncode == 4
    assert "Debian packages to install: g++ cmake\nsetup: to download: 2.0 MB in 2 files\n" in result.stdout
    assert "E: disk full" in result.stderr
    assert "apt-get install failed" in result.stderr
    assert "these Debian packages are missing: g++ cmake\n" in result.stderr


def test_on_another_system_it_prints_the_list(tree: Path) -> None:
    result = setup(tree)
    assert result.returncode == 4
    assert "this is not Debian" in result.stderr


def test_an_old_python_is_rejected_clearly(tree: Path) -> None:
    stub(tree, "dpkg-query", "echo -n installed")
    # Simulates Python 3.9: fails the version check and prints its version.
    for name in ("python3", "oldpython"):
        stub(tree, name, '[ "$1" = --version ] && echo "Python 3.9.2" || exit 1')
    env_python = tree / "bin" / "oldpython"
    result = subprocess.run(
        [str(tree / "bin" / "bash"), str(tree / "tools" / "setup.sh")],
        env={"PATH": str(tree / "bin"), "PYTHON": str(env_python)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert result.returncode == 4
    assert "Python 3.11 or newer is needed; found: Python 3.9.2" in result.stderr


def test_nothing_happens_when_nothing_is_missing(tree: Path) -> None:
    stub(tree, "dpkg-query", "true")
    digest = hashlib.sha256()
    for name in ("tools/packages.txt", "tools/setup.sh", "tools/venv.sh", "requirements.txt", "requirements-test.txt"):
        digest.update((tree / name).read_bytes())
    (tree / ".venv" / "bin").mkdir(parents=True)
    stub(tree, "python", "exit 1")
    os.rename(tree / "bin" / "python", tree / ".venv" / "bin" / "python")
    (tree / ".venv" / "setup-build-test").write_text(digest.hexdigest() + "\n")
    result = setup(tree)
    assert (result.returncode, result.stdout, result.stderr, calls(tree)) == (0, "", "", "")
    # A changed list is checked again.
    (tree / "tools" / "packages.txt").write_text(PACKAGES + "tar\n")
    assert setup(tree).returncode == 4


def test_an_unknown_group_is_a_usage_error(tree: Path) -> None:
    result = setup(tree, "biuld")
    assert result.returncode == 2
    assert "no group biuld" in result.stderr


def test_packages_of_the_tests_are_installed_only_for_tests(tree: Path) -> None:
    stub(tree, "dpkg-query", "echo -n installed")
    stub(tree, "python", "exit 0")
    (tree / ".venv" / "bin").mkdir(parents=True)
    os.rename(tree / "bin" / "python", tree / ".venv" / "bin" / "python")
    assert setup(tree, "build").returncode == 0
    assert "--requirement=requirements.txt" in calls(tree)
    assert "requirements-test.txt" not in calls(tree)
    assert setup(tree, "build", "test").returncode == 0
    assert "--requirement=requirements.txt --requirement=requirements-test.txt" in calls(tree)
