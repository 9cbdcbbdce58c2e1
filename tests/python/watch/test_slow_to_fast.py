"""examples/slow_to_fast, which docs/guide/watch.md begins with: the scripts run, `watch` names the first finding."""

import difflib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "examples" / "slow_to_fast"
GUIDE = (ROOT / "docs/guide/watch.md").read_text()
FIRST = "the main process prepares its batches itself, without workers"
MACHINE_RULES = ("other-programs", "cpu-quota")  # true of the machine, not of the program


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    make = "import common, pathlib, sys; common.photos(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", make, folder], cwd=ROOT / "examples" / "slow", check=True, timeout=120)
    return folder / "photos"


@pytest.mark.parametrize("script", ["before", "workers", "after"])
def test_the_scripts_train(photos, tmp_path, script):
    done = subprocess.run([sys.executable, SCRIPTS / f"{script}.py", photos, "--steps", "4"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=180, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "train.log").read_text().splitlines()
    assert [line.rsplit(" ", 1)[0] for line in log] == [f"step {step} loss" for step in range(4)]


def test_the_first_finding_of_the_guide(photos, tmp_path):
    out = tmp_path / "before.json"
    done = subprocess.run([os.environ["UNSTARVE"], "watch", "--out", out, "--", sys.executable, SCRIPTS / "before.py",
                           photos, "--steps", "100"], cwd=tmp_path, capture_output=True, text=True, timeout=400,
                          check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    profile = result["profile"]
    if profile["stacks"]["seconds"] < 2:
        pytest.skip(f"no stacks: {profile['stacks']['missing']}")
    (rank,) = profile["ranks"]
    assert rank["stacks"]["input"] > 0.5  # on any machine, also if others use its cores
    assert rank["loaders"] == 0
    found = [finding for finding in result["findings"] if finding["rule"] not in (*MACHINE_RULES, "slow-start")]
    machine = profile["machine"]
    if machine["affinity_cores"] - machine["busy_cores"] > 0.6:
        assert found[0]["title"] == FIRST
    assert FIRST in GUIDE


def test_the_guide_shows_the_changes_of_the_scripts():
    for before, after in (("before.py", "workers.py"), ("workers.py", "after.py")):
        changes = difflib.ndiff((SCRIPTS / before).read_text().splitlines(),
                                (SCRIPTS / after).read_text().splitlines())
        shown = [f"{line[0]}{line[2:]}" for line in changes if line.startswith("+ ") and line[2:].strip()
                 and '"""' not in line]
        assert shown
        for line in shown:
            assert line in GUIDE, line


def test_run_replaces_the_blocks_of_the_guide():
    spec = importlib.util.spec_from_file_location("slow_to_fast_run", SCRIPTS / "run.py")
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    blocks = [f"```console\n$ block {i}\n```" for i in range(7)] + ["| script | other |\n|---|---|\n| `x` | 1 |"]
    text = run.replaced(GUIDE, blocks)
    assert text.split("<!-- examples")[0] == GUIDE.split("<!-- examples")[0]
    assert text.split("<!-- end -->")[1] == GUIDE.split("<!-- end -->")[1]
    for block in blocks:
        assert text.count(block) == 1
    assert "before.json" not in text.split("<!-- end -->")[0]
    assert run.replaced(text, blocks) == text
    with pytest.raises(SystemExit, match="found 8 blocks"):
        run.replaced(GUIDE, blocks[1:])
