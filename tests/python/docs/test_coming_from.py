"""The pages docs/guide/coming-from: the programs of both libraries on the same photographs, and the names in tables.

The other library's program runs in the environment of `make test-frameworks`, or in an environment of bench/setup.py
that it installs. Where neither is there, this side alone runs.
"""

import ast
import importlib.util
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy
import pytest

import unstarve as un
from page_program import programs
from unstarve import loader as loaders
from unstarve import pipeline as pipelines

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from bench import setup  # noqa: E402

PAGES = ROOT / "docs/guide/coming-from"
RUN = ROOT / "tests/python/docs/page_program.py"
PEERS = Path(os.environ.get("UNSTARVE_PEERS", ROOT / "build/peers"))
STD = numpy.float32(un.IMAGENET[1]).reshape(3, 1, 1)
TRAIN, VAL, CLASSES = 96, 40, 3


@dataclass(frozen=True)
class Page:
    """Where a page's programs run, and how much the pixels of `val` may differ, in units of 1/255.

    environment: of bench/setup.py; "": that of the tests, with the packages.
    most, mean: largest and mean difference.
    ours: packages of our program.
    shift: the images may be shifted by this number of pixels.
    """

    environment: str
    packages: tuple[str, ...]
    most: float
    mean: float
    ours: tuple[str, ...] = ()
    shift: int = 0


# torchvision, timm, PIL: Pillow chooses the first direction of a resize. TensorFlow does not round the result. DALI
# rounds the corner of a centre crop to the other side. FFCV's photographs are encoded again and reduced by averages.
BOTH = {
    "torchvision": Page("timm", ("torchvision",), 2.01, 0.1, ("torch",)),
    "timm": Page("timm", ("timm",), 2.01, 0.1, ("torch",)),
    "ffcv": Page("ffcv", ("ffcv",), 255, 6, ("torch",)),
    "dali": Page("dali", ("nvidia.dali",), 40, 0.6, shift=1),
    "tfdata": Page("", ("tensorflow",), 2.01, 0.6, ("tensorflow",)),
    "webdataset": Page("", ("webdataset",), 2.01, 0.1),
    "huggingface": Page("", ("datasets",), 2.01, 0.1, ("pyarrow",)),
}


def installed(package):
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def text_of(page):
    return (PAGES / f"{page}.md").read_text()


def synthetic(folder, images, test_images):
    done = subprocess.run([os.environ["UNSTARVE"], "synth", folder, "--classes", str(CLASSES), "--images", str(images),
                           "--test-images", str(test_images), "--size", "360", "--seed", "1"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr


def write_shards(folder, shards):
    """Two shards per split, in the order of the files."""
    classes = sorted(entry.name for entry in folder.iterdir())
    files = sorted(folder.glob("*/*"))
    half = len(files) // 2
    for number, part in enumerate((files[:half], files[half:])):
        with tarfile.open(shards / f"{folder.name}-{number:05}.tar", "w") as tar:
            for index, file in enumerate(part):
                label = str(classes.index(file.parent.name)).encode()
                for suffix, data in (("jpg", file.read_bytes()), ("cls", label)):
                    member = tarfile.TarInfo(f"{number}{index:04}.{suffix}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))


def write_parquet(folder, into):
    """One file per split, with the metadata of the datasets library."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    classes = sorted(entry.name for entry in folder.iterdir())
    files = sorted(folder.glob("*/*"))
    image = pyarrow.array([{"bytes": file.read_bytes(), "path": file.name} for file in files],
                          pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())]))
    label = pyarrow.array([classes.index(file.parent.name) for file in files], pyarrow.int64())
    features = {"image": {"_type": "Image"}, "label": {"names": classes, "_type": "ClassLabel"}}
    table = pyarrow.table({"image": image, "label": label})
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    parquet.write_table(table, into / f"{folder.name}-00000-of-00001.parquet", row_group_size=16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with photos/train and photos/val, and the same photographs as tar shards and Parquet files."""
    folder = tmp_path_factory.mktemp("coming-from")
    synthetic(folder / "photos", TRAIN, VAL)
    (folder / "photos/test").rename(folder / "photos/val")
    for name, write in (("shards", write_shards), ("parquet", write_parquet)):
        (folder / name).mkdir()
        for split in ("train", "val"):
            if name != "parquet" or installed("pyarrow"):
                write(folder / "photos" / split, folder / name)
    return folder


def run(page, number, folder, python=sys.executable, **variables):
    out = folder / f"{page}-{number}.npz"
    quiet = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf"), "CUDA_VISIBLE_DEVICES": "",
             "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([python, RUN, PAGES / f"{page}.md", str(number), out], cwd=folder, capture_output=True,
                          text=True, check=False, env={**os.environ, **quiet, **variables})
    assert done.returncode == 0, done.stderr
    with numpy.load(out) as arrays:
        return dict(arrays)


@pytest.fixture(scope="module")
def ours(folder):
    """The batches of our program of a page."""
    known = {}

    def get(page):
        for package in BOTH[page].ours:
            if not installed(package):
                pytest.skip(f"{package} is not installed")
        if page not in known:
            known[page] = run(page, 1, folder)
        return known[page]

    return get


def interpreter(page):
    """The Python of the other library; skips without it."""
    if BOTH[page].environment == "":
        for package in BOTH[page].packages:
            pytest.importorskip(package, reason=f"{package} is not installed: make test-frameworks")
        return sys.executable
    try:
        return setup.interpreter(BOTH[page].environment, PEERS, install=False)
    except setup.Unavailable as reason:
        pytest.skip(f"{reason}: make test-frameworks")


def test_every_page_is_tested():
    assert {path.stem for path in PAGES.glob("*.md")} == BOTH.keys()
    for page in BOTH:
        theirs, mine = programs(text_of(page))
        assert "unstarve" not in theirs and "import unstarve as un" in mine


@pytest.mark.parametrize("page", BOTH)
def test_our_program_delivers_every_sample(page, ours, folder):
    got = ours(page)
    assert got["val_images"].shape == (VAL, 3, 224, 224) and got["val_images"].dtype == numpy.float32
    assert got["train_images"].shape == (TRAIN // 32 * 32, 3, 224, 224)
    assert list(got["val_sizes"]) == [32, 8] and list(got["train_sizes"]) == [32, 32, 32]
    labels = [label for label, part in enumerate(sorted((folder / "photos/val").iterdir())) for _ in part.iterdir()]
    assert list(got["val_labels"]) == labels


@pytest.mark.frameworks
@pytest.mark.parametrize("page", BOTH)
def test_both_programs_deliver_the_same(page, ours, folder):
    python = interpreter(page)
    mine = ours(page)
    path = {} if python == sys.executable else {"PYTHONPATH": ""}
    theirs = run(page, 0, folder, python, **path)
    assert list(theirs["val_labels"]) == list(mine["val_labels"])
    assert list(theirs["train_sizes"]) == list(mine["train_sizes"])
    assert theirs["val_images"].shape == mine["val_images"].shape
    difference = difference_of(theirs["val_images"], mine["val_images"], BOTH[page].shift)
    assert difference.max() <= BOTH[page].most and difference.mean() <= BOTH[page].mean, (difference.max(),
                                                                                          difference.mean())
    # Training: the same samples, and the same distribution of pixels.
    assert sorted(theirs["train_labels"]) == sorted(mine["train_labels"])
    assert theirs["train_images"].shape == mine["train_images"].shape
    for measure in (numpy.mean, numpy.std):
        assert numpy.allclose(measure(theirs["train_images"], axis=(0, 2, 3)),
                              measure(mine["train_images"], axis=(0, 2, 3)), atol=0.15)


def difference_of(theirs, mine, shift):
    """Differences in units of 1/255, of images inside a border of `shift` pixels, at the shift that fits best."""
    side = range(-shift, shift + 1)
    inside = slice(shift, mine.shape[-1] - shift or None)

    def shifted(image, down, right):
        return numpy.roll(image, (down, right), (1, 2))[:, inside, inside]

    pairs = zip(theirs, mine, strict=True)
    return numpy.stack([min((numpy.abs(shifted(a, down, right) - b[:, inside, inside]) * STD * 255
                             for down in side for right in side), key=numpy.mean) for a, b in pairs])


def rows(page):
    """(theirs, ours) of the table of a page."""
    lines = [line.strip("| ").split(" | ") for line in text_of(page).splitlines() if line.startswith("| ")]
    assert all(len(line) == 2 for line in lines)
    return lines[1:]


def spans(cell):
    return re.findall(r"`([^`]+)`", cell)


# Where a method may be defined.
HOLDERS = (pipelines.Pipeline, loaders.Loader)


def parameters(name):
    """Names of the parameters of the functions with this name."""
    found = [getattr(holder, name) for holder in (*HOLDERS, un) if hasattr(holder, name)]
    assert found, f"{name} does not exist"
    names = set()
    for function in found:
        if callable(function):
            names |= set(inspect.signature(function).parameters)
    return names


def command_help(command):
    done = subprocess.run([os.environ["UNSTARVE"], command, "--help"], capture_output=True, text=True, check=False)
    return done.stdout


def check_ours(span):
    if span.startswith("unstarve "):
        words = span.split()
        usage = command_help(words[1])
        assert usage, f"no command {words[1]}"
        for option in (word for word in words if word.startswith("--")):
            assert option in usage, option
        return
    tree = ast.parse("pipeline" + span if span.startswith(".") else span, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) != "un.errors":
            parameters(node.attr)
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Attribute) or ast.unparse(node.func) == "len", span
            if isinstance(node.func, ast.Attribute):
                unknown = {word.arg for word in node.keywords} - parameters(node.func.attr)
                assert not unknown, f"{span}: no parameters {unknown}"


@pytest.mark.parametrize("page", BOTH)
def test_every_name_of_ours_exists(page):
    checked = 0
    for _, cell in rows(page):
        for span in spans(cell):
            if re.search(r"[(.]|^unstarve ", span) and not re.fullmatch(r"[\w./:-]*://|\.\w+", span):
                check_ours(span)
                checked += 1
    assert checked > 12


@pytest.mark.parametrize(("page", "theirs", "mine"), [
    ("torchvision", "Subset(", ".subset(indices)"),
    ("torchvision", "random_split(", ".random_split("),
    ("torchvision", "WeightedRandomSampler(", ".weights(weights, epoch=n)"),
    ("torchvision", "RandomChoice(", ".one_of("),
    ("ffcv", "Loader(indices=", ".subset(indices)"),
])
def test_selections_of_samples_and_operations_have_a_row(page, theirs, mine):
    assert any(theirs in left and mine in right for left, right in rows(page))


def test_a_name_that_does_not_exist_is_found():
    for span in (".shufle(seed=0)", ".shuffle(sead=0)", "un.opne('a')", "unstarve pack a b --no-such-option"):
        with pytest.raises(AssertionError):
            check_ours(span)


# Finds each span of the other library in the modules, or as an attribute or parameter of what is found there.
CHECK_THEIRS = """
import ast, importlib, inspect, json, sys
modules = []
for name in sys.argv[1].split(","):
    try:
        modules.append(importlib.import_module(name))
    except ImportError as error:
        sys.exit(f"{name}: {error}")
def found(names):
    for root in modules:
        here = root
        parts = names if hasattr(here, names[0]) else names[1:] if root.__name__.split(".")[0] == names[0] else names
        try:
            for part in parts:
                here = getattr(here, part)
            return here
        except AttributeError:
            continue
    return None
def named(node):
    return named(node.value) + [node.attr] if isinstance(node, ast.Attribute) else [node.id]
missing = []
for span in json.load(sys.stdin):
    tree = ast.parse(span, mode="eval").body
    call = tree if isinstance(tree, ast.Call) else None
    names = named(call.func if call else tree)
    thing = found(names)
    if thing is None:
        missing.append(span)
        continue
    if call and call.keywords:
        try:
            known = inspect.signature(thing).parameters
        except (TypeError, ValueError):
            continue
        if any(p.kind == p.VAR_KEYWORD for p in known.values()):
            known = None
        missing += [f"{span}: {word.arg}" for word in call.keywords if known is not None and word.arg not in known]
print(json.dumps(missing))
"""
THEIR_MODULES = {
    "torchvision": ("torchvision.transforms", "torchvision.transforms.v2", "torchvision.datasets", "torchvision.io",
                    "torchvision.transforms.v2.functional", "torch.utils.data", "torch.utils.data.distributed"),
    "timm": ("timm.data",),
    "ffcv": ("ffcv.loader", "ffcv.transforms", "ffcv.fields", "ffcv.fields.decoders", "ffcv.fields.basics",
             "ffcv.writer"),
    "dali": ("nvidia.dali", "nvidia.dali.plugin.base_iterator"),
    "tfdata": ("tensorflow",),
    "webdataset": ("webdataset",),
    "huggingface": ("datasets",),
}
ALIASES = {"webdataset": "wds.", "tfdata": "tf."}
# Needs torch in the environment of DALI, where it is not installed.
ELSEWHERE = {"DALIClassificationIterator(pipeline)"}


@pytest.mark.frameworks
@pytest.mark.parametrize("page", BOTH)
def test_every_name_of_theirs_exists(page):
    python = interpreter(page)
    names = [span.removeprefix(ALIASES.get(page, "")) for cell, _ in rows(page) for span in spans(cell)
             if re.match(r"[A-Za-z_.]+(\(|$)", span) and span not in ("handler", "Dataset", "mstd") and
             span not in ELSEWHERE]
    assert len(names) > 10
    done = subprocess.run([python, "-c", CHECK_THEIRS, ",".join(THEIR_MODULES[page])], input=json.dumps(names),
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3",
                               **({} if python == sys.executable else {"PYTHONPATH": ""})})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []
