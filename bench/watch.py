#!/usr/bin/env python3
"""What `unstarve watch` costs, and how often it is right.

    watch-cost               samples per second of a program that is watched (ours) and that is not (peer), in turn
    watch-cost-memory        peak of the resident memory of `watch` (ours) and its limit of 100 MB (peer)
    slow-cases               programs of examples/slow whose planted cause is found first (ours), of all (peer)
    slow-cases-prediction    of the predicted gains, those within 15 % of the real ones (ours), of all (peer)

The program of the first two is examples/slow/healthy_torch.py, which uses all cores. Appends a line to
build/bench.jsonl like bench/run.py.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import record  # noqa: E402
from bench.peers import compare  # noqa: E402

PROGRAM = ROOT / "examples" / "slow" / "healthy_torch.py"
LEAST_SECONDS = 20  # of a run: the first windows of stacks take part in it as in real runs
LIMIT_MB = 100
WITHIN = 0.15


def rate_in(output):
    result = json.loads(output.splitlines()[-1])
    return result["samples"] / result["seconds"]


class Watched:
    """A run under `watch`: its rate, the CPU time and the peak memory of watching."""

    def __init__(self, unstarve, command):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.json"
            process = subprocess.Popen([unstarve, "watch", "--out", out, "--", *command], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
            self.peak_mb = 0.0
            while process.poll() is None:
                self._look(process.pid)
                time.sleep(0.1)
            self.rate = rate_in(process.stdout.read())
            watching = json.loads(out.read_text())["profile"]["watching"]
        self.cpu_share = (watching["cpu_s"] + watching["stacks_cpu_s"]) / watching["seconds"]

    def _look(self, pid):
        try:
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    self.peak_mb = max(self.peak_mb, int(line.split()[1]) / 1000)
        except OSError:
            pass  # it has ended


def cost(options):
    """Lines of watch-cost and watch-cost-memory."""
    command = [sys.executable, str(PROGRAM), "--seconds", str(max(options.seconds, LEAST_SECONDS))]
    plain, watched = [], []
    for pair in range(options.pairs):
        for with_watch in (True, False) if pair % 2 == 0 else (False, True):
            if with_watch:
                watched.append(Watched(options.build / "unstarve", command))
            else:
                plain.append(rate_in(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    rates = [run.rate for run in watched]
    ratio, low, high = compare.ratio_interval(rates, plain)
    cores = len(os.sched_getaffinity(0))
    share = max(run.cpu_share for run in watched) / cores
    peak = max(run.peak_mb for run in watched)
    yield {"name": "watch-cost", "ours": sum(rates) / len(rates), "peer": sum(plain) / len(plain),
           "unit": "images/s", "ratio": ratio, "low": low, "high": high, "cpu_share": share}
    yield {"name": "watch-cost-memory", "ours": peak, "peer": LIMIT_MB, "unit": "MB", "ratio": LIMIT_MB / peak,
           "low": LIMIT_MB / peak, "high": LIMIT_MB / max(min(run.peak_mb for run in watched), 1)}


def slow_cases(options):
    """Lines of slow-cases and slow-cases-prediction."""
    run = subprocess.run([sys.executable, ROOT / "examples" / "slow" / "run_all.py", "--json", "--pairs",
                          str(options.pairs), "--unstarve", options.build / "unstarve"],
                         stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(run.stdout)
    summary = result["summary"]
    for program in result["programs"]:
        print(json.dumps(program))
    errors = [one["error"] for one in result["programs"] if one.get("error") is not None]
    within = sum(abs(error) <= WITHIN for error in errors)
    for name, found, all_cases in (("slow-cases", summary["found_first"], summary["planted"]),
                                   ("slow-cases-prediction", within, len(errors))):
        share = found / max(all_cases, 1)
        yield {"name": name, "ours": found, "peer": all_cases, "unit": "programs", "ratio": share, "low": share,
               "high": share, "healthy_with_findings": summary["healthy_with_findings"], "skipped": summary["skipped"]}


MEASURES = {"watch-cost": cost, "watch-cost-memory": cost, "slow-cases": slow_cases,
            "slow-cases-prediction": slow_cases}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=MEASURES)
    parser.add_argument("--pairs", type=int, default=4, help="runs of each side (default 4; at least 2)")
    parser.add_argument("--seconds", type=float, default=LEAST_SECONDS, help=f"of a run (at least {LEAST_SECONDS})")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    options.pairs = max(2, options.pairs)
    options.build = options.build.resolve()
    machine = record.machine(len(os.sched_getaffinity(0)))
    for line in MEASURES[options.name](options):
        figures = {key: round(value, 4) for key, value in line.items() if isinstance(value, float)}
        line |= figures | {"status": "measured", "pairs": options.pairs, "seconds": options.seconds, "settings": {},
                           "job": {"program": PROGRAM.name}, "data": "160 ImageNet photographs", "machine": machine,
                           "command": f"make bench ONLY='^{line['name']}$'"}
        record.append(options.build, line)
        more = f"; watching takes {100 * line['cpu_share']:.2f} % of the CPU time" if "cpu_share" in line else ""
        print(f"{line['name']:24} ours {line['ours']:,.1f}  peer {line['peer']:,.1f} {line['unit']}  ratio "
              f"{line['ratio']:.3f} [{line['low']:.3f}, {line['high']:.3f}]{more}")


if __name__ == "__main__":
    main()
