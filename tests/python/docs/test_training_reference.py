"""The table of docs/reference/training.md has every training setting and its flag."""

import json
import os
import re
import subprocess
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs/reference/training.md"


def unstarve(*arguments):
    return subprocess.run([os.environ["UNSTARVE"], *arguments], capture_output=True, text=True, check=True).stdout


def paths(node, prefix=""):
    for key, value in node.items():
        if isinstance(value, dict):
            yield from paths(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def test_every_setting_and_flag_is_listed():
    rows = [line.split("|")[1:5] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    table = {key.strip(" `"): flag.strip(" `") for key, flag, *_ in rows}
    settings = json.loads(unstarve("explain", "synthetic:images=10,classes=2", "--json"))["settings"]
    assert list(table) == [*paths(settings["train"]), *paths(settings["host"], "host.")]
    known = set(re.findall(r"^  (--[a-z0-9-]+)", unstarve("train", "--help"), re.M))
    assert {flag for flag in table.values() if flag.startswith("--")} <= known
