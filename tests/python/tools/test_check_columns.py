"""tools/check_columns.py finds all lines that are too long, except those that may be wider."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHECKER = Path(__file__).resolve().parents[3] / "tools" / "check_columns.py"
WIDE, FULL = "x" * 121, "é" * 120


def check(root: Path, files: dict[str, str]) -> tuple[int, list[str]]:
    """Exit code and printed lines for a repository of these files."""
    subprocess.run(["git", "init", "-q", root], check=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, CHECKER, root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def test_a_long_line_is_reported_with_its_location(tmp_path):
    found = check(tmp_path, {"a.h": f"// {FULL}\n", "b/c.py": f"# {FULL[2:]}\n{WIDE}\n", "d.md": f"- {WIDE}\n",
                             "e.cpp": f"{FULL}\n"})
    assert found == (1, ["a.h:1: 123 columns; expected 120 at most", "b/c.py:2: 121 columns; expected 120 at most",
                         "d.md:1: 123 columns; expected 120 at most"])


def test_build_files_pages_and_tables_are_checked(tmp_path):
    names = ["CMakeLists.txt", "Makefile", "a.cmake", "a.inl", "b/CMakeLists.txt", "b/a.js", "c.toml"]
    assert check(tmp_path, {name: WIDE for name in names}) == (
        1, [f"{name}:1: 121 columns; expected 120 at most" for name in names])


def test_tables_code_and_vendored_files_may_be_wider(tmp_path):
    code = f"```\n{WIDE}\n```\n"
    found = check(tmp_path, {"a.md": f"| {WIDE} |\n{code}", "x/vendor/a.h": WIDE, "p/_core.pyi": WIDE, "a.json": WIDE,
                             "a.txt": WIDE, ".gitignore": "/build*/\n", "build-x/a.h": WIDE})
    assert found == (0, [])
