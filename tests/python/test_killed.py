"""Nothing is used twice and nothing is missed by a run that is killed again and again and goes on with other ranks, threads,
batches and orders."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("killed_driver.py")


def kill(folder, kills):
    seed = int(os.environ.get("UNSTARVE_KILL_SEED", random.randrange(1 << 30)))
    environment = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE")}
    run = subprocess.run([sys.executable, DRIVER, folder / "state.json", str(kills), str(seed)], env=environment,
                         capture_output=True, text=True, check=False)
    again = f"UNSTARVE_KILL_SEED={seed} tells the choices, not the moments\n{run.stderr}"
    assert run.returncode == 0, again
    seen = json.loads(run.stdout)
    assert seen["killed"] == kills, again
    for epoch in seen["epochs"]:
        assert sorted(epoch) == list(range(seen["samples"])), again
    assert len(set(seen["used"])) == len(seen["used"]), again
    return seen


def test_a_run_that_is_killed_thirty_times_uses_every_sample_once(tmp_path):
    assert kill(tmp_path, 30)["epochs"]


@pytest.mark.long
def test_a_run_that_is_killed_hundreds_of_times_uses_every_sample_once(tmp_path):
    assert len(kill(tmp_path, 500)["epochs"]) > 5
