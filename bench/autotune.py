#!/usr/bin/env python3
"""autotune/<pipeline>: the autotuned loader compared with the best hand-set configuration of an exhaustive search.

The search measures every configuration of the pipeline's grid (threads x prefetch x reads in flight) once and the five
fastest again. The peer is the fastest of these five, or the one with the least CPU time if several are within 1 %. Our
side sets none of the three, and runs for at most ten seconds from a cold start. Then both sides are interleaved as in
every other comparison. The line appended to build/bench.jsonl also contains the CPU time per sample of both sides, the
grid with its rates, and the decisions of the autotuner with time and reason. With `consumer_ms` the consumer limits the
rate; compare the CPU time then.
"""

import argparse
import contextlib
import itertools
import json
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "python" / "remote")]

from bench import data, record  # noqa: E402
from bench.peers import compare  # noqa: E402
from bench.peers.child import Child  # noqa: E402

CORES = len(os.sched_getaffinity(0))
# Thread counts for pipelines that compute (about one per core) and for pipelines that sleep (up to 64).
COMPUTES = sorted({1, max(1, CORES // 2), CORES, CORES + 1, 2 * CORES})
SLEEPS = [1, 2, 4, 8, 16, 32, 64]
COLD_START_SECONDS = 9.0
PHOTOGRAPHS = [{"random_resized_crop": {"size": 224}}, {"horizontal_flip": {}}]
SMALL = [{"pad_crop": {"size": 32}}, {"horizontal_flip": {}}]
# Expensive: many operations, some of them twice.
MANY = [{"resize": {"size": 256}}, {"center_crop": {"size": 240}}, {"horizontal_flip": {}},
        {"random_resized_crop": {"size": 192}}, {"pad_crop": {"size": 192, "padding": 8}}, {"resize": {"size": 224}},
        {"horizontal_flip": {}}]


@dataclass(frozen=True)
class Pipeline:
    data: str  # a path, or "@" and a dataset of bench/data.py
    operations: list
    batch: int
    threads: list
    prefetch: tuple = (1, 2, 4, 8)
    read_ahead: tuple = (0,)
    consumer_ms: float = 0
    filter: dict = field(default_factory=dict)  # source filter
    remote: bool = False


PIPELINES = {
    "cheap": Pipeline("@cifar", SMALL, 512, COMPUTES),
    "decode-bound": Pipeline("@photographs", PHOTOGRAPHS, 64, COMPUTES),
    "operation-heavy": Pipeline("@photographs", MANY, 64, COMPUTES),
    # The filter accepts one photograph in six.
    "filter-heavy": Pipeline("@photographs", PHOTOGRAPHS, 64, COMPUTES, filter={"min_side": 64, "max_aspect": 1.3}),
    "io-bound": Pipeline("sleep:us=2000,images=100000,size=64", [{"random_resized_crop": {"size": 64}}], 64, SLEEPS),
    "remote": Pipeline("@webdataset", PHOTOGRAPHS, 64, COMPUTES, (2, 8), (0, 4, 16, 64), remote=True),
    "straggling": Pipeline("sleep:us=1000,straggle_every=100,straggle_ms=100,images=100000,size=32", SMALL, 64, SLEEPS,
                           (2, 8, 32)),
    "sleeping": Pipeline("sleep:ms=20,images=100000,size=32", SMALL, 32, SLEEPS, (2, 8, 32)),
    "slow-consumer": Pipeline("@photographs", PHOTOGRAPHS, 64, COMPUTES, consumer_ms=200),
}
REMOTE_BYTES_PER_SECOND, REMOTE_ROUND_TRIP_S = 50e6, 0.02


@contextlib.contextmanager
def source(pipeline, build):
    """The path of the pipeline's data; a URL over a shaped link for remote data."""
    if not pipeline.data.startswith("@"):
        yield pipeline.data
        return
    root = build / "bench-data"
    root.mkdir(parents=True, exist_ok=True)
    make = {"cifar": data.cifar, "photographs": data.photographs, "webdataset": data.webdataset}[pipeline.data[1:]]
    folder, _ = make(root, build / "unstarve")
    if not pipeline.remote:
        yield str(folder)
        return
    from fault_proxy import ShapedLink  # noqa: PLC0415
    from servers import Nginx  # noqa: PLC0415

    shard = next(path for path in sorted(Path(folder).rglob("*.tar")))
    with tempfile.TemporaryDirectory() as www, Nginx(www) as nginx:
        (nginx.www / "data.tar").write_bytes(shard.read_bytes())
        with ShapedLink(nginx.port, REMOTE_BYTES_PER_SECOND, REMOTE_ROUND_TRIP_S) as link:
            yield link.url + "/data.tar"


class Measured:
    """A child that runs a pipeline; sums the CPU time of its blocks."""

    def __init__(self, child):
        self.child = child
        self.samples, self.cpu_seconds = 0, 0.0

    def rate(self, seconds):
        answer = self.child._ask(["run", seconds])
        self.samples += answer["samples"]
        self.cpu_seconds += answer["cpu_seconds"]
        return answer["samples"] / answer["seconds"]

    def cpu_per_sample(self):
        return self.cpu_seconds / max(self.samples, 1)


def start(build, pipeline, path, execution, warm_seconds):
    source = {"path": path, "split": "train" if pipeline.data == "@cifar" else ""}
    if pipeline.filter:
        source["filter"] = pipeline.filter
    spec = {"source": source,
            "operations": pipeline.operations, "batch": {"size": pipeline.batch}, "output": {"type": "uint8"},
            "execution": execution}
    job = {"pipeline": json.dumps(spec), "consumer_ms": pipeline.consumer_ms, "warm_seconds": warm_seconds}
    return Child([build / "bench" / "unstarve_peer_bench", "pipeline", json.dumps(job)],
                 set(sorted(os.sched_getaffinity(0))), ROOT)


def search(build, pipeline, path, seconds):
    """Returns the best configuration, and all configurations with their rates and CPU seconds per sample."""
    def measure(execution, blocks):
        with start(build, pipeline, path, execution, min(0.5, seconds)) as child:
            side = Measured(child)
            rate = statistics.median([side.rate(seconds) for _ in range(blocks)])
            return {"execution": execution, "rate": round(rate, 1), "cpu_s": side.cpu_per_sample()}

    tried = []
    for threads, prefetch, reads in itertools.product(pipeline.threads, pipeline.prefetch, pipeline.read_ahead):
        tried.append(measure({"threads": threads, "prefetch": prefetch, "read_ahead": reads}, 1))
    fastest = sorted(tried, key=lambda one: -one["rate"])[:5]
    again = [measure(one["execution"], 3) for one in fastest]
    fastest_rate = max(one["rate"] for one in again)
    best = min((one for one in again if one["rate"] >= 0.99 * fastest_rate), key=lambda one: one["cpu_s"])
    return best["execution"], tried


def run(name, options):
    pipeline = PIPELINES[name]
    machine = record.machine(CORES)
    with source(pipeline, options.build) as path:
        best, tried = search(options.build, pipeline, path, options.grid_seconds)
        warm = COLD_START_SECONDS if options.seconds >= 2 else 3.0
        with start(options.build, pipeline, path, best, 0.5) as theirs, \
                start(options.build, pipeline, path, {}, warm) as own:
            ours, peer = Measured(own), Measured(theirs)
            rates = compare.interleave((ours, peer), options.pairs, options.seconds)
            decided = own.check()
    ratio, low, high = compare.ratio_interval(*rates)
    return {"name": f"autotune/{name}", "status": "measured", "ours": round(statistics.median(rates[0]), 2),
            "peer": round(statistics.median(rates[1]), 2), "unit": "images/s", "ratio": round(ratio, 4),
            "low": round(low, 4), "high": round(high, 4), "pairs": options.pairs, "seconds": options.seconds,
            "ours_cpu_us": round(ours.cpu_per_sample() * 1e6, 3), "peer_cpu_us": round(peer.cpu_per_sample() * 1e6, 3),
            "settings": best, "decided": decided, "grid": tried, "warm_seconds": warm,
            "job": {"data": pipeline.data, "filter": pipeline.filter, "operations": pipeline.operations,
                    "batch": pipeline.batch,
                    "consumer_ms": pipeline.consumer_ms},
            "command": f"make bench ONLY='^autotune/{name}$'",
            "machine": machine}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline", choices=PIPELINES)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2.0, help="minimum length of a block")
    parser.add_argument("--grid-seconds", type=float, default=1.0, help="length of the block of each configuration")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    line = run(options.pipeline, options)
    record.append(options.build, line)
    print(f"{line['name']:<28} ours {line['ours']:>12,.1f}  best grid point {line['peer']:>12,.1f} images/s"
          f"  ratio {line['ratio']:.3f} [{line['low']:.3f}, {line['high']:.3f}]"
          f"  CPU {line['ours_cpu_us']:.1f} us, {line['peer_cpu_us']:.1f} us per image"
          f"  (ours {line['decided']['threads']} threads, prefetch {line['decided']['prefetch']}; "
          f"best {line['settings']})")


if __name__ == "__main__":
    main()
