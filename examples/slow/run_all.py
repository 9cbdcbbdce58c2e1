"""Runs slow training programs under `unstarve watch` and compares its findings with the planted causes.

    python examples/slow/run_all.py [--only REGEX] [--unstarve PATH] [--seconds S] [--pairs N] [--json]

Every program has one planted cause and a variant without it. Both run in turn, the order changes from pair to pair:
slow, fixed, fixed, slow. For each program this script reports

    rank        of the planted cause in the findings of the first slow run; null: not found
    predicted   throughput after the change, relative to now, as predicted by `watch`; null: not predicted
    at_most     an upper bound instead of a prediction; null: none
    gain        the real one: samples per second of the fixed variant divided by those of the slow one
    error       (predicted - gain) / gain
    interval    of the prediction

Findings about the machine (other programs, a quota) are listed separately and have no rank. Healthy programs must have
no other findings. A program is skipped if a package or a compiler is missing. Exit code: 0 if all programs ran.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common

HERE = Path(__file__).resolve().parent
MACHINE_RULES = ("other-programs", "cpu-quota", "few-steps")  # true of this machine or run, not of the program


@dataclass(frozen=True)
class Case:
    """A program.

    Attributes:
        name: NAME.py, or cpp/NAME.cpp for cpp_NAME.
        accepted: rules that name the planted cause; empty for a healthy program.
        package: module that the program imports.
        server: reads photographs from photo_server.py, which runs outside of the watched program.
        gpu: requires a GPU.
        other_change: the predicted gain is that of another change than the fix, so that they are not compared.
    """

    name: str
    accepted: tuple[str, ...]
    package: str = "torch"
    server: bool = False
    gpu: bool = False
    other_change: bool = False

    @property
    def source(self) -> Path | None:
        """The C++ source."""
        return HERE / "cpp" / f"{self.name.removeprefix('cpp_')}.cpp" if self.name.startswith("cpp_") else None


CASES = (
    Case("few_workers", ("few-workers",)),
    Case("no_workers", ("few-workers", "serial-input")),
    Case("many_workers", ("many-workers",)),
    Case("large_images", ("large-images",)),
    Case("slow_storage", ("slow-reads", "storage-wait"), server=True),
    Case("lock", ("lock",)),
    Case("one_thread", ("single-producer",)),
    Case("logging_each_step", ("logging-stall",)),
    Case("checkpoint_stall", ("checkpoint-stall",)),
    Case("retained_graph", ("growing-memory",)),
    Case("operator_threads", ("operator-threads",)),
    Case("spinning_threads", ("spinning-threads",)),
    Case("straggler_worker", ("uneven-workers",)),
    Case("straggler_rank", ("straggler-rank",)),
    Case("tiny_batches", ("small-steps",), other_change=True),
    Case("augment_in_python", ("python-bound",)),
    Case("collection_each_step", ("python-bound",)),
    Case("tensorflow_serial_map", ("serial-input",), package="tensorflow"),
    Case("jax_recompilation", ("recompilation",), package="jax"),
    Case("cpp_small_reads", ("storage-wait", "slow-reads"), package=""),
    Case("cpp_small_files", ("small-files",), package=""),
    Case("cpp_lock", ("lock",), package=""),
    Case("gpu_item", ("hidden-syncs",), gpu=True),
    Case("gpu_pageable", ("pageable-copies",), gpu=True),
    # Without the shapes of operators, which only a trace of the PyTorch profiler has, the type is not known.
    Case("gpu_float32_copies", ("float32-copies", "copies-not-overlapped"), gpu=True),
    Case("healthy_torch", ()),
    Case("healthy_numpy", (), package="numpy"),
    Case("cpp_healthy", (), package=""),
)


class ProgramError(Exception):
    """A program failed."""


def samples_per_second(output: str) -> float:
    """Of the line that a program prints at its end."""
    result = json.loads(output.splitlines()[-1])
    return float(result["samples"]) / float(result["seconds"])


def interval_of(ratios: list[float]) -> dict[str, float]:
    """Geometric mean of the pairs, the lowest and the highest."""
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return {"mean": round(mean, 2), "low": round(min(ratios), 2), "high": round(max(ratios), 2)}


def missing(case: Case) -> str | None:
    """What the program needs and this machine lacks."""
    if case.source is not None:
        return None if shutil.which("g++") else "g++"
    if not importlib.util.find_spec(case.package):
        return case.package
    return "GPU" if case.gpu and not has_gpu() else None


def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def build(source: Path, folder: Path) -> Path:
    program = folder / "bin" / source.stem
    if not program.exists() or program.stat().st_mtime < max(path.stat().st_mtime for path in source.parent.iterdir()):
        program.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["g++", "-O2", "-std=c++20", "-pthread", source, "-ljpeg", "-o", program],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ProgramError(f"compile {source}: {done.stderr.strip()}")
    return program


@contextlib.contextmanager
def photo_server(folder: Path) -> Iterator[str]:
    """The URL of a running server."""
    server = subprocess.Popen([sys.executable, HERE / "photo_server.py", folder], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()


@dataclass(frozen=True)
class Watched:
    """A run of a program under `watch`."""

    rate: float  # samples per second
    own: list[dict[str, Any]]  # findings about the program
    machine: list[dict[str, Any]]  # findings of MACHINE_RULES


def rules_of(findings: list[dict[str, Any]]) -> list[str]:
    return [finding["rule"] for finding in findings]


@dataclass(frozen=True)
class Runner:
    """How programs are run."""

    unstarve: Path
    seconds: float
    pairs: int
    folder: Path  # of the photographs

    def watched(self, command: list[str]) -> Watched:
        with tempfile.TemporaryDirectory() as temporary:
            out = Path(temporary) / "watch.json"
            done = subprocess.run([self.unstarve, "watch", "--out", out, "--", *command], capture_output=True,
                                  text=True, check=False)
            if done.returncode != 0:
                raise ProgramError(f"run {' '.join(command)}: exit code {done.returncode}; {done.stderr.strip()}")
            findings = json.loads(out.read_text(encoding="utf-8"))["findings"]
        return Watched(samples_per_second(done.stdout),
                       [finding for finding in findings if finding["rule"] not in MACHINE_RULES],
                       [finding for finding in findings if finding["rule"] in MACHINE_RULES])

    def measure(self, case: Case, command: list[str]) -> dict[bool, list[Watched]]:
        """The runs of the slow variant (False) and of the fixed one (True)."""
        runs: dict[bool, list[Watched]] = {False: [], True: []}
        for pair in range(self.pairs):
            for fixed in (False, True) if pair % 2 == 0 else (True, False):
                runs[fixed].append(self.watched(command + ["--fixed"] * fixed))
        return runs

    def run(self, case: Case) -> dict[str, Any]:
        """The result of a program, as it is printed with --json."""
        result: dict[str, Any] = {"name": case.name, "accepted": list(case.accepted)}
        if lacking := missing(case):
            return {**result, "skipped": f"no {lacking}"}
        program = [sys.executable, str(HERE / f"{case.name}.py")]
        if case.source is not None:
            program = [str(build(case.source, self.folder))]
        command = [*program, "--seconds", str(self.seconds), "--data", str(self.folder)]
        with photo_server(self.folder) if case.server else contextlib.nullcontext() as url:
            command += ["--server", url] if url else []
            runs = self.measure(case, command) if case.accepted else {False: [self.watched(command)]}
        first = runs[False][0]
        rank = next((i for i, finding in enumerate(first.own, 1) if finding["rule"] in case.accepted), None)
        found = first.own[rank - 1] if rank else {"gain": None, "gain_interval": None}
        interval = found["gain_interval"]
        predicted, at_most = (found["gain"], None) if interval else (None, found["gain"])
        result |= {
            "rank": rank,
            "predicted": predicted,
            "at_most": at_most,
            "interval": interval,
            "findings": rules_of(first.own),
            "machine": rules_of(first.machine),
            "slow_samples_per_s": [round(run.rate, 1) for run in runs[False]],
        }
        if case.accepted:
            gain = interval_of([fixed.rate / slow.rate for slow, fixed in zip(runs[False], runs[True], strict=True)])
            result |= {
                "fixed_samples_per_s": [round(run.rate, 1) for run in runs[True]],
                "fixed_findings": rules_of(runs[True][0].own),
                "gain": gain,
            }
            compared = predicted is not None and not case.other_change
            result |= {
                "error": round(predicted / gain["mean"] - 1, 2) if compared else None,
                "within": interval[0] <= gain["mean"] <= interval[1] if compared else None,
            }
        return result


def summary_of(results: list[dict[str, Any]]) -> dict[str, int]:
    ran = [result for result in results if "skipped" not in result]
    planted = [result for result in ran if result["accepted"]]
    healthy = [result for result in ran if not result["accepted"]]
    return {
        "planted": len(planted),
        "found_first": sum(result["rank"] == 1 for result in planted),
        "found": sum(result["rank"] is not None for result in planted),
        "predicted": sum(result["error"] is not None for result in planted),
        "within_15_percent": sum(result["error"] is not None and abs(result["error"]) <= 0.15 for result in planted),
        "within_interval": sum(bool(result["within"]) for result in planted),
        "healthy": len(healthy),
        "healthy_with_findings": sum(bool(result["findings"]) for result in healthy),
        "skipped": len(results) - len(ran),
    }


def row_of(result: dict[str, Any]) -> str:
    name, expected = result["name"], ", ".join(result["accepted"]) or "nothing"
    if "skipped" in result:
        return f"{name:22} {expected:26} skipped: {result['skipped']}"
    rank = (result["rank"] or "-") if result["accepted"] else "ok" if not result["findings"] else "false"
    predicted = "-"
    if result["predicted"]:
        predicted = f"{result['predicted']:.2f}"
    elif result["at_most"]:
        predicted = f"<= {result['at_most']:.2f}"
    gain, error = "-", "-"
    if "gain" in result:
        gain = "{mean:.2f} ({low:.2f}..{high:.2f})".format(**result["gain"])
        error = "-" if result["error"] is None else f"{100 * result['error']:+.0f} %"
    found = ", ".join(result["findings"] + [f"[{rule}]" for rule in result["machine"]]) or "nothing"
    return f"{name:22} {expected:26} {rank!s:>5} {predicted:>9} {gain:>20} {error:>7}  {found}"


def table_of(results: list[dict[str, Any]]) -> str:
    summary = summary_of(results)
    lines = [f"{'program':22} {'cause':26} {'rank':>5} {'predicted':>9} {'gain':>20} {'error':>7}  findings",
             *map(row_of, results), "",
             "{found_first} of {planted} planted causes found first, {found} found at all; of {predicted} predictions, "
             "{within_15_percent} are within 15 %, {within_interval} gains are within the predicted interval; "
             "{healthy_with_findings} of {healthy} healthy programs have findings; {skipped} skipped".format(**summary)]
    return "\n".join(lines)


def regex(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a regular expression: {error}") from error


def default_unstarve() -> Path:
    return Path(os.environ.get("UNSTARVE", HERE.parents[1] / "build" / "unstarve"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=regex, default=re.compile(""), metavar="REGEX", help="names of programs")
    parser.add_argument("--unstarve", type=Path, default=default_unstarve(), metavar="PATH",
                        help="the program; default: %(default)s")
    parser.add_argument("--seconds", type=float, default=12, help="of training, for each run; default: 12")
    parser.add_argument("--pairs", type=int, default=2, metavar="N", help="slow and fixed runs; default: 2 of each")
    parser.add_argument("--data", type=Path, default=common.DEFAULT_FOLDER, metavar="FOLDER",
                        help="prepared photographs; created if missing; default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print results as JSON")
    given = parser.parse_args()
    if given.pairs < 1:
        parser.error("--pairs must be at least 1")
    if shutil.which(given.unstarve) is None:
        parser.error(f"run {given.unstarve}: no such program. Build it (make build) or set --unstarve.")
    chosen = [case for case in CASES if given.only.search(case.name)]
    if not chosen:
        names = ", ".join(case.name for case in CASES)
        parser.error(f"--only {given.only.pattern}: no such program; expected part of {names}")

    common.prepare(given.data)
    runner = Runner(given.unstarve.resolve(), given.seconds, given.pairs, given.data)
    results, failed = [], False
    for case in chosen:
        print(f"{case.name} ...", file=sys.stderr, flush=True)
        try:
            results.append(runner.run(case))
        except ProgramError as error:
            print(f"run_all: {error}", file=sys.stderr)
            failed = True
    report = {"pairs": given.pairs, "seconds": given.seconds, "programs": results, "summary": summary_of(results)}
    print(json.dumps(report, indent=2) if given.json else table_of(results))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
