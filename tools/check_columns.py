#!/usr/bin/env python3
"""Checks that no line is longer than 120 columns; clang-format does not break comments.

    tools/check_columns.py [FOLDER]      the folder to check; default: this tree

Exempt are Markdown tables and code blocks, the generated stub of the extension module, and third-party files (vendor/).
Prints the offending lines and exits with 1 if there are any; exits with 2 outside of a git checkout.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from git_files import git_files

COLUMNS = 120
ENDINGS = (".h", ".cpp", ".cu", ".cuh", ".inl", ".py", ".pyi", ".sh", ".md", ".js", ".css", ".toml", ".ini", ".cmake",
           "CMakeLists.txt", "Makefile")
OTHERS = ("/vendor/", "/_core.pyi")


def too_long(lines: list[str], markdown: bool) -> Iterator[int]:
    """Their numbers, from 1 on."""
    code = False
    for number, line in enumerate(lines, 1):
        if markdown and line.lstrip().startswith("```"):
            code = not code
        if len(line) > COLUMNS and not (markdown and (code or line.lstrip().startswith("|"))):
            yield number


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
    try:
        names = git_files(root, ENDINGS)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    found = 0
    for name in names:
        path = root / name
        if any(part in f"/{name}" for part in OTHERS):
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        for number in too_long(lines, path.suffix == ".md"):
            print(f"{name}:{number}: {len(lines[number - 1])} columns; expected {COLUMNS} at most")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
