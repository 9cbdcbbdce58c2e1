"""`unstarve watch` finds images that a training loop decodes itself, also by calls that have no Python frames."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PY_SPY = Path(sys.executable).with_name("py-spy")
TRAIN = """
    import os, time
    import cv2
    data = os.urandom(3_000_000)
    def batch():
        return cv2.imread(data, 6)
    def compute(seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until: pass
    until = time.monotonic() + 9
    while time.monotonic() < until:
        batch()
        compute(0.02)
"""


@pytest.mark.skipif(not PY_SPY.exists(), reason="no py-spy")
@pytest.mark.parametrize(("name", "found"), [("train.py", True), ("convert.py", False)])
def test_a_loop_that_decodes_by_opencv(tmp_path, name, found):
    (tmp_path / "cv2.py").write_text("from zlib import compress as imread\n")  # takes about 0.1 s
    program, out = tmp_path / name, tmp_path / "out.json"
    program.write_text(textwrap.dedent(TRAIN))
    subprocess.run([os.environ["UNSTARVE"], "watch", "--out", out, "--", sys.executable, program], check=True,
                   capture_output=True, timeout=120, env={**os.environ, "UNSTARVE_PY_SPY": str(PY_SPY)})
    result = json.loads(out.read_text())
    stacks = result["profile"]["stacks"]
    calls = [i for i, line in enumerate(stacks["lines"]) if line["file"] == "cv2/__init__.py"]
    decoding = sum(stack["seconds"] for stack in stacks["stacks"] if set(calls) & set(stack["lines"]))
    assert decoding >= 0.5 * stacks["seconds"]
    rules = {finding["rule"] for finding in result["findings"]}
    assert bool(rules & {"serial-input", "expensive-samples"}) == found
