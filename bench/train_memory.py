#!/usr/bin/env python3
"""train-memory/eager: peak memory of a training step, ours and eager PyTorch's, each in a process of its own.

Both train ResNet-50 on a resident batch with the settings of train-resnet50-224/eager. The peak is that of the resident
memory (VmHWM) after some steps; `start` is the peak of the same process with a batch of two images of 32 pixels, mostly
libraries, weights and the state of the optimiser. The ratio is that of the peaks: above 1, ours is smaller. Appends a
line to build/bench.jsonl like bench/run.py.
"""

import argparse
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import record  # noqa: E402
from bench.comparisons import RESNET50  # noqa: E402
from bench.peers import compare  # noqa: E402
from bench.peers.child import Child  # noqa: E402

SMALL = {"batch": 2, "image_size": 32}  # batch norm of the last layers requires two


def peak_of(start, seconds):
    """Starts a side, trains for `seconds` and returns its peak of resident memory in megabytes."""
    with start() as child:
        child.rate(seconds)
        for line in Path(f"/proc/{child.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1000
    raise RuntimeError(f"read /proc/{child.process.pid}/status: no VmHWM")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=4, help="starts of each side (default 4; at least 2)")
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of the training per start (default 2)")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    cores = os.sched_getaffinity(0)
    job = RESNET50 | {"cores": len(cores), "precision": "float32"}
    program = options.build / "bench" / "unstarve_peer_bench"

    def ours(more):
        return lambda: Child([program, "train", json.dumps(job | more)], cores, ROOT)

    def peer(more):
        return lambda: Child([sys.executable, "-m", "bench.peers.serve", "eager", json.dumps(job | more),
                              json.dumps({"threads": len(cores)})], cores, ROOT, {"PYTHONDONTWRITEBYTECODE": "1"})

    machine = record.machine(len(cores))
    pairs = max(2, options.pairs)
    ours_mb, peer_mb = ([peak_of(side({}), options.seconds) for _ in range(pairs)] for side in (ours, peer))
    start = [round(peak_of(side(SMALL), 0.2), 1) for side in (ours, peer)]
    ratio, low, high = compare.ratio_interval(peer_mb, ours_mb)
    line = {"name": "train-memory/eager", "status": "measured", "ours": round(max(ours_mb), 1),
            "peer": round(max(peer_mb), 1), "unit": "MB", "ratio": round(ratio, 4), "low": round(low, 4),
            "high": round(high, 4), "pairs": pairs, "seconds": options.seconds, "start": start, "settings": {},
            "job": RESNET50, "data": "none", "command": "bench/train_memory.py", "machine": machine}
    record.append(options.build, line)
    print(f"train-memory/eager  ours {line['ours']} MB  peer {line['peer']} MB  ratio {ratio:.3f} "
          f"[{low:.3f}, {high:.3f}]; with a small batch {start[0]} and {start[1]} MB")


if __name__ == "__main__":
    main()
