"""`python -m unstarve.comparison`: both sides run on the same photographs, and the result holds what was measured."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest

from photograph_support import make_photographs
from unstarve.comparison import measurement, pillow_pool, search, serve, unstarve_loader
from unstarve.comparison.inputs import IMAGENET_MEAN, IMAGENET_STD, image_files

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from bench import setup  # noqa: E402

COMMAND = [sys.executable, "-m", "unstarve.comparison"]
# As in an environment without torch.
HIDE_TORCH = """
import importlib.machinery, sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "torchvision"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in ("torch", "torchvision") else found(name, package)
"""


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    return make_photographs(tmp_path_factory.mktemp("photographs"))


def compare(folder, *options, command=COMMAND, **variables):
    return subprocess.run([*command, folder, "--pairs", "2", "--seconds", "0.1", *options], capture_output=True,
                          text=True, check=False, env={**os.environ, **variables})


def check(result, names):
    """The result compares both of our rates with each of the named loaders."""
    ours, peers = result["rows"][:2], result["rows"][2:]
    assert [row["name"] for row in ours] == ["unstarve", "unstarve, from the second epoch on"]
    assert [row["name"] for row in peers] == names
    for row in ours:
        assert row["rate"] > 0 and row["times"] is None
    for row in peers:
        for interval in (row["times"], row["times_later"]):
            assert interval["low"] <= interval["ratio"] <= interval["high"] and interval["pairs"] == 2
        workers = {re.match(r"\d+", one["settings"])[0] for one in row["searched"]}
        assert len(workers) >= 3 and row["settings"] in {one["settings"] for one in row["searched"]}
    fastest = max(peers, key=lambda row: row["rate"])
    assert result["headline"].startswith(f"{fastest['times']['ratio']:.2f} [")
    assert f"times the images per second of {fastest['name']}, {fastest['settings']}" in result["headline"]
    # The ratios are those of the rates in the table.
    for row in peers:
        assert row["times"]["ratio"] == pytest.approx(ours[0]["rate"] / row["rate"])
        assert row["times_later"]["ratio"] == pytest.approx(ours[1]["rate"] / row["rate"])
    wide = any(row[key]["high"] > 1.25 * row[key]["low"] for row in [fastest] for key in ("times", "times_later"))
    assert bool(result["note"]) == wide and result["note"] in result["text"]
    lines = result["text"].splitlines()
    assert lines[0] == result["headline"] and lines[-1] == "command: " + result["command"]


@pytest.mark.long
def test_without_torchvision_it_measures_torchs_dataloader_with_pillow(photographs):
    pytest.importorskip("torch")
    done = compare(photographs, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])["result"]
    check(result, ["torch's DataLoader with Pillow"])


@pytest.mark.frameworks
def test_with_torchvision_it_measures_both(photographs):
    try:
        python = setup.interpreter("timm", Path(os.environ.get("UNSTARVE_PEERS", ROOT / "build/peers")), install=False)
    except setup.Unavailable as reason:
        pytest.skip(f"{reason}: make test-frameworks")
    done = compare(photographs, "--json", command=[python, *COMMAND[1:]])
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])["result"]
    assert result["left_out"] == []
    check(result, ["torch's DataLoader with Pillow", "torch's DataLoader with torchvision"])


def test_it_reports_progress_and_leaves_out_a_torchvision_that_cannot_be_imported(photographs, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "torchvision.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    done = compare(photographs, "--json", PYTHONPATH=f"{tmp_path}:{os.environ['PYTHONPATH']}")
    assert done.returncode == 0, done.stderr
    *progress, last = map(json.loads, done.stdout.splitlines())
    result = last["result"]
    check(result, ["torch's DataLoader with Pillow"])
    assert result["left_out"] == ["torch's DataLoader with torchvision: not measured: RuntimeError: operator "
                                  "torchvision::nms does not exist"]
    assert result["command"] == f"python -m unstarve.comparison {photographs} --pairs 2 --seconds 0.1"
    assert "24 photographs" in result["setup"] and "torch tensors" in result["setup"]
    shares = [line["progress"] for line in progress]
    assert shares == sorted(shares) and 0 <= shares[0] < shares[-1] <= 1


def test_without_torch_it_measures_pillow_alone(photographs, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HIDE_TORCH)
    done = compare(photographs, "--json", PYTHONPATH=f"{tmp_path}:{os.environ['PYTHONPATH']}")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])["result"]
    check(result, ["Pillow in a pool"])
    assert {one["settings"].split()[1] for one in result["rows"][2]["searched"]} >= {"threads", "processes"}
    assert "NumPy arrays" in result["setup"]


@pytest.mark.parametrize("kind", ["threads", "processes", "none"])
def test_the_pool_delivers_what_our_loader_delivers(photographs, kind):
    """Both sides make normalised float32 batches of the same photographs, with the same distribution."""
    job = {"job": "imagenet-train", "data": str(photographs), "batch": 8, "cores": 2, "seed": 0}
    settings = {"kind": "threads" if kind == "none" else kind, "workers": 0 if kind == "none" else 2}
    theirs = serve.check(pillow_pool.batches(job, settings), None)
    ours = serve.check(unstarve_loader.batches(job | {"repeat": 20}, {}), None)
    assert theirs["shape"][0] == 8 and theirs["labels"] == ours["labels"] == 2
    assert theirs["distinct"] == 8  # no worker repeats the random numbers of another one
    assert numpy.allclose(theirs["mean"], ours["mean"], atol=0.5)
    assert numpy.allclose(theirs["deviation"], ours["deviation"], atol=0.4)
    low, high = [min(-m / s for m, s in zip(IMAGENET_MEAN, IMAGENET_STD)),
                 max((1 - m) / s for m, s in zip(IMAGENET_MEAN, IMAGENET_STD))]
    assert low - 1e-3 <= theirs["range"][0] < theirs["range"][1] <= high + 1e-3


def test_the_files_are_the_images_of_class_folders_and_their_subfolders(photographs, tmp_path):
    assert len(image_files(photographs)) == 24
    (tmp_path / "cats/kittens").mkdir(parents=True)
    (tmp_path / "dogs").mkdir()
    for name in ("cats/b.JPG", "cats/kittens/a.png", "cats/notes.txt", "dogs/c.webp"):
        (tmp_path / name).touch()
    assert [(Path(path).name, label) for path, label in image_files(tmp_path)] == [("b.JPG", 0), ("a.png", 0),
                                                                                   ("c.webp", 1)]
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat/d.jpeg").touch()
    assert [label for _, label in image_files(tmp_path / "flat")] == [0]


@pytest.mark.parametrize(("low", "high", "pairs", "found", "longer"), [
    (4.9, 5.6, 6, "", ""),
    (1.54, 17.33, 6, "for a precise ratio", "--pairs 10 --seconds 8.2"),
    (0.87, 35.06, 6, "to decide whether it is faster", "--pairs 10 --seconds 19.1"),
    (0.01, 676, 2, "to decide whether it is faster", "--pairs 10 --seconds 2.4")])
def test_a_wide_interval_is_noted_with_a_command_that_measures_longer(low, high, pairs, found, longer):
    rows = [measurement.Row("unstarve", "", 500),
            measurement.Row("slow", "", 10, measurement.Interval(50, 1, 99, 6)),
            measurement.Row("fast", "", 100, measurement.Interval(5, low, high, pairs),
                            measurement.Interval(5, 4.9, 5.1, pairs))]
    note = measurement._note(rows, "my photos", pairs, 0.1)
    expected = (f"The machine was too noisy {found}; measure longer with: "
                f"python -m unstarve.comparison 'my photos' {longer}")
    assert note == (expected if found else "")


def test_progress_is_the_share_of_the_estimated_time():
    """The search takes most of the time: a loader starts for each candidate."""
    shares = []
    steps = measurement._Steps(lambda what, share: shares.append(share), 40)
    for seconds in (10, 20, 8, 5):
        steps.say("", seconds)
    assert shares == [0, 0.25, 0.75, 0.95]
    job = {"job": "imagenet-train", "data": "x", "batch": 8, "cores": 2, "seed": 0}
    # Two candidates and four other numbers of workers, each with three blocks; the two fastest again, with five blocks.
    assert measurement._search_seconds("pillow_pool", job, 0.5) == 6 * (2 + 1.5) + 2 * 2 + 5


def test_other_numbers_of_workers_are_tried():
    assert [s["workers"] for s in search.other_workers({"workers": 2, "prefetch": 2}, 2)] == [1, 3, 4, 6]
    assert [s["workers"] for s in search.other_workers({"workers": 1}, 1)] == [0, 2, 3]


@pytest.mark.parametrize(("make", "message"), [
    (lambda folder: folder / "absent", "not a folder; expected a folder with one folder of images per class"),
    (lambda folder: folder, "found no images; expected .jpg, .png or .webp files in one folder per class")])
def test_what_cannot_be_compared_is_an_error(make, message, tmp_path):
    done = compare(make(tmp_path))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"unstarve.comparison: compare '{make(tmp_path)}': {message}\n"
    assert json.loads(compare(make(tmp_path), "--json").stdout) == {"error": f"compare '{make(tmp_path)}': {message}"}


def test_a_damaged_photograph_is_named(tmp_path):
    make_photographs(tmp_path)
    (tmp_path / "cats/000.jpg").write_bytes(b"not a photograph")
    done = compare(tmp_path)
    assert done.returncode == 3 and "cats/000.jpg" in done.stderr


def running_in(session):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] != "Z" and session in (entry / "cmdline").read_bytes().decode(errors="replace"):
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_comparison_leaves_no_process(photographs, tmp_path, number):
    mine = tmp_path / "photographs-of-this-test"
    mine.symlink_to(photographs)
    with subprocess.Popen([*COMMAND, mine, "--seconds", "5", "--json"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        process.stdout.readline()
        end = time.monotonic() + 60
        while len(running_in(mine.name)) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        assert len(running_in(mine.name)) >= 2
        process.send_signal(number)
        process.wait(timeout=30)
    end = time.monotonic() + 10
    while running_in(mine.name) and time.monotonic() < end:
        time.sleep(0.05)
    assert running_in(mine.name) == []
