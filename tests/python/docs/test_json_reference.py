"""docs/reference/json.md documents every key of the JSON that commands print, with its type, and no other."""

import functools
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import NoneType

import pytest
from unstarve.comparison.measurement import Comparison, Interval, Row

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/reference/json.md").read_text()
SECTIONS = {heading: text for heading, text in re.findall(r"^##+ (.*)\n((?:(?!##).*\n)*)", PAGE, re.M)}
# Keys of the page that the commands below do not print here must at least occur in the source, in quotes.
SOURCE = "\n".join(file.read_text() for file in [*(ROOT / "unstarve").rglob("*.cpp"), *(ROOT / "cli").rglob("*.cpp"),
                                                 *(ROOT / "python/unstarve/comparison").glob("*.py")])


@dataclass
class Node:
    """A row of the page: its type, its meaning, and the rows of its keys."""

    type: str
    meaning: str
    keys: dict

    @property
    def elsewhere(self):
        """The table of the page that describes the keys of this object; "": another page does; None: its own rows."""
        link = re.search(r"\]\((#?)([^)]*)\)", self.meaning)
        if self.keys or "object" not in self.type or not link:
            return None
        anchors = {heading.replace(" ", "-").lower(): heading for heading in SECTIONS}
        return anchors[link[2]] if link[1] else ""


def rows_of(section):
    return [[cell.strip(" `") for cell in line.split("|")[1:4]]
            for line in SECTIONS[section].splitlines() if line.startswith("| `")]


@functools.cache
def table(section):
    """The rows of a section as a tree: points[].loss is a key of points."""
    root = Node("object", "", {})
    for path, kind, meaning in rows_of(section):
        node = root
        *parents, name = path.replace("[].", ".").split(".")
        for parent in parents:
            node = node.keys.setdefault(parent, Node("object", "", {}))
        assert name not in node.keys, f"{section}: {path} has two rows"
        node.keys[name] = Node(kind, meaning, {})
    return root


TYPES = {"text": (str,), "true or false": (bool,), "list": (list,), "object": (dict,)}


def check(value, node, path, seen):
    """Compares a value with its row; adds the paths of all keys to `seen`."""
    if value is None:
        assert "null:" in node.meaning, f"{path} is null, but its row does not say when"
        return
    kind = next((TYPES[name] for name in TYPES if node.type.startswith(name)), (int, float))
    assert isinstance(value, kind) and (bool in kind or not isinstance(value, bool)), f"{path}: {node.type}: {value!r}"
    if " of " in node.type:
        each = {"numbers": (int, float), "texts": (str,)}[node.type.split(" of ")[1]]
        assert all(isinstance(one, each) for one in (value.values() if isinstance(value, dict) else value)), path
    elif node.elsewhere is not None:
        if node.elsewhere:
            check(value, table(node.elsewhere), node.elsewhere, seen)
    elif isinstance(value, list) and node.keys:
        for one in value:
            check_keys(one, node, path + "[]", seen)
    elif isinstance(value, dict):
        check_keys(value, node, path, seen)


def check_keys(value, node, path, seen):
    if "*" in node.keys:
        for one in value.values():
            check_keys(one, node.keys["*"], path + ".*", seen)
        return
    unknown, absent = value.keys() - node.keys.keys(), node.keys.keys() - value.keys()
    assert not unknown, f"{path} prints keys that the page does not have: {sorted(unknown)}"
    absent = [key for key in absent if "missing:" not in node.keys[key].meaning]
    assert not absent, f"{path} does not print keys of the page: {sorted(absent)}"
    for key, one in value.items():
        seen.add(f"{path}.{key}")
        check(one, node.keys[key], f"{path}.{key}", seen)


def paths(node, path):
    for key, child in node.keys.items():
        if key == "*":
            yield from paths(child, path + ".*")
            continue
        yield f"{path}.{key}"
        yield from paths(child, f"{path}.{key}" + "[]" * child.type.startswith("list"))


def agrees(section, *outputs, rare=()):
    """The outputs together show every key of the section, except those below `rare`, which must occur in the source."""
    seen = set()
    for output in outputs:
        check(output, table(section), section, seen)
    for path in paths(table(section), section):
        if path in seen:
            continue
        assert path.removeprefix(section + ".").startswith(tuple(rare)), f"not printed: {path}"
        assert f'"{path.rsplit(".", 1)[1]}"' in SOURCE, f"not in the source: {path}"


def unstarve(*arguments, code=0, folder=None, **environment):
    done = subprocess.run([os.environ["UNSTARVE"], *map(str, arguments)], cwd=folder, capture_output=True, text=True,
                          env=os.environ | environment)
    assert done.returncode == code, done.stderr
    return done.stdout


def output(*arguments, **options):
    return json.loads(unstarve(*arguments, "--json", **options))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with 32 images for training and 8 for validation."""
    folder = tmp_path_factory.mktemp("data") / "shapes"
    agrees("synth", output("synth", folder, "--classes", 2, "--images", 32, "--size", 40, "--test-images", 8))
    return folder


@pytest.fixture(scope="module")
def checkpoint(data):
    path = data.parent / "model.safetensors"
    outputs = [output("train", data / "train", "--val", data / "test", "--epochs", 1, "--batch", 8, "--out", path,
                      "--resident", "on"),
               output("train", data / "train", "--val", data / "test", "--epochs", 1, "--batch", 8, "--prune", 0.5,
                      "--target", 0.01, "--price-per-hour", 1, "--progressive-size", 32),
               output("train", data / "train", "--epochs", 0.5, "--batch", 8, "--weights", path, "--prune", 0.5,
                      "--prune-pattern", "channels")]
    agrees("train", *outputs, rare=["ranks.", "bad[]"])
    return path


def test_every_command_with_json_has_a_section():
    listed = unstarve("--help").split("Commands:")[1].split("Options:")[0]
    commands = re.findall(r"^  ([a-z-]+) {2,}", listed, re.M)
    with_json = [name for name in commands if re.search("^  --json ", unstarve(name, "--help"), re.M)]
    assert len(with_json) > 20
    assert with_json == [name for name in SECTIONS if name in commands]


def test_every_row_has_type_and_meaning():
    for section in SECTIONS:
        for path, kind, meaning in rows_of(section):
            assert kind and meaning, (section, path)


def test_errors():
    for arguments, kind, code in ((["inspect", "nothing"], "io", 3), (["bench", "--no-such-option"], "argument", 2)):
        error = output(*arguments, code=code)
        check(error["error"]["kind"], Node("text", "", {}), "error.kind", set())
        assert error.keys() == {"error"} and error["error"].keys() == {"kind", "message"}
        assert error["error"]["kind"] == kind
    kinds = re.findall(r"case ErrorKind::k\w+: return \"(\w+)\"", (ROOT / "unstarve/core/error.cpp").read_text())
    assert kinds == re.findall(r"`(\w+)`", PAGE.split("| `error.kind` |")[1].splitlines()[0])


def test_inspect(data, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/1.jpg").write_bytes(b"\xff\xd8\xff")
    agrees("inspect", output("inspect", data / "train"), output("inspect", tmp_path, "--strict", code=1))


def test_inspect_io(tmp_path):
    (tmp_path / "numbers").write_bytes(bytes(1 << 20))
    agrees("inspect --io", output("inspect", tmp_path, "--io", "--seconds", 0.1))


def test_explain(data):
    agrees("explain", output("explain", data / "train"))


def test_pack_and_verify(data, tmp_path):
    (tmp_path / "train").mkdir()
    for number, image in enumerate([*(data / "train").glob("*/*.jpg")][:4]):
        (tmp_path / f"train/{number}.jpg").write_bytes(image.read_bytes() if number else b"\xff\xd8\xff")
    outputs = [output("pack", data / "train", tmp_path / "whole", "--split", "train=0.5,val=0.5"),
               output("pack", tmp_path / "train", tmp_path / "part", "--on-error", "skip")]
    agrees("pack", *outputs, rare=["skipped[].file_bytes", "skipped[].record"])
    next((tmp_path / "whole").glob("*.tar")).write_bytes(b"")
    agrees("verify", output("verify", tmp_path / "part"), output("verify", tmp_path / "whole", code=1))


def test_index(data):
    agrees("index", output("index", data / "train"))


def test_datasets_and_prepare(tmp_path):
    agrees("datasets", output("datasets"))
    subprocess.run([sys.executable, ROOT / "tests/cli/prepare_archives.py", "make", tmp_path], check=True)
    arguments = ["mnist", "--catalogue", tmp_path / "catalogue.json", "--from", tmp_path / "published/mnist"]
    agrees("prepare", output("prepare", *arguments, "--out", tmp_path / "mnist"))


def test_doctor():
    stand_in = os.environ.get("UNSTARVE_NVML_STAND_IN", "")
    agrees("doctor", output("doctor"), output("doctor", UNSTARVE_NVML=stand_in or "libnvidia-ml.so.1"),
           rare=["machine.accelerators[]", "devices.gpus[]", "nvml.gpus[]", "python.", "findings[]"])


def test_bench_and_compare(data, tmp_path):
    bench = output("bench", data / "train", "--device", "emulated:h100-resnet50", "--batch", 8, "--seconds", 1)
    agrees("bench", bench, rare=["batch_reduced_from"])
    slower = bench | {"rounds_of": {part: [rate * factor for rate, factor in zip((1e3,) * 6, (1, 1.01) * 3)]
                                    for part in bench["rounds_of"]}}
    faster = slower | {"rounds_of": {part: [2 * rate for rate in rates] for part, rates in slower["rounds_of"].items()}}
    (tmp_path / "before.json").write_text(json.dumps(faster))
    (tmp_path / "after.json").write_text(json.dumps(slower))
    outputs = [output("compare", "before.json", "after.json", folder=tmp_path, code=1),
               output("compare", "after.json", "before.json", folder=tmp_path)]
    agrees("compare", *outputs)


STEPS = """
import os
import time
from pathlib import Path

import unstarve as un

Path("began" + os.environ["RANK"]).touch()
while len([*Path().glob("began*")]) < 2:
    time.sleep(0.01)
for _ in range(40):
    time.sleep(0.03)
    un.step()
"""


def test_diagnose_of_ranks(tmp_path):
    (tmp_path / "steps.py").write_text(STEPS)
    watched = []
    for rank in ("0", "1"):
        ranks = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
        watched.append(subprocess.Popen([os.environ["UNSTARVE"], "watch", "--out", f"{rank}.json", "--", sys.executable,
                                         "steps.py"], cwd=tmp_path, env=os.environ | ranks, stderr=subprocess.DEVNULL))
    assert [program.wait() for program in watched] == [0, 0]
    agrees("diagnose", output("diagnose", "0.json", "1.json", folder=tmp_path), rare=["clocks[]"])


def test_capacity(data):
    agrees("capacity", output("capacity", data / "train", "--batch", 4, "--seconds", 0.5), rare=["what_if[]"])


def test_tune_and_the_profile_of_a_loader(data):
    tuned = output("tune", data / "train", "--device", "emulated:h100-resnet50", "--minutes", 0.05)
    agrees("tune", tuned, rare=["rungs[].predicted.", "over_defaults."])
    agrees("Profile of a loader", tuned["before"], tuned["after"])


def test_lr_find(data):
    agrees("lr-find", output("lr-find", data / "train", "--batch", 4, "--steps", 6))


def test_batch_find(data):
    found = output("batch-find", data / "train", "--from", 2, "--to", 4, "--seconds", 0.1)
    agrees("batch-find", found, rare=["multiple_of_8."])


def test_export_and_infer(data, checkpoint, tmp_path):
    model = tmp_path / "model.onnx"
    outputs = [output("export", checkpoint, "--out", model),
               output("export", checkpoint, "--out", tmp_path / "half.onnx", "--prune-channels", 0.5)]
    pytest.importorskip("openvino")
    outputs.append(output("export", checkpoint, "--out", tmp_path / "int8.onnx", "--int8", data / "train",
                          "--int8-images", 8))
    agrees("export", *outputs)
    agrees("infer", output("infer", model, data / "test", "--engine", "openvino", "--batch", 1,
                           "--out", tmp_path / "predictions.csv"), rare=["settings.", "left_out[]"])


def test_models(data, checkpoint):
    pytest.importorskip("openvino")
    arguments = ["models", "--size", 32, "--seconds", 0.2, "--engine", "openvino"]
    outputs = [output(*arguments, "--networks", "cifar_net", "--classes", 2),
               output(*arguments, "--weights", checkpoint, "--val", data / "test")]
    agrees("models", *outputs, rare=["networks[].published.", "rejected[]", "left_out[]"])


@pytest.mark.long
def test_compress(data, checkpoint, tmp_path):
    pytest.importorskip("openvino")
    compressed = output("compress", checkpoint, "--data", data / "train", "--val", data / "test", "--images", 4,
                        "--pairs", 6, "--engine", "openvino", "--out", tmp_path)
    assert json.loads((tmp_path / "ledger.json").read_text()) == compressed
    agrees("compress", compressed, rare=["portability."])
    agrees("Figures of compress", compressed["before"], compressed["after"])


def test_the_comparison_of_demo():
    row = Row("torch", "2 workers", 100.0, Interval(2.0, 1.9, 2.1, 6), Interval(3.0, 2.9, 3.1, 6),
              [{"settings": "2 workers", "rate": 100.0}])
    comparison = Comparison("a headline", "", "a command", "a setup", [Row("unstarve", "", 200.0), row], [])
    demo = {"comparison": comparison.to_json(), "ladders": [], "left_out": []}
    agrees("demo", demo)
