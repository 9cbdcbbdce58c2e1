#!/usr/bin/env python3
"""What `unstarve watch` costs, and how often it is right.

    watch-cost               steps per second of a program while it is watched (ours) and while it is not (peer)
    watch-cost-memory        peak of the resident memory of `watch` (ours) and its limit of 100 MB (peer)
    slow-cases               programs of examples/slow whose planted cause is found first (ours), of all (peer)
    slow-cases-prediction    of the predicted gains, those within 15 % of the real ones (ours), of all (peer)

The first two are one measurement and write both lines, and so are the last two. The program of the first two is
examples/slow/healthy_torch.py, which uses all cores. Appends lines to build/bench.jsonl like bench/run.py.
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

SLOW = ROOT / "examples" / "slow"
PROGRAM = SLOW / "healthy_torch.py"
BLOCK_SECONDS = 20  # at least, of a block: the first windows of stacks take part in it as in real runs
LIMIT_MB = 100


class Watched:
    """A block in which `watch --pid` watches the program: the CPU time and the peak memory of watching."""

    def __init__(self, unstarve, pid, seconds):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.json"
            process = subprocess.Popen([unstarve, "watch", "--pid", str(pid), "--seconds", str(seconds), "--out", out],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.peak_mb = 0.0
            while process.poll() is None:
                self._look(process.pid)
                time.sleep(0.5)
            if process.returncode != 0:
                raise RuntimeError(process.stderr.read())
            watching = json.loads(out.read_text())["profile"]["watching"]
        self.cpu_share = (watching["cpu_s"] + watching["stacks_cpu_s"]) / watching["seconds"]

    def _look(self, pid):
        try:
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    self.peak_mb = max(self.peak_mb, int(line.split()[1]) / 1000)
        except OSError:
            pass  # it has ended


class Program:
    """The running program, whose steps are counted in blocks."""

    def __init__(self, folder, seconds):
        self._step_ends = Path(folder) / "step_ends"
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), "--seconds", str(seconds), "--step-ends", str(self._step_ends)],
            stdout=subprocess.DEVNULL)
        self.pid = self._process.pid
        while len(self._ends()) < 10:
            if self._process.poll() is not None:
                raise RuntimeError(f"{PROGRAM.name} ended with exit code {self._process.returncode}")
            time.sleep(0.5)

    def _ends(self):
        if not self._step_ends.exists():
            return []
        return [float(line) for line in self._step_ends.read_text().split("\n")[:-1]]

    def rate(self, action):
        """Steps per second while `action` runs."""
        begin = time.monotonic()
        action()
        end = time.monotonic()
        if self._process.poll() is not None:
            raise RuntimeError(f"{PROGRAM.name} ended with exit code {self._process.returncode}")
        ends = [time_ for time_ in self._ends() if begin <= time_ <= end]
        return (len(ends) - 1) / (ends[-1] - ends[0])

    def stop(self):
        self._process.terminate()
        self._process.wait()


def cost(options):
    """Lines of watch-cost and watch-cost-memory.

    Watched and other blocks alternate within a run of the program: runs differ by more than what watching costs.
    """
    seconds = max(options.seconds, BLOCK_SECONDS)
    plain, watched, runs = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        program = Program(folder, (2 * options.pairs + 2) * (seconds + 10))
        try:
            def watch():
                runs.append(Watched(options.build / "unstarve", program.pid, seconds))

            for pair in range(options.pairs):
                for with_watch in (True, False) if pair % 2 == 0 else (False, True):
                    if with_watch:
                        watched.append(program.rate(watch))
                    else:
                        plain.append(program.rate(lambda: time.sleep(seconds)))
        finally:
            program.stop()
    ratio, low, high = compare.ratio_interval(watched, plain)
    cores = len(os.sched_getaffinity(0))
    share = max(run.cpu_share for run in runs) / cores
    peak = max(run.peak_mb for run in runs)
    yield {"name": "watch-cost", "ours": sum(watched) / len(watched), "peer": sum(plain) / len(plain),
           "unit": "steps/s", "ratio": ratio, "low": low, "high": high, "cpu_share": share}
    yield {"name": "watch-cost-memory", "ours": peak, "peer": LIMIT_MB, "unit": "MB", "ratio": LIMIT_MB / peak,
           "low": LIMIT_MB / peak, "high": LIMIT_MB / max(min(run.peak_mb for run in runs), 1)}


def slow_cases(options):
    """Lines of slow-cases and slow-cases-prediction."""
    sys.path.insert(0, str(SLOW))
    import run_all

    if options.results:
        reports = [json.loads(path.read_text()) for path in options.results]
    else:
        run = subprocess.run([sys.executable, SLOW / "run_all.py", "--json", "--pairs", str(options.pairs), "--seconds",
                              str(options.seconds), "--unstarve", options.build / "unstarve"],
                             stdout=subprocess.PIPE, text=True, check=True)
        reports = [json.loads(run.stdout)]
    if len({(report["pairs"], report["seconds"]) for report in reports}) > 1:
        sys.exit("--results: found different --pairs or --seconds; expected files of the same options")
    programs = {}
    for report in reports:  # a program that one Python lacks a package for is that of another file
        for program in report["programs"]:
            if "skipped" not in program or program["name"] not in programs:
                programs[program["name"]] = program
    summary = run_all.summary_of(list(programs.values()))
    for program in programs.values():
        print(json.dumps(program))
    for name, found, cases in (("slow-cases", summary["found_first"], summary["planted"]),
                               ("slow-cases-prediction", summary["within_15_percent"], summary["predicted"])):
        share = found / max(cases, 1)
        yield {"name": name, "ours": found, "peer": cases, "unit": "programs", "ratio": share, "low": share,
               "high": share, "healthy_with_findings": summary["healthy_with_findings"], "skipped": summary["skipped"],
               "pairs": reports[0]["pairs"], "seconds": reports[0]["seconds"], "job": {"programs": sorted(programs)}}


MEASURES = {"watch-cost": cost, "watch-cost-memory": cost, "slow-cases": slow_cases,
            "slow-cases-prediction": slow_cases}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=MEASURES)
    parser.add_argument("--pairs", type=int, default=4, help="blocks of each side (default 4; at least 2)")
    parser.add_argument("--seconds", type=float, default=BLOCK_SECONDS, help=f"of a block (at least {BLOCK_SECONDS})")
    parser.add_argument("--results", type=Path, nargs="+", metavar="FILE",
                        help="of slow-cases: outputs of examples/slow/run_all.py --json on this machine, which are "
                             "recorded instead of running the programs; several files: of several Pythons")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    options.pairs = max(2, options.pairs)
    options.build = options.build.resolve()
    machine = record.machine(len(os.sched_getaffinity(0)))
    for line in MEASURES[options.name](options):
        figures = {key: round(value, 4) for key, value in line.items() if isinstance(value, float)}
        defaults = {"pairs": options.pairs, "seconds": options.seconds, "job": {"program": PROGRAM.name}}
        line = defaults | line | figures | {"status": "measured", "settings": {}, "data": "160 ImageNet photographs",
                                            "machine": machine, "command": f"make bench ONLY='^{line['name']}$'"}
        record.append(options.build, line)
        more = f"; watching takes {100 * line['cpu_share']:.2f} % of the CPU time" if "cpu_share" in line else ""
        print(f"{line['name']:24} ours {line['ours']:,.1f}  peer {line['peer']:,.1f} {line['unit']}  ratio "
              f"{line['ratio']:.3f} [{line['low']:.3f}, {line['high']:.3f}]{more}")


if __name__ == "__main__":
    main()
