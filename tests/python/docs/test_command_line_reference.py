"""The table "Options of several commands" of docs/reference/command-line.md agrees with the help of all commands."""

import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path

REFERENCE = Path(__file__).resolve().parents[3] / "docs/reference"


def help_of(*words):
    return subprocess.run([os.environ["UNSTARVE"], *words, "--help"], capture_output=True, text=True, check=True).stdout


def commands_of_options():
    """The commands that have each option, and those with an argument DATA under the name DATA."""
    found = defaultdict(set)
    listed = help_of().split("Commands:")[1].split("Options:")[0]
    for command in re.findall(r"^  ([a-z-]+) {2,}", listed, re.M):
        for name in re.findall(r"^  (--[a-z0-9-]+|DATA) ", help_of(command), re.M):
            found[name].add(command)
    return found


def commands_of_table():
    page = (REFERENCE / "command-line.md").read_text()
    rows = page.split("## Options of several commands")[1].split("\n## ")[0].splitlines()
    cells = [line.split("|")[1:3] for line in rows if line.startswith("| `")]
    table = defaultdict(list)
    for options, commands in cells:
        for name in re.findall(r"`(--[a-z0-9-]+)", options):
            table[name] += commands.strip().split(", ")
    return table


def test_every_row_lists_the_commands_that_have_the_option():
    options, table = commands_of_options(), commands_of_table()
    assert len(table) > 20
    for name, commands in table.items():
        listed = set(commands)
        if "all that print results" in listed:
            listed = options["--json"]
        if "with DATA" in listed:
            listed = listed - {"with DATA", "except demo"} | options["DATA"] - {"demo"}
        assert listed == options[name], name
        assert len(commands) == len(set(commands)), name


def test_every_option_of_several_commands_has_a_row_or_is_a_training_setting():
    training = set(re.findall(r"^\| `[^|]*\| `(--[a-z0-9-]+)` \|", (REFERENCE / "training.md").read_text(), re.M))
    several = {name for name, commands in commands_of_options().items() if len(commands) > 1 and name != "DATA"}
    assert several - training == set(commands_of_table()) & several - training
