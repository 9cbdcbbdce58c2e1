"""Host settings of `unstarve train` and `tune`: processes really have the allocator, the variables and the CPUs."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from train_support import finish

DATA = "synthetic:classes=4,images=64,size=32,seed=2"
NETWORK = ["--model", "cifar_net", "--batch", "16", "--precision", "float32", "--seed", "3"]
# Without what the user of the tests may have set. With one operator thread: others would wait in a loop.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if name not in ("LD_PRELOAD", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "THP_MEM_ALLOC_ENABLE",
                               "GLIBC_TUNABLES", "MALLOC_CONF")} | {"OMP_NUM_THREADS": "1"}
HOST_STEPS = ["wait policy", "affinity", "huge pages", "allocator"]


def start(*arguments, program=(), environment=None):
    return subprocess.Popen([*(program or [os.environ["UNSTARVE"]]), *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**ENVIRONMENT, **(environment or {})})


def trained(*arguments, **options):
    code, out, errors = finish(start("train", DATA, *NETWORK, "--epochs", 1, "--json", *arguments, **options))
    assert code == 0, errors
    return json.loads(out), errors


def variables_of(process_id):
    text = Path(f"/proc/{process_id}/environ").read_text()
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def cpus_of(thread):
    """The CPUs on which a thread, a folder of /proc, may run."""
    line = next(line for line in (thread / "status").read_text().splitlines() if line.startswith("Cpus_allowed_list"))
    cpus = set()
    for part in line.split()[1].split(","):
        first, _, last = part.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


@contextlib.contextmanager
def running(folder, *arguments, **options):
    """A run that trains until it is stopped, after its first checkpoint."""
    process = start("train", DATA, *NETWORK, "--epochs", 100000, "--evaluate-every", 0, "--checkpoint-dir", folder,
                    "--checkpoint-every", "0.2s", *arguments, **options)
    try:
        until = time.monotonic() + 120
        while not list(folder.glob("step-*.safetensors")):
            if process.poll() is not None:
                code, _, errors = finish(process)
                pytest.fail(f"ended with {code}: {errors}")
            assert time.monotonic() < until
            time.sleep(0.05)
        yield process
    finally:
        if process.poll() is None:
            process.terminate()  # torchrun ends its ranks
            try:
                process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


def test_an_allocator_is_preloaded_and_ctrl_c_ends_the_run_in_order(tmp_path):
    with running(tmp_path, "--allocator", "jemalloc", "--huge-pages", "true") as process:
        assert "libjemalloc.so" in Path(f"/proc/{process.pid}/maps").read_text()
        assert process.args[1:] == [word.decode() for word in
                                    Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[1:-1]]
        variables = variables_of(process.pid)
        assert variables["MALLOC_CONF"] == "thp:always" and variables["THP_MEM_ALLOC_ENABLE"] == "1"
        before = set(tmp_path.glob("step-*.safetensors"))
        process.send_signal(signal.SIGINT)
        assert finish(process)[0] == 128 + signal.SIGINT
        assert set(tmp_path.glob("step-*.safetensors")) != before


def test_the_system_allocator_gets_huge_pages_by_tunables(tmp_path):
    with running(tmp_path, "--huge-pages", "true",
                 environment={"GLIBC_TUNABLES": "glibc.malloc.arena_max=4"}) as process:
        environment = Path(f"/proc/{process.pid}/environ").read_text()
        # The C library overwrites the separator.
        assert "GLIBC_TUNABLES=glibc.malloc.arena_max=4" in environment
        assert "glibc.malloc.hugetlb=1" in environment.replace(":", "\0").split("\0")
        assert "jemalloc" not in Path(f"/proc/{process.pid}/maps").read_text()


def test_results_are_those_of_a_run_without_host_settings(tmp_path):
    plain, _ = trained()
    hosted, errors = trained("--allocator", "jemalloc", "--huge-pages", "true", "--wait-policy", "brief", "--out",
                             tmp_path / "model.safetensors")
    assert errors == ""
    assert list(plain) == list(hosted)
    for key in ("model", "steps", "samples", "epochs", "loss_first", "loss_last", "parameters"):
        assert plain[key] == hosted[key]


def test_exit_codes_and_errors_are_those_of_the_program():
    for arguments, code in ((["--model", "alexnet"], 2), (["--momentum", "7"], 2), (["--val", "/no/such/data"], 3)):
        plain, hosted = (finish(start("train", DATA, *arguments, *host, "--json"))
                         for host in ([], ["--allocator", "jemalloc"]))
        assert plain == hosted
        assert plain[0] == code
    code, _, errors = finish(start("train", DATA, "--allocator", "malloc"))
    assert code == 2
    assert errors == 'unstarve: --allocator: found "malloc"; expected system, jemalloc, tcmalloc, mimalloc\n'


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
def test_operators_and_loader_run_on_different_cpus(tmp_path):
    usable = sorted(os.sched_getaffinity(0))
    with running(tmp_path, "--affinity", "split", "--operator-threads", "1", "--threads", "2") as process:
        cpus = {int(thread.name): cpus_of(thread) for thread in Path(f"/proc/{process.pid}/task").iterdir()}
        assert cpus[process.pid] == {usable[0]}
        assert list(cpus.values()).count(set(usable[1:])) >= 2, cpus
    code, _, errors = finish(start("train", DATA, *NETWORK, "--affinity", "split", "--val", "missing",
                                   "--operator-threads", str(len(usable))))
    assert code == 2 and "Change --operator-threads" in errors and "missing" in errors


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
def test_without_a_number_of_operator_threads_the_loader_has_one_cpu(tmp_path):
    usable = sorted(os.sched_getaffinity(0))
    with running(tmp_path, "--affinity", "split", "--threads", "2") as process:
        assert cpus_of(Path(f"/proc/{process.pid}")) == set(usable[:-1])


def test_a_variable_of_the_user_wins(tmp_path):
    environment = {"OMP_WAIT_POLICY": "active"}
    with running(tmp_path, "--allocator", "jemalloc", "--wait-policy", "brief", environment=environment) as process:
        assert variables_of(process.pid)["OMP_WAIT_POLICY"] == "active"
        process.send_signal(signal.SIGTERM)
        code, _, errors = finish(process)
        assert code == 128 + signal.SIGTERM
        assert errors.count("wait_policy brief: ignored, because the environment has OMP_WAIT_POLICY=active") == 1


def test_a_settings_file_has_host_settings_and_flags_replace_them(tmp_path):
    path = tmp_path / "tuned.yaml"
    settings = json.loads(finish(start("explain", DATA, "--json"))[1])["settings"]
    settings["train"].update(model="cifar_net", precision="float32")
    settings["pipeline"]["batch"]["size"] = 16
    settings["host"].update(allocator="jemalloc")
    path.write_text(json.dumps(settings))
    for name, arguments in (("a", []), ("b", ["--allocator", "system"])):
        with running(tmp_path / name, "--config", path, *arguments) as process:
            assert ("jemalloc" in Path(f"/proc/{process.pid}/maps").read_text()) == (name == "a")


def test_the_python_package_starts_the_program_with_them(tmp_path):
    with running(tmp_path, "--allocator", "jemalloc", program=[sys.executable, "-m", "unstarve"]) as process:
        assert "libjemalloc.so" in Path(f"/proc/{process.pid}/maps").read_text()


def test_ranks_of_torchrun_start_with_them(tmp_path):
    program = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "unstarve"]
    with running(tmp_path, "--allocator", "jemalloc", "--wait-policy", "passive", "--operator-threads", 1,
                 program=program, environment={"GLOO_SOCKET_IFNAME": "lo"}) as process:
        ranks = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if str(tmp_path).encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                    variables = variables_of(folder.name)
                    if variables.get("UNSTARVE_STARTED") == folder.name:
                        ranks.append((variables["OMP_WAIT_POLICY"], "libjemalloc.so" in (folder / "maps").read_text()))
        assert ranks == [("passive", True)] * 2
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


def test_a_measuring_process_answers_until_its_input_is_closed():
    settings = json.loads(finish(start("explain", DATA, "--json"))[1])["settings"]
    process = subprocess.Popen([os.environ["UNSTARVE"], "measure-settings"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    request = {"settings": json.dumps(settings), "device": "emulated:h100-resnet50", "number": 0}
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["step_s"] > 0
    process.stdin.write('{"run": 0, "steps": 2}\n')
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["steps"] == 2
    process.stdin.close()
    assert process.wait(timeout=60) == 0


def test_answers_are_separate_from_what_libraries_print():
    settings = json.loads(finish(start("explain", DATA, "--model", "cifar_net", "--json"))[1])["settings"]
    settings["pipeline"]["batch"]["size"] = 8
    requests = [{"settings": json.dumps(settings), "device": "cpu", "number": 0}, {"run": 0, "steps": 1}]
    done = subprocess.run([os.environ["UNSTARVE"], "measure-settings"], text=True, capture_output=True, timeout=120,
                          input="".join(json.dumps(request) + "\n" for request in requests),
                          env={**ENVIRONMENT, "ONEDNN_VERBOSE": "1"})
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[0]["step_s"] > 0 and answers[1]["steps"] == 1
    assert "onednn_verbose" in done.stderr


def test_explain_shows_settings_whose_allocator_is_missing(tmp_path):
    settings = json.loads(finish(start("explain", DATA, "--json"))[1])["settings"]
    settings["host"].update(allocator="mimalloc")
    path = tmp_path / "settings.yaml"
    path.write_text(json.dumps(settings))
    code, out, errors = finish(start("explain", "--config", path, "--json"))
    assert code == 0, errors
    assert json.loads(out)["settings"]["host"]["allocator"] == "mimalloc"


def test_tune_compares_host_settings_in_processes_of_their_own(tmp_path):
    settings = json.loads(finish(start("explain", DATA, "--json"))[1])["settings"]
    settings["host"].update(wait_policy="passive", allocator="jemalloc")
    path = tmp_path / "settings.yaml"
    path.write_text(json.dumps(settings))
    process = start("tune", path, "--device", "emulated:h100-resnet50", "--minutes", "0.1", "--json")
    hosted = set()
    until = time.monotonic() + 200
    while process.poll() is None and time.monotonic() < until:
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"PPid:\t{process.pid}\n" in (folder / "status").read_text():
                    policy = variables_of(folder.name).get("OMP_WAIT_POLICY")
                    hosted.add((policy, "libjemalloc.so" in (folder / "maps").read_text()))
        time.sleep(0.05)
    code, out, errors = finish(process)
    assert code == 0, errors
    assert hosted == {("passive", True)}
    result = json.loads(out)
    assert result["final"] > 0 and result["after"]["batches"] > 0 and result["before"]["step"]


@pytest.mark.parametrize("minutes", ["0.2", pytest.param("1", marks=pytest.mark.long)])
def test_tune_has_a_step_for_each_host_setting(tmp_path, minutes):
    path = tmp_path / "tuned.yaml"
    code, out, errors = finish(start("tune", DATA, "--model", "cifar_net", "--minutes", minutes, "--out", path,
                                     "--json"), timeout=500)
    assert code == 0, errors
    steps = {step["name"]: step for step in json.loads(out)["rungs"]}
    for name in HOST_STEPS:
        step = steps[name]
        if step["status"] in ("kept", "reverted"):  # measured; else the time was not sufficient, or it does not apply
            assert step["samples_per_s"] > 0 and step["low"] <= step["ratio"] <= step["high"], step
            assert not step["reason"], step
        assert step["status"] != "undecided" or "--minutes" in step["reason"] or step["samples_per_s"] > 0, step
    assert "\nhost:\n" in path.read_text()
    trained("--config", path, "--operator-threads", "1")
