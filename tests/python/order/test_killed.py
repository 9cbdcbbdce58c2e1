"""A run that is killed repeatedly and resumes with other ranks, threads and batch sizes uses every sample exactly once.

Its pixels equal those of an undisturbed run. The pipelines are in killed_variants.py.
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from killed_variants import PHOTOS, VARIANTS
from loader_support import photos

DRIVER = Path(__file__).with_name("killed_driver.py")


def kill(folder, name, kills):
    """Returns the finished epochs after at least this many kills."""
    if name == "from_torch" and find_spec("torch") is None:
        pytest.skip("torch is not installed")
    if name == "cache":
        photos(folder / PHOTOS, VARIANTS[name].length)
    seed = int(os.environ.get("UNSTARVE_KILL_SEED", random.randrange(1 << 30)))
    environment = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE")}
    run = subprocess.run([sys.executable, DRIVER, name, str(kills), str(seed)], env=environment, cwd=folder,
                         capture_output=True, text=True, check=False)
    again = f"UNSTARVE_KILL_SEED={seed} tells the choices, not the moments\n{run.stderr}"
    assert run.returncode == 0, again
    seen = json.loads(run.stdout)
    assert seen["killed"] >= kills and seen["epochs"] and all(seen["holds"]), again
    for number, epoch in enumerate([*seen["epochs"], seen["used"]]):
        expected = seen["undisturbed"][number]
        if VARIANTS[name].relaxed or not VARIANTS[name].ordered:
            # Samples that bypassed others are not the start of the epoch, but none is repeated or changed.
            assert not Counter(map(tuple, epoch)) - Counter(map(tuple, expected)), again
        else:
            assert epoch == expected[:len(epoch)], again
        assert number == len(seen["epochs"]) or len(epoch) == len(expected), again
    return len(seen["epochs"])


@pytest.mark.parametrize("name", VARIANTS)
def test_a_run_killed_occasionally_equals_an_undisturbed_run(tmp_path, name):
    assert kill(tmp_path, name, 6)


@pytest.mark.long
@pytest.mark.parametrize("name", VARIANTS)
def test_a_run_killed_a_hundred_times_equals_an_undisturbed_run(tmp_path, name):
    assert kill(tmp_path, name, 500 if name == "plain" else 100) > 3
