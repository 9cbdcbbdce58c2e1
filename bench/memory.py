#!/usr/bin/env python3
"""memory/torch: resident memory of our loader and of torch's DataLoader with the same number of workers.

Both sides run the job imagenet-train from Python; ours has as many threads as the peer has worker processes. Memory is
measured as PSS, summed over all processes of a side: private memory plus the proportional share of shared pages. Mapped
data files and the Python interpreters (with torch for the peer) are included. The peaks of the blocks are compared.
Appends a line to build/bench.jsonl like bench/run.py.
"""

import argparse
import json
import os
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import data, record, setup  # noqa: E402
from bench.comparisons import IMAGENET  # noqa: E402
from bench.peers import compare  # noqa: E402
from bench.peers.child import Child  # noqa: E402

SAMPLED_EVERY_S = 0.1


def processes(group):
    """Yields the process ids of a session."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue  # the process has exited
            if int(fields[3]) == group:
                yield int(entry.name)


def pss(group):
    """Returns the PSS of the processes of a session in megabytes."""
    total = 0
    for process in processes(group):
        try:
            for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        except OSError:
            continue
    return total / 1000


class Side:
    def __init__(self, python, module, job, settings, cores, environment):
        self.child = Child([python, "-m", "bench.peers.serve", module, json.dumps(job), json.dumps(settings)], cores,
                           ROOT,
                           {"PYTHONDONTWRITEBYTECODE": "1"} | environment)

    def rate(self, seconds):
        """Runs a block and returns its peak memory in megabytes."""
        peak, done = [0.0], threading.Event()

        def watch():
            while not done.wait(SAMPLED_EVERY_S):
                peak[0] = max(peak[0], pss(self.child.process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            self.child.rate(seconds)
        finally:
            done.set()
            watcher.join()
        return max(peak[0], pss(self.child.process.pid))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=8, help="our threads and torch's worker processes (default 8)")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    folder = options.build / "bench-data"
    folder.mkdir(parents=True, exist_ok=True)
    photographs, what = data.photographs(folder, options.build / "unstarve")
    job = IMAGENET | {"cores": options.workers, "data": str(photographs)}
    settings = {"workers": options.workers, "prefetch": 2, "normalise": "sample"}
    cores = os.sched_getaffinity(0)
    machine = record.machine(len(cores))
    try:
        torch = setup.interpreter("torchvision", options.build / "peers", True,
                                  lambda text: print(text, file=sys.stderr, flush=True))
    except setup.Unavailable as failure:
        line = {"name": "memory/torch", "status": "unavailable", "reason": str(failure)}
    else:
        ours = Side(Path(sys.executable), "unstarve_loader", job, {}, cores,
                    {"PYTHONPATH": str(options.build / "python")})
        with ours.child:
            peer = Side(torch, "torchvision", job, settings, cores, {})
            with peer.child:
                ours_mb, peer_mb = compare.interleave((ours, peer), options.pairs, options.seconds)
        ratio, low, high = compare.ratio_interval(peer_mb, ours_mb)
        line = {"name": "memory/torch", "status": "measured", "ours": round(max(ours_mb), 1),
                "peer": round(max(peer_mb), 1), "unit": "MB of PSS", "ratio": round(ratio, 4), "low": round(low, 4),
                "high": round(high, 4), "pairs": options.pairs, "seconds": options.seconds, "settings": settings,
                "job": IMAGENET,
                "data": what, "command": f"bench/memory.py --workers {options.workers}",
                "machine": machine}
    record.append(options.build, line)
    if line["status"] == "measured":
        print(f"{line['name']}  ours {line['ours']} MB  peer {line['peer']} MB of PSS, {options.workers} workers each"
              f"  ratio {ratio:.3f} [{low:.3f}, {high:.3f}]")
    else:
        print(f"{line['name']} unavailable: {line['reason']}")


if __name__ == "__main__":
    main()
