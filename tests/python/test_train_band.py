"""One training run whose loss curve stays inside a recorded band.

The band was recorded from runs of the same command (see `record`), and is as wide as four times the spread over seeds at
each point: a run that learns slower, diverges or starts elsewhere leaves it, another instruction set or thread count does
not. To record it anew after a change that is meant to change learning:

    UNSTARVE=build/unstarve PYTHONPATH=python .venv/bin/python tests/python/test_train_band.py
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BAND = Path(__file__).resolve().parents[1] / "golden" / "train_band.json"
SEEDS = range(5)


def program(*arguments):
    done = subprocess.run([os.environ["UNSTARVE"], *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode == 4:
        import pytest

        pytest.skip("this build has no libtorch: " + done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(folder, seed):
    program("synth", folder, "--classes", 4, "--images", 640, "--size", 32, "--seed", 1, "--json")
    return program("train", folder, "--model", "cifar_net", "--epochs", 4, "--batch", 32, "--learning-rate", 0.006, "--precision", "float32",
                   "--seed", seed, "--json")


def test_the_loss_curve_stays_in_its_band(tmp_path):
    band = json.loads(BAND.read_text())
    result = run(tmp_path / "shapes", seed=0)
    points = {point["step"]: point["loss"] for point in result["points"]}
    assert sorted(points) == [entry["step"] for entry in band]
    for entry in band:
        assert entry["low"] <= points[entry["step"]] <= entry["high"], (entry, points)
    assert band[-1]["high"] < band[0]["low"], "the band itself must fall, or the test could not fail"


def record():
    with tempfile.TemporaryDirectory() as folder:
        runs = [run(Path(folder) / "shapes", seed)["points"] for seed in SEEDS]
    band = []
    for points in zip(*runs):
        losses = [point["loss"] for point in points]
        centre, spread = statistics.mean(losses), max(statistics.stdev(losses), 0.01)
        band.append({"step": points[0]["step"], "low": round(centre - 4 * spread, 3), "high": round(centre + 4 * spread, 3)})
    # Single steps are noisy: the ends are what the last assertion of the test holds on to.
    BAND.write_text("[\n" + ",\n".join("  " + json.dumps(entry) for entry in band) + "\n]\n")
    print(BAND.read_text())


if __name__ == "__main__":
    sys.exit(record())
