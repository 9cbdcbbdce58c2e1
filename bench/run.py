#!/usr/bin/env python3
"""Interleaved comparisons of unstarve with its peers; `make bench ONLY=imagenet-train` runs those whose name matches.

Each comparison starts both sides as child processes, runs them alternately in short blocks, and appends one JSON line
to build/bench.jsonl: name, ours, peer (medians over blocks), unit, ratio (above 1: ours is faster) with its 95 %
interval low .. high, command, pairs, machine, settings, data, status, at (UTC). A peer that cannot run here gets a line
with status "unavailable" and the reason. tools/benchmarks_table.py updates docs/benchmarks.md from these lines.
"""

import argparse
import functools
import importlib
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import autotune, data, record, setup  # noqa: E402
from bench.comparisons import COMPARISONS  # noqa: E402
from bench.peers import compare, search  # noqa: E402
from bench.peers.child import Child, ChildGroup, Failed  # noqa: E402


# Comparisons with their own servers, search or processes: scripts that accept --pairs, --seconds and --build.
STANDALONE = {"remote-50ms/link": [ROOT / "bench" / "remote_link.py"],
              "memory/torch": [ROOT / "bench" / "memory.py"],
              "train-memory/eager": [ROOT / "bench" / "train_memory.py"],
              "channel-prune-50": [ROOT / "bench" / "channel_prune.py"],
              "cifar94-gpu/published": [ROOT / "bench" / "cifar94.py"],
              "ranks-2": [ROOT / "bench" / "ranks.py"]} | {
    name: [ROOT / "bench" / "watch.py", name]
    for name in ("watch-cost", "watch-cost-memory", "slow-cases", "slow-cases-prediction")} | {
    f"autotune/{name}": [ROOT / "bench" / "autotune.py", name] for name in autotune.PIPELINES}


def say(text):
    print(text, file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="comparisons whose name matches; all by default")
    parser.add_argument("--pairs", type=int, default=8, help="pairs of blocks (default 8; at least 2)")
    parser.add_argument("--seconds", type=float, default=4.0, help="minimum length of a block (default 4)")
    parser.add_argument("--starts", type=int, default=2,
                        help="start both sides this many times, in alternating order, and divide the pairs among the "
                             "starts (default 2): the side started second had 0.97 of the rate of the same program "
                             "started first on CIFAR-10, where memory placement decides")
    parser.add_argument("--cores", type=int, default=0, help="CPU cores for each side (default: all usable)")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--against", type=Path, metavar="BUILD",
                        help="compare with the same side of another build of ours instead of with the peer: "
                             "BUILD/bench/unstarve_peer_bench. For changes that must not cost speed.")
    parser.add_argument("--retune", action="store_true", help="measure the peers' settings again")
    parser.add_argument("--no-install", action="store_true", help="do not install missing environments")
    parser.add_argument("--check", action="store_true",
                        help="instead of timing, print statistics of each side's batches and write a sheet of crops")
    parser.add_argument("--list", action="store_true", help="print the names of the comparisons and exit")
    options = parser.parse_args()
    if options.pairs < 2 or options.seconds <= 0:
        parser.error("--pairs must be at least 2 and --seconds positive")
    if not 1 <= options.starts <= options.pairs:
        parser.error("--starts must be at least 1 and at most --pairs")
    return options



def bfloat16_is_native():
    flags = Path("/proc/cpuinfo").read_text()
    return "avx512_bf16" in flags or "amx_bf16" in flags


class Bench:
    def __init__(self, options):
        self.options = options
        usable = sorted(os.sched_getaffinity(0))
        self.cores = set(usable[: options.cores] if options.cores else usable)
        self.settings_file = options.build / "bench-settings.json"
        self.folders = {"": (None, "none")}

    def folder(self, kind):
        if kind not in self.folders:
            say(f"preparing {kind}")
            make = {"photographs": data.photographs, "photographs-linked": data.photographs_linked,
                    "cifar": data.cifar, "cifar-folder": data.cifar_folder,
                    "tfrecord": data.tfrecord, "webdataset": data.webdataset, "webdataset-small": data.webdataset_small,
                    "parquet": data.parquet, "parquet-flat": data.parquet_flat, "raw-256": data.raw_256}[kind]
            (self.options.build / "bench-data").mkdir(parents=True, exist_ok=True)
            self.folders[kind] = make(self.options.build / "bench-data", self.options.build / "unstarve")
        return self.folders[kind]

    def job(self, comparison):
        job = comparison.job | {"cores": len(self.cores)}
        folder, _ = self.folder(comparison.data)
        if folder is not None:
            job["data"] = str(folder)
        if job["job"] == "train" and "device" not in job:
            job["precision"] = "bfloat16" if bfloat16_is_native() else "float32"
        if "network" in job:
            say(f"preparing {job['network']}")
            job["models"] = str(data.infer_models(self.options.build / "bench-data", self.program(), job))
        return job

    def program(self, build=None):
        program = (build or self.options.build) / "bench" / "unstarve_peer_bench"
        if not program.exists():
            raise SystemExit(f"bench: {program} is missing; build it with: "
                             f"cmake --build {build or self.options.build} --target unstarve_peer_bench")
        return program

    def ours(self, mode, job, cores=None, build=None):
        return Child([self.program(build), mode, json.dumps(job)], cores or self.cores, ROOT)

    def process_per_core(self, mode, job):
        return ChildGroup([functools.partial(self.ours, mode, job | {"cores": 1}, {core})
                         for core in sorted(self.cores)])

    def python(self, module, job, settings):
        peer = importlib.import_module("bench.peers." + module)
        if peer.ENVIRONMENT == "":
            python = Path(sys.executable)
        else:
            python = setup.interpreter(peer.ENVIRONMENT, self.options.build / "peers", not self.options.no_install, say)
        return Child([python, "-m", "bench.peers.serve", module, json.dumps(job), json.dumps(settings)], self.cores,
                     ROOT, {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(self.options.build.resolve() / "python")})

    def choose(self, module, job):
        """Returns the fastest of the peer's candidate settings, measured once and stored in bench-settings.json."""
        candidates = importlib.import_module("bench.peers." + module).candidates(job)
        key = f"{module} {json.dumps(job, sort_keys=True)}"
        known = json.loads(self.settings_file.read_text()) if self.settings_file.exists() else {}
        if key in known and known[key]["candidates"] == candidates and not self.options.retune:
            return known[key]["chosen"]
        block = min(self.options.seconds, 2)
        start = functools.partial(self.python, module, job)
        tried, _ = search.measure(start, candidates if len(candidates) > 1 else [], block, 3,
                                  lambda text: say(f"  {module} {text}"))
        chosen = tried[0][1] if tried else candidates[0]
        if len(tried) > 1:
            chosen = search.faster(start, tried, block)
        known[key] = {"candidates": candidates, "chosen": chosen,
                      "tried": [{"settings": settings, "rate": round(rate, 1)} for rate, settings in tried]}
        part = self.settings_file.with_suffix(".part")
        part.write_text(json.dumps(known, indent=1) + "\n")
        part.rename(self.settings_file)
        return chosen

    def sides(self, comparison):
        """Returns (start ours, start peer, settings of the peer)."""
        job = self.job(comparison)
        kind, what = comparison.peer
        peer_job = job | dict(comparison.peer_options)
        if isinstance(comparison.ours, str):
            start_ours = functools.partial(self.ours, comparison.ours, job)
            if self.options.against:
                return start_ours, functools.partial(start_ours, build=self.options.against), {}
        else:
            _, module, *settings = comparison.ours
            start_ours = functools.partial(self.python, module, job,
                                           settings[0] if settings else self.choose(module, job))
        if kind == "ours":
            return start_ours, lambda: self.ours(what, peer_job), {}
        if kind == "ours-per-core":
            return start_ours, lambda: self.process_per_core(what, peer_job), {}
        settings = self.choose(what, peer_job)
        return start_ours, lambda: self.python(what, peer_job, settings), settings

    def measure(self, start_ours, start_peer):
        """Returns the rates of both sides, one per pair, over several starts in alternating order.

        Next to them, the CPU seconds per sample of both sides, one per pair; empty for a side of several processes.
        """
        rates, cpu = ([], []), ([], [])
        starts = self.options.starts
        for start in range(starts):
            pairs = self.options.pairs * (start + 1) // starts - self.options.pairs * start // starts
            first, second = (start_peer, start_ours) if start % 2 == 0 else (start_ours, start_peer)
            with first() as one, second() as other:
                ours, peer = (other, one) if start % 2 == 0 else (one, other)
                done = len(rates[0])
                more = compare.interleave(
                    (ours, peer), pairs, self.options.seconds,
                    lambda pair, done=done: say(f"  pair {done + pair + 1} of {self.options.pairs}")
                    if sys.stderr.isatty() else None)
            for which, child in enumerate((ours, peer)):
                rates[which].extend(more[which])
                cpu[which].extend(getattr(child, "cpu_per_sample", [])[-pairs:])
        return rates, cpu

    def run(self, comparison):
        line = {"name": comparison.name, "status": "measured", "ours": None, "peer": None, "unit": comparison.unit,
                "ratio": None, "low": None, "high": None,
                "against": str(self.options.against or ""),
                "command": "make bench ONLY=" + shlex.quote(f"^{re.escape(comparison.name)}$".replace("\\-", "-")),
                "pairs": 0, "seconds": self.options.seconds, "job": comparison.job,
                "machine": record.machine(len(self.cores))}
        try:
            start_ours, start_peer, line["settings"] = self.sides(comparison)
            line["data"] = self.folder(comparison.data)[1]
            (ours_rates, peer_rates), cpu = self.measure(start_ours, start_peer)
        except (setup.Unavailable, Failed) as failure:
            return line | {"status": "unavailable", "reason": str(failure)}
        ratio, low, high = compare.ratio_interval(ours_rates, peer_rates)
        line |= {"ours": round(statistics.median(ours_rates), 2), "peer": round(statistics.median(peer_rates), 2),
                 "ratio": round(ratio, 4), "low": round(low, 4), "high": round(high, 4), "pairs": len(ours_rates)}
        if comparison.name == "loader-overhead":
            line["overhead"] = round(1 - ratio, 4)  # 1 - bare time / pipeline time
        if comparison.name.startswith("operation/"):  # per image
            line |= {side + "_us": round(1e6 / line[side], 2) for side in ("ours", "peer")}
        if comparison.name == "python-iteration":  # additional time per batch compared with C++
            batch = comparison.job["batch"]
            line["microseconds_per_batch"] = round(1e6 * (batch / line["ours"] - batch / line["peer"]), 2)
        if comparison.name.startswith("checkpoint-cost"):
            line |= cpu_fields(*cpu, comparison.job["batch"])
        if comparison.name == "scheduling":
            line["per_core"] = round(line["ours"] / len(self.cores))
        return line

    def check(self, comparison):
        sheets = self.options.build / "bench-sheets"
        sheets.mkdir(parents=True, exist_ok=True)
        for side, start in zip(("ours", "peer"), self.sides(comparison)[:2], strict=True):
            with start() as child:
                sheet = sheets / f"{comparison.name.replace('/', '-')}-{side}.ppm"
                print(comparison.name, side, json.dumps(child.check(str(sheet))), flush=True)


def cpu_fields(ours, peer, batch):
    """CPU time of all threads per step, in ms, and its ratio: 1.01 if ours takes 1 % more.

    ours, peer: CPU seconds per sample, one per pair.
    """
    ratio, low, high = compare.ratio_interval(ours, peer)
    return {"ours_cpu_ms": round(1e3 * batch * statistics.median(ours), 3),
            "peer_cpu_ms": round(1e3 * batch * statistics.median(peer), 3),
            "cpu_ratio": round(ratio, 4), "cpu_low": round(low, 4), "cpu_high": round(high, 4)}


def report(line):
    if line["status"] != "measured":
        return f"{line['name']:<28} unavailable: {line['reason']}"
    if "ours_us" in line:
        return (f"{line['name']:<36} ours {line['ours_us']:>9,.1f}  peer {line['peer_us']:>9,.1f} us/image"
                f"  ratio {line['ratio']:.2f} [{line['low']:.2f}, {line['high']:.2f}]")
    digits = 1 if line["peer"] >= 100 else 2
    cpu = "" if "cpu_ratio" not in line else (
        f"; CPU time per step {line['ours_cpu_ms']:.1f} and {line['peer_cpu_ms']:.1f} ms, ratio "
        f"{line['cpu_ratio']:.4f} [{line['cpu_low']:.4f}, {line['cpu_high']:.4f}]")
    return (f"{line['name']:<28} ours {line['ours']:>12,.{digits}f}  peer {line['peer']:>12,.{digits}f} {line['unit']}"
            f"  ratio {line['ratio']:.3f} [{line['low']:.3f}, {line['high']:.3f}]{cpu}")


def main():
    options = arguments()
    try:
        chosen = [comparison for comparison in COMPARISONS if re.search(options.only, comparison.name)]
        alone = [name for name in STANDALONE if re.search(options.only, name)]
    except re.error as error:
        say(f"bench: ONLY={options.only!r} is not a regular expression: {error}")
        return 2
    if options.list or not (chosen or alone):
        if not (chosen or alone):
            say(f"bench: no comparison matches {options.only!r}; available:")
        print("\n".join([comparison.name for comparison in COMPARISONS] + list(STANDALONE)))
        return 0 if options.list else 2
    bench = Bench(options)
    for comparison in chosen:
        say(f"{comparison.name} ...")
        if options.check:
            try:
                bench.check(comparison)
            except (setup.Unavailable, Failed) as failure:
                print(comparison.name, "unavailable:", failure, flush=True)
            continue
        line = bench.run(comparison)
        if not options.against:  # the tables of docs/benchmarks.md hold comparisons with peers
            record.append(options.build, line)
        print(report(line), flush=True)
    for name in alone if not options.check else []:
        say(f"{name} ...")
        code = subprocess.run([sys.executable, *STANDALONE[name], "--pairs", str(options.pairs), "--seconds",
                               str(min(options.seconds, 2.6)), "--build", options.build], check=False).returncode
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
