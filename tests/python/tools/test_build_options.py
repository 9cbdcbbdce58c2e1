"""The options of the CMake build."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_each_option_is_declared_once() -> None:
    """A second declaration of an option has no effect: its file would use the value of the first."""
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    text = "\n".join(file.read_text() for file in files)
    found = re.findall(r"^\s*(?:set\((\w+) [^)]*\bCACHE\b|option\((\w+))", text, re.MULTILINE)
    declared = Counter(cached or option for cached, option in found)
    assert len(declared) > 5
    assert [name for name, times in declared.items() if times > 1] == []
