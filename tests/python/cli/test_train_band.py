"""The loss curve of a training run stays within a recorded band.

The band contains means over windows of ten reported losses. It was recorded from runs of the same command (see
`record`) and is four times as wide as the spread over seeds: a run that learns slower or diverges leaves it, another
instruction set or thread count does not. To record it again after a change that is meant to change learning:

    UNSTARVE=build/unstarve PYTHONPATH=python .venv/bin/python tests/python/cli/test_train_band.py
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BAND = Path(__file__).resolve().parents[2] / "golden" / "train_band.json"
SEEDS = range(5)
WINDOW = 10


def program(*arguments):
    done = subprocess.run([os.environ["UNSTARVE"], *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode == 4:
        import pytest

        pytest.skip("this build has no libtorch: " + done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(folder, seed):
    program("synth", folder, "--classes", 4, "--images", 640, "--size", 32, "--seed", 1, "--json")
    return program("train", folder, "--model", "cifar_net", "--epochs", 4, "--batch", 32, "--learning-rate", 0.006,
                   "--precision", "float32",
                   "--seed", seed, "--json")


def windows(result):
    losses = [point["loss"] for point in result["points"]]
    return [statistics.mean(losses[at : at + WINDOW]) for at in range(0, len(losses) - WINDOW + 1, WINDOW)]


def test_the_loss_curve_stays_in_its_band(tmp_path):
    band = json.loads(BAND.read_text())
    means = windows(run(tmp_path / "shapes", seed=0))
    assert len(means) == len(band)
    for mean, entry in zip(means, band):
        assert entry["low"] <= mean <= entry["high"], (means, band)
    assert band[-1]["high"] < band[0]["low"], "the band itself must fall, or the test could not fail"


def record():
    with tempfile.TemporaryDirectory() as folder:
        runs = [windows(run(Path(folder) / "shapes", seed)) for seed in SEEDS]
    band = []
    for means in zip(*runs):
        centre, spread = statistics.mean(means), max(statistics.stdev(means), 0.01)
        band.append({"low": round(centre - 4 * spread, 3), "high": round(centre + 4 * spread, 3)})
    BAND.write_text("[\n" + ",\n".join("  " + json.dumps(entry) for entry in band) + "\n]\n")
    print(BAND.read_text())


if __name__ == "__main__":
    sys.exit(record())
