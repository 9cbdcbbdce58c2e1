"""`unstarve watch` and `diagnose` of two real ranks: which delays the other, and why."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
PROGRAM = Path(__file__).with_name("two_ranks.py")
PY_SPY = Path(sys.executable).with_name("py-spy").exists()
needs_stacks = pytest.mark.skipif(not PY_SPY, reason="no py-spy")
SECONDS = "14"  # both ranks are recorded in turn, for four seconds each


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def environment(**variables):
    return {**os.environ, "OMP_NUM_THREADS": "1", **variables}


def watch_launcher(out, cause, seconds=SECONDS):
    """Both ranks are children of torchrun."""
    command = [os.environ["UNSTARVE"], "watch", "--out", out, "--", sys.executable, "-m", "torch.distributed.run",
               "--nproc-per-node", "2", "--master-port", str(free_port()), PROGRAM, cause, seconds]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text()), done.stderr


def watch_each(folder, cause):
    """Every rank is watched alone, as on two hosts."""
    files = [folder / f"rank{rank}.json" for rank in range(2)]
    port = str(free_port())
    runs = [subprocess.Popen([os.environ["UNSTARVE"], "watch", "--out", file, "--", sys.executable, PROGRAM, cause,
                              SECONDS], stderr=subprocess.PIPE, text=True,
                             env=environment(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                                             MASTER_PORT=port)) for rank, file in enumerate(files)]
    for run in runs:
        _, errors = run.communicate(timeout=240)
        assert run.returncode == 0, errors
    return files


def diagnose(*arguments):
    return subprocess.run([os.environ["UNSTARVE"], "diagnose", *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, check=False)


def stragglers(result):
    return [finding for finding in result["findings"] if finding["rule"] == "straggler-rank"]


@needs_stacks
@pytest.mark.parametrize(("cause", "title"), [
    ("loader", "its main thread waits for its loader"),
    # Skipped while other programs use the cores, as other tests do in `make test`.
    pytest.param("thread", "other threads of its process compute", marks=pytest.mark.long),
])
def test_a_slow_rank_of_one_launcher(tmp_path, cause, title):
    result, text = watch_launcher(tmp_path / "out.json", cause)
    ranks = result["profile"]["ranks"]
    assert [rank["numbers"] for rank in ranks] == [{"global": 0, "local": 0}, {"global": 1, "local": 1}]
    if cause == "thread" and ranks[0]["host"]["foreign_cores"] > 0.2:
        pytest.skip("other programs use the cores: both ranks are delayed")
    (finding,) = stragglers(result)
    assert finding["title"].startswith(f"rank 1 on {socket.gethostname()} delays the other ranks")
    assert title in finding["title"], finding
    assert finding["gain"] > 1.1
    assert "steps/s" in text


@needs_stacks
def test_ranks_that_are_alike(tmp_path):
    result, _ = watch_launcher(tmp_path / "out.json", "none")
    assert len(result["profile"]["ranks"]) == 2
    assert stragglers(result) == []


@needs_stacks
def test_files_of_two_watches(tmp_path):
    files = watch_each(tmp_path, "loader")
    for file in files:
        assert len(json.loads(file.read_text())["profile"]["ranks"]) == 1
    merged = json.loads(diagnose(*files, "--json").stdout)
    assert [rank["numbers"]["global"] for rank in merged["ranks"]] == [0, 1]
    (finding,) = stragglers(merged)
    assert merged["verdict"] == finding["title"]
    assert finding["title"].endswith("delays the other ranks: its main thread waits for its loader")
    assert finding["title"].startswith("rank 1 on ")
    (clock,) = merged["clocks"]
    assert clock["synchronised"]
    assert abs(clock["seconds"]) < 0.05  # one host
    assert clock["steps"] > 50
    assert diagnose(*reversed(files)).stdout == diagnose(*files).stdout

    twice = diagnose(files[0], files[0])
    assert twice.returncode == 3
    assert "which is also in" in twice.stderr


def test_files_of_other_programs(tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 0, '
                     '"dur": 2}]}')
    done = diagnose(trace, trace)
    assert done.returncode == 3
    assert "found a trace of another profiler; expected only outputs of unstarve watch" in done.stderr
