"""A real Slurm over machines of machines_support.py: munged, slurmctld, and slurmd of each machine."""

import contextlib
import os
import pwd
import secrets
import shutil
import subprocess
import time

import pytest

_PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")


def _configuration(machines, folder):
    own = folder / "own"  # another folder on each machine, under the same name
    user = pwd.getpwuid(os.geteuid()).pw_name
    nodes = "\n".join(f"NodeName={machine.name} NodeAddr={machine.address} CPUs={os.cpu_count()} State=UNKNOWN"
                      for machine in machines)
    return f"""ClusterName=test
SlurmctldHost={machines[0].name}({machines[0].address})
AuthInfo=socket={folder}/munge.socket
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={own}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={own}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={own}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@contextlib.contextmanager
def slurm(machines, folder):
    """Yields the environment of `srun`, which must run on machines[0]."""
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} are required: apt-get install slurm-wlm munge")
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    (folder / "state").mkdir()
    (folder / "own").mkdir()
    for machine in machines:
        (folder / machine.name / "spool").mkdir(parents=True)
        machine.run("mount", "--bind", folder / machine.name, folder / "own")
    (folder / "slurm.conf").write_text(_configuration(machines, folder))
    (folder / "mpi.conf").write_text(f"PMIxCliTmpDirBase={folder}/own\n")
    servers = []

    def serve(machine, *command):
        log = (folder / f"{command[0]}-{machine.name}.out").open("w")
        with log:
            servers.append(subprocess.Popen(machine.command(*command), stdout=log, stderr=log))

    try:
        serve(machines[0], "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket",
              f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed")
        serve(machines[0], "slurmctld", "-D", "-f", folder / "slurm.conf")
        for machine in machines:
            serve(machine, "slurmd", "-D", "-f", folder / "slurm.conf")
        environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        until = time.monotonic() + 60
        while True:
            info = subprocess.run(machines[0].command("sinfo", "--noheader", "--states=idle", "--format=%D"),
                                  capture_output=True, text=True, env=environment, timeout=60)
            if info.stdout.split() == [str(len(machines))]:
                break
            logs = "".join(path.read_text() for path in folder.rglob("*.out"))
            assert time.monotonic() < until and all(server.poll() is None for server in servers), info.stderr + logs
            time.sleep(0.2)
        yield environment
    finally:
        for server in reversed(servers):
            server.terminate()
        for server in servers:
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
