"""Training by several processes on two machines, started by mpirun, torchrun and srun."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from machines_support import two_machines
from slurm_support import slurm
from train_support import finish, trained

DATA = "synthetic:classes=4,images=192,size=32,seed=2"
TRAINING = ["train", DATA, "--val", DATA, "--model", "cifar_net", "--learning-rate", "0.002", "--precision", "float32",
            "--seed", "3", "--label-smoothing", "0", "--operator-threads", "1", "--threads", "1", "--epochs", "2"]


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    with two_machines(tmp_path_factory.mktemp("machines")) as machines:
        yield machines


@pytest.fixture(scope="module")
def expected():
    return trained(*TRAINING[1:], "--batch", 48)


def start(command, environment=None):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **(environment or {}), "OMP_NUM_THREADS": "1"})


def check(process, expected, ranks=2):
    code, out, errors = finish(process)
    assert code == 0, errors
    result = json.loads(out)
    assert result["ranks"]["world"] == ranks
    assert result["steps"] == expected["steps"]
    assert result["loss_first"] == pytest.approx(expected["loss_first"], rel=1e-5)
    assert result["val_loss"] == pytest.approx(expected["val_loss"], rel=5e-2)


def training_of(ranks):
    return [*TRAINING, "--batch", str(48 // ranks), "--sync-batch-norm", "true", "--json"]


def require_mpi():
    if shutil.which("mpirun") is None or not (Path(os.environ["UNSTARVE"]).parent / "libunstarve_mpi.so").exists():
        pytest.skip("mpirun and libunstarve_mpi.so are required")


def test_mpirun_on_two_machines(machines, expected, tmp_path):
    require_mpi()
    agent = tmp_path / "agent"  # replaces ssh: agent HOST COMMAND...
    cases = "".join(f'{m.name}) exec {" ".join(m.command("sh", "-c"))} "$*" ;;\n' for m in machines)
    agent.write_text(f'#!/bin/sh\nhost=$1\nshift\ncase "$host" in\n{cases}esac\nexit 1\n')
    agent.chmod(0o755)
    check(start(machines[0].command(
        "mpirun", "--allow-run-as-root", "-n", 2, "--host", ",".join(m.name + ":1" for m in machines), "--mca",
        "plm_rsh_agent", agent, os.environ["UNSTARVE"], *training_of(2))), expected)


def test_torchrun_on_two_machines(machines, expected):
    processes = [start(machine.command(
        sys.executable, "-m", "torch.distributed.run", "--nnodes", 2, "--node-rank", index, "--nproc-per-node", 1,
        "--master-addr", machines[0].address, "--master-port", 29500, "-m", "unstarve", *training_of(2)))
        for index, machine in enumerate(machines)]
    check(processes[0], expected)
    code, out, errors = finish(processes[1])
    assert (code, out) == (0, ""), errors


@pytest.mark.parametrize(("nodes", "ranks"), [
    pytest.param(1, 2, marks=pytest.mark.long), pytest.param(2, 2, marks=pytest.mark.long), (2, 4)])
def test_srun_starts_the_ranks(machines, expected, tmp_path, nodes, ranks):
    require_mpi()
    with slurm(machines, tmp_path) as environment:
        check(start(machines[0].command(
            "srun", "--mpi=pmix", "--overcommit", f"--nodes={nodes}", f"--ntasks={ranks}", os.environ["UNSTARVE"],
            *training_of(ranks)), environment), expected, ranks)


def test_srun_without_mpi_names_the_option(machines, tmp_path):
    require_mpi()
    with slurm(machines, tmp_path) as environment:
        code, out, errors = finish(start(machines[0].command("srun", "--mpi=none", "--ntasks=2", os.environ["UNSTARVE"],
                                                             *training_of(2)), environment))
    assert code != 0
    assert "srun --mpi=pmix" in json.loads(out)["error"]["message"]  # of one of the two processes
    assert errors.count("srun --mpi=pmix") == 1
