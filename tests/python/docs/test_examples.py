"""The examples run, on real images."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def cifar10(tmp_path_factory):
    """Real photographs: the first 200 of each class to train on, the first 100 to test."""
    data = Path(os.environ.get("UNSTARVE_DATA", ROOT.parent / "shared" / "data"))
    archive = data / "cifar10-jpeg.tar.zst"
    if not archive.exists():
        pytest.skip(f"{archive} is not here")
    folder = tmp_path_factory.mktemp("cifar10")
    subprocess.run(["tar", "--zstd", "-xf", archive, "-C", folder, "--wildcards", "cifar10/train/*/0[01]??.jpg",
                    "cifar10/test/*/00??.jpg"], check=True)
    return folder / "cifar10"


def test_from_a_folder_to_a_trained_net(cifar10, tmp_path):
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, ROOT / "examples/folder_to_net.py", cifar10, "--epochs", "4", "--out",
                           tmp_path / "plots"], capture_output=True, text=True, check=False,
                          # On a busy machine torch's threads would mostly wait for each other.
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    assert "2000 samples; shuffle()>: 10 classes" in done.stdout and "images (64, 3, 32, 32)" in done.stdout
    assert float(re.search(r"accuracy (\S+) of 1000 images", done.stdout)[1]) > 0.2  # chance is 0.1
    plots = sorted(path.name for path in (tmp_path / "plots").glob("*"))
    if importlib.util.find_spec("matplotlib"):
        assert plots == ["batch.png", "training.png"]
    else:
        assert "matplotlib is not installed" in done.stdout and not plots
