"""The table of rules in the guide is that of the program."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_guide_has_the_rules_with_their_thresholds():
    table = (ROOT / "unstarve/diagnose/rules/table.cpp").read_text()
    names = re.search(r"kRules\{([^}]*)\}", table)[1].replace(" ", "").replace("\n", "").split(",")
    rules = {}
    for path in (ROOT / "unstarve/diagnose/rules").glob("*.cpp"):
        for symbol, strings in re.findall(r"\nconst Rule (k\w+)\{((?:\s*\"[^\"]*\",?)+)", path.read_text()):
            name, threshold = re.search(r"\"([^\"]*)\",((?:\s*\"[^\"]*\")+)", strings).groups()
            text = "".join(re.findall(r"\"([^\"]*)\"", threshold))
            rules[symbol] = f"| `{name}` | {text} |"
    lines = (ROOT / "docs/guide/watch.md").read_text().splitlines()
    assert sorted(rules) == sorted(names)
    assert [line for line in lines if line in rules.values()] == [rules[name] for name in names]
