"""The tables of rules in the guides are those of the program."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_guides_have_the_source_of_every_threshold():
    for guide in ("watch", "diagnose"):
        text = (ROOT / f"docs/guide/{guide}.md").read_text()
        rules = re.findall(r"^\| `([^`]*)` \|", text.split("## What is found")[1].split("###")[0], re.MULTILINE)
        sources = text.split("### Sources of the thresholds")[1].split("No threshold")[0]
        rows = [row.split("|")[1] for row in sources.splitlines() if row.startswith("| `")]
        assert len(rules) > 10
        assert set(re.findall(r"`([^`]*)`", " ".join(rows))) == set(rules)


def test_the_guides_have_the_rules_with_their_thresholds():
    names = re.findall(r"^RULE\((\w+)\)", (ROOT / "unstarve/diagnose/rules/rule_table.inl").read_text(), re.MULTILINE)
    rules = {}
    for path in [*(ROOT / "unstarve/diagnose/rules").rglob("*.cpp"),
                 *(ROOT / "unstarve/diagnose/trace_rules").glob("*.cpp")]:
        for symbol, strings in re.findall(r"\nconst Rule (k\w+)\{((?:\s*\"[^\"]*\",?)+)", path.read_text()):
            name, threshold = re.search(r"\"([^\"]*)\",((?:\s*\"[^\"]*\")+)", strings).groups()
            text = "".join(re.findall(r"\"([^\"]*)\"", threshold))
            rules[symbol] = f"| `{name}` | {text} |"
    # Of processes first, then of traces.
    guides = [(ROOT / f"docs/guide/{guide}.md").read_text() for guide in ("watch", "diagnose")]
    lines = "".join(guides).splitlines()
    assert sorted(rules) == sorted(names)
    assert [line for line in lines if line in rules.values()] == [rules[name] for name in names]
