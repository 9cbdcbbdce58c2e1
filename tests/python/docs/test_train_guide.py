"""Runs every command and the program of the guides on training, in order, on small images.

The names of the guides stand for data made here: photos/ and cifar10/ have 32-pixel images, tuned.yaml a small network.
Limits of the time of training and measuring are added where the command has none, and an image size where it expects
larger images. Fewer images are made. A command for 8 GPUs runs as two processes on the CPU.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDES = [ROOT / "docs" / "guide" / f"{name}.md"
          for name in ("train", "tune", "networks", "find", "recipes", "progressive", "resident", "host",
                       "ranks")]
REFERENCE = ROOT / "docs" / "reference" / "python.md"
TUNED = """unstarve: 1
pipeline:
  source: {path: photos}
  operations: [resize: {size: [32, 32]}, horizontal_flip]
  batch: {size: 8}
train: {model: cifar_net, classes: 3, image_size: 32, learning_rate: 0.01}
"""


def commands():
    """The commands of all guides, each once, with the first guide that has it."""
    found = {}
    for guide in GUIDES:
        for block in re.findall(r"```console\n(.*?)```", guide.read_text(), re.S):
            for line in block.splitlines():
                if line.startswith("$ "):
                    found.setdefault(line[2:], guide.stem)
    assert len(found) > 20
    return [pytest.param(command, id=f"{guide}: {command}") for command, guide in found.items()]


def test_the_guide_is_one_page():
    assert len(GUIDES[0].read_text().splitlines()) <= 90


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guide")
    program = Path(os.environ["UNSTARVE"])

    def unstarve(*arguments):
        run = subprocess.run([program, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=120)
        if run.returncode == 4 and "no libtorch" in run.stderr:
            pytest.skip("this build has no libtorch")
        assert run.returncode == 0, run.stderr

    unstarve("synth", "photos", "--classes", 3, "--images", 96, "--size", 32)
    unstarve("synth", "val", "--classes", 3, "--images", 12, "--size", 32)
    unstarve("synth", "few", "--classes", 3, "--images", 24, "--size", 32)
    unstarve("synth", "cifar10", "--classes", 3, "--images", 96, "--size", 32, "--test-images", 24)
    unstarve("synth", "imagenet/train", "--classes", 3, "--images", 8, "--size", 64)
    unstarve("synth", "imagenet/val", "--classes", 3, "--images", 3, "--size", 64)
    (folder / "tuned.yaml").write_text(TUNED)
    # Pretrained weights with other classes.
    unstarve("synth", "other", "--classes", 5, "--images", 32, "--size", 32)
    unstarve("train", "other", "--model", "resnet18", "--epochs", 1, "--batch", 8, "--minutes", 0.01, "--out",
             "resnet18.safetensors")
    return folder


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_guide_runs(folder, command):
    for given, instead in (("--nproc-per-node 8", "--nproc-per-node 2"), (" --device cuda", ""),
                           ("photos/train", "photos"), ("--images 1200", "--images 128"),
                           ("--test-images 200", "--test-images 20")):
        command = command.replace(given, instead)
    words = shlex.split(command)
    if words[0] == "mpirun" and (shutil.which("mpirun") is None or
                                 not (Path(os.environ["UNSTARVE"]).parent / "libunstarve_mpi.so").exists()):
        pytest.skip("mpirun and libunstarve_mpi.so are required")
    if "train" in words and "--minutes" not in words and "shapes/train" not in words:
        words += ["--minutes", "0.01"]
    if words[1] == "tune":
        words[words.index("--minutes") + 1] = "0.01"
        words[words.index("--out") + 1] = "result.yaml"  # its batch may be too large for several ranks
        words = ["few/" if word == "photos/" else word for word in words]
        if "--epochs" in words:
            words[words.index("--epochs") + 1] = "1"
    if words[1] == "bench":
        words += ["--seconds", "0.5"]
    if "batch-find" in words:
        words += ["--seconds", "0.1", "--to", "32"]  # per size
    if "lr-find" in words:
        words += ["--steps", "8"]
    if "imagenet" in words:
        words += ["--epochs", "2", "--batch", "2"]  # its phases follow the epochs
    if "--progressive-size" in words:
        words += ["--image-size", "160"]
    # Each training of photos/ is a run of its own, except for those that resume.
    if "--checkpoint-dir" in words and "--resume" not in words and "shapes/train" not in words:
        shutil.rmtree(folder / "run", ignore_errors=True)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(os.environ["UNSTARVE"]).parent), str(Path(sys.executable).parent),
                                 os.environ["PATH"]]),
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1",
    }
    run = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr


def test_the_program_of_the_guide_runs(folder):
    pytest.importorskip("torch")
    (program,) = re.findall(r"```python\n(.*?)```", GUIDES[0].read_text(), re.S)
    shutil.rmtree(folder / "run", ignore_errors=True)
    run = subprocess.run([sys.executable, "-c", program + "print(history['epochs'], len(history['evaluations']))"],
                         cwd=folder, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    *reports, last = run.stdout.splitlines()
    assert last == "3.0 3" and all("learning_rate" in report for report in reports)
    assert len(list((folder / "run").iterdir())) == 2


def test_the_progressive_sizes_of_the_reference_are_a_step_of_the_pipeline(folder):
    (step,) = re.findall(r"`(random_resized_crop\(un\.schedule\(.*?)`", REFERENCE.read_text())
    program = f"import unstarve as un; loader = un.open('photos').shuffle(seed=0).{step}.batch(64)\n" \
              "for _ in range(3): print({batch[0].shape[-1] for batch in loader})"
    run = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["{128}", "{128}", "{176}"]
