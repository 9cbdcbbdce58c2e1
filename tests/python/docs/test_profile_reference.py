"""docs/reference/profile.md documents every field of the JSON of a profile, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCE = (ROOT / "unstarve/diagnose/profile/run_profile.cpp").read_text()
PAGE = (ROOT / "docs/reference/profile.md").read_text()
# Fields that to_json() adds if there is something: json["trace"]["gaps"] = ...
PARENTS = {"": "RunProfile", "watching": "Watching", "timeline": "RunTimeline", "trace": "TraceUse",
           "stacks": "PythonStacks"}


def fields_of_source():
    """Names of the structs with the fields that the macros of the JSON library and to_json() write."""
    macros = re.findall(r"NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE\((\w+),([^)]*)\)", SOURCE)
    fields = {struct: [name.strip() for name in names.split(",")] for struct, names in macros}
    for path in re.findall(r"json((?:\[\"\w+\"\])+) = ", SOURCE):
        *parent, name = re.findall(r"\w+", path)
        fields[PARENTS["".join(parent)]].append(name)
    return fields


def test_every_field_is_documented():
    sections = [re.findall(r"^\| `(\w+)`", section, re.M) for section in PAGE.split("\n## ")[1:]]
    documented = sorted(sorted(section) for section in sections)
    assert documented == sorted(sorted(set(names)) for names in fields_of_source().values())
    assert len(documented) > 25


def test_every_row_has_type_and_meaning():
    for line in PAGE.splitlines():
        if line.startswith("| `"):
            assert all(cell.strip() for cell in line.strip("|").split("|")), line


def test_the_version_is_that_of_the_source():
    header = (ROOT / "unstarve/diagnose/profile/run_profile.h").read_text()
    version = re.search(r"kRunProfileVersion = (\d+);", header)[1]
    assert f"`profile.version` is {version}." in PAGE
    assert f"| `version` | number | {version} |" in PAGE


def test_fields_that_are_null_for_traces_are_named():
    null = re.findall(r'"(\w+)"', re.search(r"kOfWatching\{([^}]*)\}", SOURCE)[1])
    sentence = re.search(r"In the profile\s+of a trace, (.*?) are null", PAGE, re.S)[1]
    assert re.findall(r"`(\w+)`", sentence) == null
