"""Training reaches 70 % accuracy on CIFAR-10 within ten minutes.

Requires cifar10-jpeg.tar.zst in $UNSTARVE_DATA or ../shared/data; skipped otherwise.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ARCHIVE = Path(os.environ.get("UNSTARVE_DATA", ROOT.parent / "shared" / "data")) / "cifar10-jpeg.tar.zst"


@pytest.mark.long
def test_train_reaches_70_percent_on_cifar10_within_ten_minutes(tmp_path):
    if not ARCHIVE.exists():
        pytest.skip(f"{ARCHIVE} is not here")
    subprocess.run(["tar", "--zstd", "-xf", ARCHIVE, "-C", tmp_path], check=True)
    data = tmp_path / "cifar10"
    command = [os.environ["UNSTARVE"], "train", data / "train", "--val", data / "test", "--minutes", "10", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode == 4:
        pytest.skip("this build has no libtorch: " + done.stderr.strip())
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["accuracy"] >= 0.70, result
