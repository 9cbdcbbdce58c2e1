"""`unstarve watch`: real programs, their output, exit codes and signals, and what is found."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from processes_support import alive, gone

# One worker computes all the time; the main process waits for it.
ONE_WORKER = """
    import time, torch
    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return 10**9
        def __getitem__(self, index):
            until = time.perf_counter() + 0.01
            while time.perf_counter() < until:
                pass
            return torch.zeros(1)
    until = time.monotonic() + 5
    for batch in torch.utils.data.DataLoader(Slow(), batch_size=8, num_workers=1):
        if time.monotonic() > until:
            break
    print("trained")
"""


def watch(*arguments, **options):
    return subprocess.run([os.environ["UNSTARVE"], "watch", *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=False, **options)


def python(script):
    return [sys.executable, "-c", textwrap.dedent(script)]


def test_output_and_exit_code_are_those_of_the_command():
    run = watch("--", "sh", "-c", "read line; echo \"got $line\"; echo problem >&2; exit 7", input="a line\n")
    assert (run.returncode, run.stdout) == (7, "got a line\n")
    assert run.stderr.startswith("problem\n")
    assert "too short for conclusions" in run.stderr


def test_a_command_that_is_killed():
    assert watch("--", "sh", "-c", "kill -9 $$").returncode == 128 + signal.SIGKILL


def test_a_command_that_cannot_be_started():
    run = watch("--", "/no/such/program", "--flag")
    assert run.returncode == 127
    assert "/no/such/program" in run.stderr
    assert watch("--", "/").returncode == 126


@pytest.mark.parametrize(("arguments", "message"), [
    ([], "either -- COMMAND or --pid N"),
    (["--pid", 1, "--", "true"], "either -- COMMAND or --pid N"),
    (["--json", "--", "true"], "Use --out FILE"),
    (["sleep", "--verbose"], "put -- before another command: unstarve watch -- COMMAND"),
    (["--pid", 0], "--pid"),
])
def test_wrong_arguments_are_rejected(arguments, message):
    run = watch(*arguments)
    assert run.returncode == 2
    assert message in run.stderr


def test_a_process_that_does_not_exist():
    run = watch("--pid", 2**22 + 1, "--seconds", 1)
    assert run.returncode == 3
    assert "no process" in run.stderr


def test_a_worker_that_limits_the_main_process(tmp_path):
    out = tmp_path / "out.json"
    run = watch("--out", out, "--", *python(ONE_WORKER))
    assert (run.returncode, run.stdout) == (0, "trained\n"), run.stderr
    result = json.loads(out.read_text())
    profile = result["profile"]
    roles = {role: [one for one in profile["processes"] if one["role"] == role] for role in ("main", "loader")}
    assert len(roles["main"]) == len(roles["loader"]) == 1
    worker = roles["loader"][0]
    assert worker["parent"] == roles["main"][0]["pid"]
    assert worker["cpu_s"] > 2
    rules = {finding["rule"]: finding for finding in result["findings"]}
    main = roles["main"][0]
    free = profile["machine"]["affinity_cores"] - profile["machine"]["busy_cores"]
    busy = (worker["cpu_s"] + worker["run_delay_s"]) / (worker["end_s"] - worker["begin_s"])
    if busy > 0.92 and free > 0.55 and main["busiest_thread_s"] < 0.5 * (main["end_s"] - main["begin_s"]):
        assert "few-workers" in rules  # nothing else ran on the machine
        assert re.search(r"num_workers=\d", rules["few-workers"]["change"])
        assert rules["few-workers"]["gain"] > 1.1
        assert "the main process waits for the workers of its loader" in run.stderr
    if busy < 0.88 or free < 0.45:
        assert "few-workers" not in rules
    assert profile["exit_code"] == 0
    assert 0 < profile["watching"]["cpu_s"] < profile["watching"]["seconds"]
    assert profile["watching"]["stacks_cpu_s"] > 0


def test_workers_that_wait_in_a_pipe_of_multiprocessing_wait_for_no_server(tmp_path):
    script = tmp_path / "environments.py"
    script.write_text(textwrap.dedent("""
        import multiprocessing, time
        def busy(seconds):
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                pass
        def environment(pipe):
            while pipe.recv():
                pipe.send(bytes(1000))
        if __name__ == "__main__":
            ends = [multiprocessing.Pipe() for _ in range(2)]
            for _, end in ends:
                multiprocessing.Process(target=environment, args=(end,), daemon=True).start()
            until = time.monotonic() + 5
            while time.monotonic() < until:
                for end, _ in ends:
                    end.send(True)
                for end, _ in ends:
                    end.recv()
                busy(0.01)
                time.sleep(0.02)  # an accelerator computes
    """))
    out = tmp_path / "out.json"
    watch("--out", out, "--", sys.executable, script, env={**os.environ, "UNSTARVE_PY_SPY": "/no/such/py-spy"})
    result = json.loads(out.read_text())
    assert "slow-reads" not in [finding["rule"] for finding in result["findings"]]
    workers = [process for process in result["profile"]["processes"] if process["role"] == "loader"]
    assert len(workers) == 2
    for worker in workers:
        assert worker["main_thread"]["waits"]["network_s"] == 0
        assert worker["main_thread"]["waits"]["pipe_s"] > 2


def test_a_running_process_is_watched_for_a_time():
    command = subprocess.Popen(python("while True: pass"))
    try:
        run = watch("--pid", command.pid, "--seconds", 3.5, "--json")
        assert run.returncode == 0, run.stderr
        profile = json.loads(run.stdout)["profile"]
        assert alive(command.pid)
        assert 3.4 < profile["watching"]["seconds"] < 10
        assert profile["watching"]["stopped"] == "after the time of --seconds"
        main = profile["processes"][0]
        assert main["pid"] == command.pid
        assert main["role"] == "main"
        assert 0 < main["cpu_s"] <= profile["watching"]["seconds"] + 0.1
    finally:
        command.kill()
        command.wait()


def test_a_command_runs_on_after_the_time(tmp_path):
    out = tmp_path / "out.json"
    run = watch("--seconds", 0.5, "--out", out, "--", "sh", "-c", "sleep 1.5; echo end; exit 3")
    assert (run.returncode, run.stdout) == (3, "end\n")
    profile = json.loads(out.read_text())["profile"]
    assert profile["watching"]["seconds"] < 1.4
    assert profile["exit_code"] == 3


def test_the_command_has_the_signal_settings_of_the_caller():
    """A program that ignores SIGPIPE would print an error here."""
    run = watch("--", "bash", "-c", "yes | head -1; echo ${PIPESTATUS[0]}")
    assert run.stdout == f"y\n{128 + signal.SIGPIPE}\n"
    assert "yes:" not in run.stderr


def test_arguments_are_passed_on_unchanged():
    arguments = ["[0,1]", "[]", "--json", "--", "", "a b", "--help"]
    run = watch("--", sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *arguments)
    assert json.loads(run.stdout) == arguments


def test_a_command_ends_with_the_terminal_of_its_session():
    watcher, terminal = pty.fork()
    if watcher == 0:  # the leader of a session
        script = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
        os.execv(os.environ["UNSTARVE"], ["unstarve", "watch", "--", *python(script)])
    command = int(os.read(terminal, 100))
    os.close(terminal)  # it hangs up
    assert gone([command])
    os.waitpid(watcher, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_are_passed_on(number):
    script = ("import signal, time\nfor n in (2, 10, 15): signal.signal(n, lambda *_: exit(9))\n"
              "print('ready', flush=True)\n")
    process = subprocess.Popen([os.environ["UNSTARVE"], "watch", "--", *python(script + "time.sleep(60)")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 9, errors


def ignore_hang_up():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def test_a_hang_up_that_is_ignored_does_not_end_watching(tmp_path):
    out = tmp_path / "out.json"
    program = subprocess.Popen(["sleep", "60"])
    command = [os.environ["UNSTARVE"], "watch", "--pid", str(program.pid), "--seconds", "3", "--out", out]
    watcher = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=ignore_hang_up)
    time.sleep(1)
    watcher.send_signal(signal.SIGHUP)
    _, errors = watcher.communicate(timeout=60)
    program.kill()
    program.wait()
    assert watcher.returncode == 0, errors
    assert "after the time of --seconds" in json.loads(out.read_text())["profile"]["watching"]["stopped"]


def test_an_ignored_signal_reaches_a_command_that_handles_it():
    script = "import signal, time\nsignal.signal(1, lambda *_: exit(9))\nprint('ready', flush=True)\ntime.sleep(60)"
    watcher = subprocess.Popen([os.environ["UNSTARVE"], "watch", "--", *python(script)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, preexec_fn=ignore_hang_up)
    assert watcher.stdout.readline() == "ready\n"
    watcher.send_signal(signal.SIGHUP)
    _, errors = watcher.communicate(timeout=60)
    assert watcher.returncode == 9, errors


def test_a_command_continues_if_watching_is_killed(tmp_path):
    done = tmp_path / "done"
    script = f"echo $$; sleep 1; echo still running > {done}"
    process = subprocess.Popen([os.environ["UNSTARVE"], "watch", "--", "sh", "-c", script], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    command = int(process.stdout.readline())
    process.kill()
    process.wait()
    assert alive(command)
    assert gone([command])
    assert done.read_text() == "still running\n"


def test_many_short_processes(tmp_path):
    out = tmp_path / "out.json"
    run = watch("--out", out, "--", "sh", "-c", "for i in $(seq 1500); do /bin/true; done")
    assert run.returncode == 0
    profile = json.loads(out.read_text())["profile"]
    assert len(profile["processes"]) < 250
    assert profile["watching"]["seconds"] < 60


def test_a_program_of_another_user_is_watched(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can start a process of another user")
    out = tmp_path / "out.json"
    run = watch("--out", out, "--", sys.executable, "-c", "import os, time\nos.setgid(65534); os.setuid(65534)\n"
                "end = time.monotonic() + 1\nwhile time.monotonic() < end: pass\nos._exit(4)")
    assert run.returncode == 4
    assert json.loads(out.read_text())["profile"]["processes"][0]["cpu_s"] > 0.3


@pytest.mark.parametrize(("option", "path"), [
    ("--out", "/no/such/folder/out.json"),
    ("--trace", "/no/such/folder/trace.json"),
    ("--report", "/no/such/folder/report.html"),
    ("--tensorboard", "/dev/null/events"),
])
def test_what_cannot_be_written_fails_before_the_program_runs(tmp_path, option, path):
    run = watch(option, path, "--", "touch", tmp_path / "started")
    assert run.returncode == 125
    assert path in run.stderr
    assert not (tmp_path / "started").exists()


def test_events_of_tensorboard_are_written_to_a_new_folder(tmp_path):
    assert watch("--tensorboard", tmp_path / "new" / "events", "--", "sleep", "1").returncode == 0
    events, = (tmp_path / "new" / "events").iterdir()
    assert events.name.startswith("events.out.tfevents.")
    assert b"watch/findings" in events.read_bytes()


def test_a_start_that_is_a_large_part_of_the_run(tmp_path):
    out = tmp_path / "out.json"
    run = watch("--out", out, "--", *python("""
        import time, unstarve as un
        time.sleep(3)                     # imports, compilation
        un.step()
        for step in range(100):
            time.sleep(0.5 if step < 2 else 0.03)
            un.step()
    """))
    assert run.returncode == 0, run.stderr
    finding = {one["rule"]: one for one in json.loads(out.read_text())["findings"]}["slow-start"]
    assert re.search(r"the first step ended after [3-9]\.\d s; the next 2 steps took [01]\.\d s more",
                     finding["evidence"])
    assert finding["change"] == "leave the first 3 steps out of benchmarks, and run longer"
    assert finding["lost"] > 0.4
