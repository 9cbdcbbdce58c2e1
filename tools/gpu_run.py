"""Runs the device tests and measurements of tools/gpu.sh on a machine with a GPU, and writes one JSON file.

    python tools/gpu_run.py --build build-gpu/build --out build-gpu/gpu.json [--data photos/] [--minutes 9]

The result: {"commit", "device", "seconds", "failed", "tests": [...], "measurements": [...]}. A test has `name`, `exit`,
`seconds` and the end of its output; a measurement has `name`, `command`, `seconds` and `result` (the JSON of the
command) or `error`. What did not fit into the time has `skipped`. The exit code is 1 if a test failed.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEST_PROGRAMS = ("device", "ops", "codecs", "models", "torch", "train", "pipeline", "jobs", "diagnose")
PYTHON_TESTS = ("device", "pytorch/test_loader_torch.py", "pytorch/test_from_torch_operations.py",
                "loader/test_memory_limit.py")
TAIL = 4000  # characters of output that a result keeps


class Run:
    """One run of all tests and measurements, until a deadline. Writes the result after each of them.

    Args:
        build: The build folder.
        start: time.monotonic() at which the run, with the build, began.
        deadline: The same clock, at which everything ends.
        out: The file of the result.
        facts: More keys of the result.
    """

    def __init__(self, build: Path, start: float, deadline: float, out: Path, facts: dict) -> None:
        self.start = start
        self.deadline = deadline
        self.out = out
        self.facts = facts
        self.environment = os.environ | {
            "UNSTARVE": str(build / "unstarve"),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(build / "python"), os.environ.get("PYTHONPATH")])),
        }
        self.lock = threading.Lock()
        self.tests: list[dict] = []
        self.measurements: list[dict] = []

    def _call(self, command: list[str], limit: float, environment: Mapping[str, str] = {}) -> dict:
        limit = min(limit, self.deadline - time.monotonic())
        entry = {"command": " ".join(command)}
        if limit < 5:
            return entry | {"skipped": "no time left"}
        start = time.monotonic()
        # Files, so that the output is there at any end; a session, so that all that the command started can be ended.
        with (tempfile.TemporaryFile("w+", errors="replace") as out,
              tempfile.TemporaryFile("w+", errors="replace") as errors):
            done = subprocess.Popen(command, cwd=ROOT, env=self.environment | environment, stdout=out, stderr=errors,
                                    start_new_session=True)
            stopped = {}
            try:
                done.wait(limit)
            except subprocess.TimeoutExpired:
                stopped = {"exit": None, "error": f"stopped after {limit:.0f} s"}
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(done.pid, signal.SIGKILL)
                done.wait()
            texts = []
            for file in (out, errors):
                file.seek(0)
                texts.append(file.read())
        return entry | {"exit": done.returncode, "seconds": round(time.monotonic() - start, 1),
                        "output": "".join(texts)[-TAIL:], "stdout": texts[0]} | stopped

    def test(self, name: str, command: list[str]) -> None:
        """Runs a test; it keeps its output only if it failed, and its summary otherwise."""
        # As ctest: threads that wait for work sleep, because other tests run.
        entry = self._call(command, 240, {"OMP_WAIT_POLICY": "passive"})
        entry.pop("stdout", None)
        if entry.get("exit") == 0:
            entry["output"] = entry["output"].strip()[-300:]
        print(f"gpu: test {name}: {entry.get('skipped') or 'exit ' + str(entry['exit'])}", file=sys.stderr, flush=True)
        self.tests.append({"name": name} | entry)
        self.write()

    def measure(self, name: str, command: list[str], limit: float) -> None:
        """Runs a command that prints one JSON object."""
        print(f"gpu: measure {name}", file=sys.stderr, flush=True)
        entry = self._call(command, limit)
        text = entry.pop("stdout", "")
        if entry.get("exit") == 0:
            try:
                entry["result"] = json.loads(text)
                entry.pop("output")
            except ValueError as error:
                entry["error"] = f"the output is not JSON: {error}"
        elif "exit" in entry:
            entry.setdefault("error", f"exit code {entry['exit']}")
        self.measurements.append({"name": name} | entry)
        self.write()

    def failed(self) -> list[str]:
        return [entry["name"] for entry in self.tests if entry.get("exit") != 0]

    def write(self) -> None:
        with self.lock:
            part = self.out.with_suffix(".part")
            part.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(self.facts | {
                "seconds": round(time.monotonic() - self.start, 1), "failed": self.failed(), "tests": self.tests,
                "measurements": self.measurements}, indent=1) + "\n")
            part.rename(self.out)


def loader_rates(data: str, device: str, seconds: float) -> dict:
    """Images per second of the ways from file to normalised tensors on the device, measured in interleaved rounds."""
    import torch

    import unstarve as un

    ways = {"host operations": {}, "device operations": {"operations": "device"}}
    ways |= {f"nvJPEG {back_end}": {"operations": "device", "decode": back_end}
             for back_end in ("hybrid", "gpu_hybrid", "hardware")}
    loaders, errors = {}, {}
    pipeline = un.open(data).shuffle(seed=0).random_resized_crop(224).flip()
    for way, options in ways.items():
        try:
            batches = pipeline.batch(256, last="keep")
            loader = batches.to_torch(device, normalize=un.IMAGENET, channels_last=True, **options)
            next(iter(loader))  # starts the threads and compiles nothing later
        except Exception as error:  # one way may be unavailable: its message is the result
            errors[way] = f"{type(error).__name__}: {error}"
        else:
            loaders[way] = loader
    rates = {way: [] for way in loaders}
    rounds = 5
    for _ in range(rounds):
        for way, loader in loaders.items():
            images, start = 0, time.perf_counter()
            while time.perf_counter() - start < seconds / rounds / max(len(loaders), 1):
                for batch, _ in loader:
                    images += len(batch)
                if device != "cpu":
                    torch.cuda.synchronize()
            rates[way].append(images / (time.perf_counter() - start))
    base = rates.get("host operations")
    return {
        "images_per_second": {way: sorted(values)[len(values) // 2] for way, values in rates.items()},
        "ratio_to_host_operations": {way: sorted(a / b for a, b in zip(values, base, strict=True))[len(values) // 2]
                                     for way, values in rates.items()} if base else {},
        "rounds": rates,
        "errors": errors,
    }


def copy_rates() -> dict:
    """GB/s of copies from page-locked and from pageable memory to the GPU."""
    import torch

    result = {}
    for kind, pinned in (("page-locked", True), ("pageable", False)):
        host = torch.empty(256 << 20, dtype=torch.uint8, pin_memory=pinned)
        on_device = torch.empty_like(host, device="cuda")
        times = []
        for _ in range(10):
            torch.cuda.synchronize()
            start = time.perf_counter()
            on_device.copy_(host, non_blocking=True)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
        result[kind] = host.numel() / sorted(times)[len(times) // 2] / 1e9
    return result


def commit() -> str:
    """The version of the source; empty without git."""
    try:
        return subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True,
                              text=True).stdout.strip()
    except OSError:
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=ROOT / "build-gpu" / "gpu.json")
    parser.add_argument("--data", help="photographs (default: synthetic ones)")
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--build-seconds", type=float, default=0)
    parser.add_argument("--only", choices=["loader_rates", "copy_rates"], help="print this measurement and end")
    arguments = parser.parse_args()

    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if arguments.only:
        print(json.dumps(copy_rates() if arguments.only == "copy_rates" else loader_rates(arguments.data, device, 60)))
        return 0

    start = time.monotonic() - arguments.build_seconds
    build = arguments.build.resolve()
    facts = {"commit": commit(), "device": device, "build_seconds": arguments.build_seconds}
    run = Run(build, start, start + 60 * arguments.minutes, arguments.out, facts)
    program = str(build / "unstarve")
    itself = [sys.executable, str(Path(__file__)), "--build", str(build)]

    tests = {f"unit/{name}": [str(build / f"unstarve_{name}_test")] for name in TEST_PROGRAMS}
    tests |= {f"python/{name}": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/python/{name}"]
              for name in PYTHON_TESTS}
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
        list(pool.map(lambda item: run.test(*item), tests.items()))

    data = arguments.data
    run.measure("machine", [program, "doctor", "--json"], 30)
    if data is None:
        data = str(build.parent / "photographs")
        if not Path(data).exists():
            run.measure("synthetic photographs", [
                program, "synth", data, "--classes", "20", "--images", "2000", "--size", "500", "--json"], 60)
    if device == "cuda":
        run.measure("copies to the GPU", [*itself, "--only", "copy_rates"], 30)
    model = ["--device", device, "--model", "resnet50", "--batch", "256"]
    run.measure("bottleneck of ResNet-50", [program, "bench", data, *model, "--seconds", "20", "--json"], 60)
    run.measure("ways from file to device", [*itself, "--only", "loader_rates", "--data", data], 100)
    train = [program, "train", data, "--device", device, "--model", "resnet18"]
    run.measure("training of ResNet-18", [*train, "--minutes", "0.5", "--json"], 90)
    run.measure("training of ResNet-18, kernels launched one by one", [
        *train, "--minutes", "0.3", "--graph", "off", "--json"], 90)
    watched = str(build.parent / "watched.json")
    run.measure("training of ResNet-18 under watch", [
        "sh", "-c", 'out=$1; shift; "$0" watch --out "$out" -- "$@" >/dev/null && cat "$out"', program, watched,
        *train, "--minutes", "0.6", "--graph", "off"], 120)
    if device == "cuda":
        run.measure("slow programs on a GPU", [
            sys.executable, str(ROOT / "examples" / "slow" / "run_all.py"), "--only", "^gpu_", "--unstarve", program,
            "--seconds", "6", "--pairs", "1", "--json"], 120)
    run.measure("tuning of ResNet-18", [
        program, "tune", data, "--device", device, "--model", "resnet18", "--minutes", "1.5", "--json"], 150)
    failed = run.failed()
    print(f"gpu: {len(run.tests) - len(failed)} of {len(run.tests)} tests passed in {time.monotonic() - start:.0f} s"
          + (f"; failed: {', '.join(failed)}" if failed else "") + f"; {arguments.out}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
