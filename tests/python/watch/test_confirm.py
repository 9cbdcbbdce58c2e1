"""`unstarve watch --confirm`: a bottleneck is confirmed by slowing processes, which continue in any case."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from processes_support import gone

# A loader process and a main process that need `worker` and `main` seconds of CPU time for each step.
PROGRAM = """
    import sys, time, torch
    import unstarve as un
    worker, main, seconds = map(float, sys.argv[1:])
    def work(seconds):
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass
    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 10**9
        def __getitem__(self, index):
            work(worker)
            return torch.zeros(1)
    until = time.monotonic() + seconds
    for batch in torch.utils.data.DataLoader(Data(), batch_size=1, num_workers=1):
        work(main)
        un.step()
        if time.monotonic() > until:
            break
    print("trained")
"""


def command(tmp_path, *arguments):
    program = tmp_path / "train.py"
    program.write_text(textwrap.dedent(PROGRAM))
    return [sys.executable, program, *map(str, arguments)]


def states(pids):
    """Of processes: "S", "R", "T" (stopped), ..."""
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                found.append(file.read().rsplit(")", 1)[1].split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def children(pid):
    """Process ids and commands."""
    found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return {int(line.split()[0]): line.split(maxsplit=1)[1] for line in found.stdout.splitlines()}


@pytest.mark.parametrize(("worker", "main", "limiting"), [
    (0.02, 0.002, "loader"), pytest.param(0.002, 0.02, "main", marks=pytest.mark.long)])
def test_the_group_that_limits_is_confirmed(tmp_path, worker, main, limiting):
    out = tmp_path / "out.json"
    run = subprocess.run([os.environ["UNSTARVE"], "watch", "--confirm", "--out", out, "--",
                          *command(tmp_path, worker, main, 40)],
                         capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stdout) == (0, "trained\n"), run.stderr
    checks = json.loads(out.read_text())["profile"]["slowdowns"]
    assert not checks["problem"]
    assert checks["progress"] == "un.step()"
    groups = {group["role"]: group for group in checks["groups"]}
    assert set(groups) == {"loader", "main"}
    for group in groups.values():
        assert group["pairs"] >= 4
        assert group["low"] <= group["sensitivity"] <= group["high"]
    # 1 for the group that limits. The other one is below it: on a busy machine not 0, because the stops of both compete
    # with other programs.
    slower = groups.pop(limiting)
    assert slower["low"] - 0.3 <= 1 <= slower["high"] + 0.3, run.stderr
    (other,) = groups.values()
    assert other["sensitivity"] < slower["sensitivity"], run.stderr
    name = {"loader": "the loader's processes", "main": "the main process"}[limiting]
    assert f"slowing {name} by 20 %" in run.stderr


def killed_watch(folder):
    """States of the program's processes after `watch` was killed while one was stopped; whether the guard ended."""
    watch = subprocess.Popen([os.environ["UNSTARVE"], "watch", "--confirm", "--", *command(folder, 0.02, 0.002, 60)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pids = []
    try:
        time.sleep(9)
        others = children(watch.pid)
        [main] = [pid for pid, text in others.items() if text.startswith(sys.executable)]
        [guard] = [pid for pid, text in others.items() if text.startswith(os.environ["UNSTARVE"])]
        pids = [main, *children(main)]
        # Kills it when a process is stopped.
        deadline = time.monotonic() + 40
        while "T" not in states(pids):
            assert time.monotonic() < deadline, "nothing was stopped"
            time.sleep(0.002)
        watch.send_signal(signal.SIGKILL)
        watch.wait()
        time.sleep(0.5)
        return states(pids), gone([guard])
    finally:
        watch.kill()
        watch.wait()
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


@pytest.mark.begin(run=killed_watch)
def test_stopped_processes_continue_if_watch_is_killed(begun):
    of_program, guard_ended = begun
    assert of_program, "the program ended"
    assert "T" not in of_program
    assert guard_ended


def killed_guard(folder):
    """The finished `watch`, whose guard was killed at the start, and its messages."""
    watch = subprocess.Popen([os.environ["UNSTARVE"], "watch", "--confirm", "--", *command(folder, 0.02, 0.002, 14)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 30
        while not (guard := [pid for pid, text in children(watch.pid).items()
                             if text.startswith(os.environ["UNSTARVE"])]):
            assert time.monotonic() < deadline, "no guard"
            time.sleep(0.05)
        os.kill(guard[0], signal.SIGKILL)
        deadline = time.monotonic() + 10
        while not gone(guard):
            assert time.monotonic() < deadline, "the guard remains as a zombie"
            time.sleep(0.05)
        _, errors = watch.communicate(timeout=60)
    finally:
        watch.kill()
        watch.wait()
    return watch, errors


@pytest.mark.begin(run=killed_guard)
def test_nothing_is_stopped_if_the_guard_was_killed(begun):
    watch, errors = begun
    assert watch.returncode == 0
    assert "not confirmed: the guard process was killed" in errors


@pytest.mark.begin(run=lambda folder: subprocess.run(
    [os.environ["UNSTARVE"], "watch", "--confirm", "--", *command(folder, 0.02, 0.002, 4)],
    capture_output=True, text=True, timeout=120, check=False))
def test_a_short_run_is_not_confirmed(begun):
    run = begun
    assert run.returncode == 0
    assert "not confirmed: the program ended before enough phases were measured" in run.stderr


def test_a_process_that_runs_already_is_never_stopped():
    run = subprocess.run([os.environ["UNSTARVE"], "watch", "--confirm", "--pid", str(os.getpid()), "--seconds", "1"],
                         capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 2
    assert "expected -- COMMAND" in run.stderr
