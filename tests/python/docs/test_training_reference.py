"""The tables of docs/reference/training.md have every training setting and its flag, and every flag of a run."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import unstarve as un
import yaml
from unstarve.training.settings import Settings, check_names

PAGE = Path(__file__).resolve().parents[3] / "docs/reference/training.md"


def unstarve(*arguments):
    return subprocess.run([os.environ["UNSTARVE"], *arguments], capture_output=True, text=True, check=True).stdout


def paths(node, prefix=""):
    for key, value in node.items():
        if isinstance(value, dict):
            yield from paths(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def defaults_of(text):
    """The default of each flag in a help text; "" if it has none."""
    found = {}
    for flag, about in re.findall(r"^  (--[a-z0-9-]+) ((?:.|\n   )*)", text, re.M):
        default = re.search(r"\[default: ([^\]]*)\]", re.sub(r"\s+", " ", about))
        found[flag] = default[1] if default else ""
    return found


def test_every_setting_is_listed_with_its_default_its_unit_and_its_effect():
    settings_part = PAGE.read_text().split("\n## Run\n")[0]
    rows = [[cell.strip(" `") for cell in line.split("|")[1:6]] for line in settings_part.splitlines()
            if line.startswith("| `")]
    assert len(rows) > 40
    defaults = defaults_of(unstarve("train", "--help"))
    for key, flag, default, unit, effect in rows:
        assert default and unit and effect, key
        if flag:
            assert default.replace(", ", ",") == defaults[flag].replace(", ", ","), key


def settings_of(*arguments):
    return json.loads(unstarve("explain", *map(str, arguments), "--batch", "16", "--json"))["settings"]


def test_keys_that_a_settings_file_does_not_name_have_the_defaults(tmp_path):
    data = "synthetic:classes=4,images=64,size=32"
    file = tmp_path / "settings.yaml"
    file.write_text(f"unstarve: 1\npipeline: {{source: {{path: '{data}'}}}}\ntrain: {{}}\n")
    expected = settings_of(data)["train"]
    assert (expected["classes"], expected["model"], expected["image_size"]) == (4, "cifar_net", 32)
    assert settings_of(file)["train"] == expected
    file.write_text(file.read_text().replace("{}\n", "{precision: float32, optimiser: {name: lars}}\n"))
    named = settings_of(file)["train"]
    assert named == {**expected, "precision": "float32", "learning_rate": 0.0625,  # 1 at batch 256
                     "optimiser": {**expected["optimiser"], "name": "lars", "form": "foreach"}}


def test_the_settings_file_of_the_page_trains(tmp_path):
    unstarve("synth", str(tmp_path / "photos"), "--classes", "2", "--images", "64", "--size", "240")
    example = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.S)[1]
    (tmp_path / "settings.yaml").write_text(example)
    done = subprocess.run([os.environ["UNSTARVE"], "train", "--config", "settings.yaml", "--epochs", "0.01", "--json"],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] == 1


def test_the_exception_of_bit_equal_resumes_is_documented():
    relaxed = unstarve("train", "--help").split("--resume PATH")[1].split("--weights")[0]
    guide = (PAGE.parents[1] / "guide/train.md").read_text()
    for text in (relaxed, guide, PAGE.read_text()):
        assert re.search(r"bit-equal to\s+an\s+uninterrupted (one|run), except with `?--order\s+relaxed", text), text


def schema_paths(schema, prefix=""):
    for key, value in schema["properties"].items():
        if "properties" in value:
            yield from schema_paths(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def test_the_schema_has_every_setting_of_the_page():
    sections = un.schema("settings")["properties"]
    rows = re.findall(r"^\| `([a-z0-9_.]+)` \|", PAGE.read_text().split("\n## Run\n")[0], re.M)
    assert rows == [*schema_paths(sections["train"]), *schema_paths(sections["host"], "host.")]
    assert sections["pipeline"]["properties"] == un.schema()["properties"]
    with pytest.raises(un.Error, match="found 'file'; expected 'pipeline' or 'settings'"):
        un.schema("file")


def test_schema_and_program_accept_and_reject_the_same_files(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    schema = un.schema("settings")
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    example = yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.S)[1])
    example["pipeline"]["source"]["path"] = "synthetic:classes=4,images=64,size=256"
    for change in ({}, {"host": {"affinity": "split"}}, {"recipe": "imagenet"}):
        assert validator.is_valid(example | change)
        (tmp_path / "s.yaml").write_text(json.dumps(example | change))
        unstarve("explain", str(tmp_path / "s.yaml"))
    train, host = example["train"], {"affinity": "none"}
    for change in ({"train": train | {"modle": "resnet18"}}, {"train": train | {"learning_rate": 0}},
                   {"train": train | {"optimiser": {"name": "sdg"}}}, {"train": train | {"optimiser": {"beta": 0.9}}},
                   {"train": train | {"accumulate": 1.5}}, {"train": train | {"prune": {"sparsity_ramp": [0.5]}}},
                   {"host": host | {"pages": True}}, {"host": host | {"huge_pages": "yes please"}},
                   {"trian": {}}, {"unstarve": 2}, {"recipe": "none"}, {"pipeline": {"batsh": {}}}):
        assert not validator.is_valid(example | change), change
        (tmp_path / "s.yaml").write_text(json.dumps(example | change))
        done = subprocess.run([os.environ["UNSTARVE"], "explain", "--config", tmp_path / "s.yaml"],
                              capture_output=True, text=True)
        assert done.returncode == 3, (change, done.stderr)


def test_every_setting_and_flag_is_listed():
    settings_part = PAGE.read_text().split("\n## Run\n")[0]
    rows = [line.split("|")[1:5] for line in settings_part.splitlines() if line.startswith("| `")]
    table = {key.strip(" `"): flag.strip(" `") for key, flag, *_ in rows}
    settings = json.loads(unstarve("explain", "synthetic:images=10,classes=2", "--json"))["settings"]
    assert list(table) == [*paths(settings["train"]), *paths(settings["host"], "host.")]
    known = set(re.findall(r"^  (--[a-z0-9-]+)", unstarve("train", "--help"), re.M))
    assert {flag for flag in table.values() if flag.startswith("--")} <= known


def test_every_flag_of_a_run_is_listed_with_its_default():
    settings_part, run = PAGE.read_text().split("\n## Run\n")
    run = run.split("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:5]] for line in run.splitlines() if line.startswith("| `")]
    table = {flag.strip("`"): default.replace("`", "") for flag, default, *_ in rows}
    assert all(unit for _, _, unit, _ in rows)
    helped = unstarve("train", "--help")
    elsewhere = set(re.findall(r"\| `(--[a-z0-9-]+)` \|", settings_part))
    elsewhere |= set(re.findall(r"^  (--[a-z0-9-]+)", unstarve("bench", "--help"), re.M))  # of data and loader
    elsewhere |= {"--recipe", "--trace", "--tensorboard", "--quarantine", "--help"}  # in the reference of the commands
    assert set(table) == set(re.findall(r"^  (--[a-z0-9-]+)", helped, re.M)) - elsewhere
    for flag, default in defaults_of(helped).items():
        if flag in table and re.fullmatch(r"[0-9][0-9a-z]*|fail", default):
            assert table[flag] == default, flag


def test_the_python_reference_lists_the_settings_of_the_trainer_and_those_it_rejects():
    part = (PAGE.parent / "python.md").read_text().split("\n## Trainer\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    assert set(Settings.__annotations__) <= set(re.findall(r"`([a-z_0-9]+)`", "".join(rows)))
    rejected = re.findall(r"`([a-z_]+)`", re.search(r"raise TypeError:(.*?)\.", part, re.S)[1])
    assert len(rejected) > 5
    for name in rejected:
        with pytest.raises(TypeError, match=f"found the argument {name};"):
            check_names([name], [])
