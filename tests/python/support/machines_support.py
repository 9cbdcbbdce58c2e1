"""Two machines in one: network, host name and System V memory of their own, connected by a virtual cable.

They share files and process ids with the test. Requires root and Linux namespaces; the test is skipped without them.
"""

import contextlib
import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

import pytest

_NAMESPACES = ("--net", "--uts", "--ipc", "--mount")


@dataclasses.dataclass(frozen=True)
class Machine:
    name: str
    address: str
    pid: int  # of the process that keeps the namespaces

    def command(self, *arguments):
        """The command that runs `arguments` on this machine."""
        return ["nsenter", "--target", str(self.pid), *_NAMESPACES, "--", *map(str, arguments)]

    def run(self, *arguments):
        subprocess.run(self.command(*arguments), check=True, capture_output=True, text=True, timeout=60)


@contextlib.contextmanager
def two_machines(folder: Path):
    """Yields the machines node1 and node2, whose names resolve to their addresses on both."""
    if os.geteuid() != 0 or any(shutil.which(tool) is None for tool in ("ip", "nsenter", "unshare", "mount")):
        pytest.skip("two machines require root, iproute2 and util-linux")
    addresses = {"node1": "10.77.0.1", "node2": "10.77.0.2"}
    hosts = folder / "hosts"
    hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in addresses.items()))
    keepers = []
    try:
        for name in addresses:
            script = (f"hostname {name} && mount --bind {hosts} /etc/hosts && ip link set lo up && echo ready && "
                      "read -r _")
            keepers.append(subprocess.Popen(["unshare", *_NAMESPACES, "sh", "-c", script], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            if keepers[-1].stdout.readline() != "ready\n":
                pytest.skip("no namespaces here: " + keepers[-1].communicate(timeout=10)[1].strip())
        machines = [Machine(name, address, keeper.pid)
                    for (name, address), keeper in zip(addresses.items(), keepers, strict=True)]
        ends = [word for index, machine in enumerate(machines)
                for word in ([] if index == 0 else ["type", "veth", "peer"]) + ["name", "cable", "netns", machine.pid]]
        cable = subprocess.run(["ip", "link", "add", *map(str, ends)], capture_output=True, text=True, timeout=60)
        if cable.returncode != 0:
            pytest.skip("no virtual cable here: " + cable.stderr.strip())
        for machine in machines:
            machine.run("ip", "address", "add", machine.address + "/24", "dev", "cable")
            machine.run("ip", "link", "set", "cable", "up")
        yield machines
    finally:
        for keeper in keepers:
            if keeper.poll() is None:
                keeper.communicate("end\n", timeout=10)
