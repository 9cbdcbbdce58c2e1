#!/usr/bin/env python3
"""channel-prune-50: ResNet-50 without half of its multiply-adds, removed by channels, compared with the dense network.

OpenVINO computes both in float32, images of 224 pixels, one at a time, in one process in alternating blocks. The
weights are random; the choice of channels depends on them. Appends a line to
build/bench.jsonl like bench/run.py; the ratio is that of the rates, above 1: the pruned network is faster.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import record  # noqa: E402
from bench.peers import compare  # noqa: E402

SHARE = 0.5
SIZE = 224


def models(folder, program):
    """The files of the dense and of the pruned network, made if they are missing, and the result of the pruning."""
    folder.mkdir(parents=True, exist_ok=True)
    weights, dense, pruned = (folder / name for name in ("resnet50.safetensors", "dense.onnx", "pruned.onnx"))

    def unstarve(*arguments):
        return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout

    if not weights.exists():
        unstarve("train", f"synthetic:classes=1000,images=2,size={SIZE}", "--model", "resnet50", "--batch", "2",
                 "--epochs", "1", "--evaluate-every", "0", "--out", weights)
    unstarve("export", weights, "--image-size", SIZE, "--out", dense)
    return dense, pruned, json.loads(unstarve("export", weights, "--image-size", SIZE, "--prune-channels", SHARE,
                                              "--out", pruned, "--json"))["pruning"]


def side(path, cores):
    """A function that runs the model for some seconds and returns images per second."""
    import numpy
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    model.reshape([1, 3, SIZE, SIZE])
    request = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": cores, "NUM_STREAMS": 1,
                                                "INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    image = numpy.random.default_rng(0).standard_normal((1, 3, SIZE, SIZE), numpy.float32)

    def rate(seconds):
        start, images = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            request.infer([image])
            images += 1
        return images / (time.perf_counter() - start)
    return rate


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=8, help="pairs of blocks (default 8; at least 2)")
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of a block (default 2)")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    machine = record.machine(cores)
    dense, pruned, result = models(options.build / "bench-data" / "channel-prune", options.build / "unstarve")
    sides = [side(pruned, cores), side(dense, cores)]
    for warm_up in sides:
        warm_up(options.seconds / 2)
    rates = ([], [])
    for pair in range(max(2, options.pairs)):
        for i in (0, 1) if pair % 2 else (1, 0):
            rates[i].append(sides[i](options.seconds))
    ratio, low, high = compare.ratio_interval(*rates)
    ours, peer = (round(statistics.median(of), 2) for of in rates)
    record.append(options.build, {
        "name": "channel-prune-50", "status": "measured", "ours": ours, "peer": peer, "unit": "images/s",
        "ratio": round(ratio, 4), "low": round(low, 4), "high": round(high, 4), "pairs": len(rates[0]),
        "seconds": options.seconds, "settings": {"multiply_adds": result["multiply_adds_after"]},
        "job": {"network": "resnet50", "share": SHARE}, "data": "none", "command": "bench/channel_prune.py",
        "machine": machine})
    share = result["multiply_adds_after"] / result["multiply_adds"]
    print(f"channel-prune-50  pruned {ours} images/s  dense {peer} images/s  ratio {ratio:.3f} "
          f"[{low:.3f}, {high:.3f}]; {share:.1%} of the multiply-adds")


if __name__ == "__main__":
    main()
