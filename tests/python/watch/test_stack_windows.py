"""When `unstarve watch` records stacks: a stand-in for py-spy logs how it is called."""

import json
import os
import subprocess
import sys
import textwrap

# Writes the same recording each time; reading its 1,000 samples takes much longer than a look at /proc.
STAND_IN = """
    #!{python}
    import json, os, sys
    with open(os.environ["STAND_IN_LOG"], "a") as log:
        log.write(f"{{'--gil' in sys.argv}} {{sys.argv[sys.argv.index('--pid') + 1]}}\\n")
    if "--gil" in sys.argv and "STAND_IN_NO_GIL" in os.environ:
        sys.exit(1)
    pid = sys.argv[sys.argv.index("--pid") + 1]
    frames = [{{"name": f"f{{i}}", "file": "/home/me/train.py", "line": i}} for i in range(100)]
    samples = [list(range(i % 30, 100)) for i in range(1000)]
    thread = {{"type": "sampled", "name": f"Thread {{pid}} \\"MainThread\\"", "unit": "seconds", "samples": samples,
              "weights": [0.004] * len(samples)}}
    with open(sys.argv[sys.argv.index("--output") + 1], "w") as file:
        json.dump({{"shared": {{"frames": frames}}, "profiles": [thread]}}, file)
"""
# A main process and one that prepares data.
BUSY = """
    import multiprocessing, sys, time
    def work(seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until: pass
    if __name__ == "__main__":
        loader = multiprocessing.get_context("fork").Process(target=work, args=[{seconds}])
        loader.start()
        work({seconds})
        loader.join()
"""


def watched(folder, seconds, **environment):
    program, out, log = folder / "py-spy", folder / "out.json", folder / "log"
    program.write_text(textwrap.dedent(STAND_IN).lstrip().format(python=sys.executable))
    program.chmod(0o755)
    environment |= {"UNSTARVE_PY_SPY": str(program), "STAND_IN_LOG": str(log)}
    script = textwrap.dedent(BUSY).format(seconds=seconds)
    run = subprocess.run([os.environ["UNSTARVE"], "watch", "--out", out, "--", sys.executable, "-c", script],
                         capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environment})
    assert run.returncode == 0, run.stderr
    calls = [line.split() for line in log.read_text().splitlines()]
    return json.loads(out.read_text())["profile"]["stacks"], calls, run.stderr


def test_the_first_windows_follow_each_other(tmp_path):
    stacks, calls, text = watched(tmp_path, 14)
    (main, main_id), (worker, worker_id), (holder, holder_id) = calls[:3]
    assert [main, worker, holder] == ["False", "False", "True"]
    assert main_id == holder_id != worker_id
    assert min(stacks["seconds"], stacks["processes"], stacks["interpreter_s"]) > 0
    assert "recorded" not in text


def test_a_missing_window_is_reported(tmp_path):
    stacks, _, text = watched(tmp_path, 8, STAND_IN_NO_GIL="1")
    assert stacks["seconds"] > 0
    assert stacks["interpreter_s"] == 0
    assert "the holder of the GIL was not recorded: python-bound and small-steps find nothing" in text
