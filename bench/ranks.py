#!/usr/bin/env python3
"""ranks-2: scaling efficiency of data-parallel training, two ranks of mpirun with a core each.

Ours is the rate of the two ranks; the peer is twice the rate of one process on one core, so the ratio is the
efficiency. `separate` compares with two processes that train at the same time without exchange: the rest is what the
cores take from each other. Rates are those between the first and the last point of a run. Appends a line to
build/bench.jsonl like bench/run.py.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import record  # noqa: E402
from bench.peers import compare  # noqa: E402

RUN = ["train", "synthetic:classes=10,images=4096,size=32,seed=1", "--model", "cifar_resnet18", "--batch", "32",
       "--precision", "float32", "--threads", "1", "--operator-threads", "1", "--json"]


def rate_of(result):
    first, last = result["points"][0], result["points"][-1]
    ranks = result["ranks"]["world"] if result["ranks"] else 1
    return (last["step"] - first["step"]) * result["batch"] * ranks / (last["seconds"] - first["seconds"])


class Side:
    """Starts the commands at the same time; its rate is the sum of theirs, times `factor`."""

    def __init__(self, commands, factor=1):
        self.commands, self.factor, self.results = commands, factor, []

    def rate(self, seconds):
        running = [subprocess.Popen([*map(str, command), "--minutes", str(seconds / 60)], stdout=subprocess.PIPE,
                                    text=True) for command in self.commands]
        outputs = [process.communicate()[0] for process in running]
        if any(process.returncode for process in running):
            sys.exit("bench/ranks.py: a run failed")
        self.results = [json.loads(output) for output in outputs]
        return self.factor * sum(map(rate_of, self.results))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    seconds = max(options.seconds, 6.0)  # starting takes two
    cores = sorted(os.sched_getaffinity(0))[:2]
    program = options.build / "unstarve"
    name = {"name": "ranks-2"}
    if len(cores) < 2 or not (options.build / "libunstarve_mpi.so").exists():
        line = name | {"status": "unavailable", "reason": "two cores and a build with libopenmpi-dev are required"}
        record.append(options.build, line)
        print(f"ranks-2 unavailable: {line['reason']}")
        return
    single = [["taskset", "-c", core, program, *RUN] for core in cores]
    ranks = Side([["mpirun", "--allow-run-as-root", "--bind-to", "core", "-n", 2, program, *RUN]])
    machine = record.machine(2)
    ours, peer = compare.interleave((ranks, Side(single[:1], 2)), options.pairs, seconds)
    ratio, low, high = compare.ratio_interval(ours, peer)
    exchange = ranks.results[0]["ranks"]
    together, separate = compare.interleave((ranks, Side(single)), options.pairs, seconds)
    line = name | {"status": "measured", "ours": round(max(ours), 1), "peer": round(max(peer), 1), "unit": "images/s",
                   "ratio": round(ratio, 4), "low": round(low, 4), "high": round(high, 4), "pairs": options.pairs,
                   "seconds": seconds, "separate": [round(x, 4) for x in compare.ratio_interval(together, separate)],
                   "exchange": exchange, "job": RUN, "data": "synthetic", "command": "bench/ranks.py",
                   "machine": machine}
    record.append(options.build, line)
    print(f"ranks-2  efficiency {ratio:.3f} [{low:.3f}, {high:.3f}], against separate processes "
          "{:.3f} [{:.3f}, {:.3f}]".format(*line["separate"]) +
          f", {exchange['hidden']:.0%} of {exchange['exchange_ms']:.1f} ms of exchange hidden")


if __name__ == "__main__":
    main()
