"""Runs the device tests and measurements of tools/gpu.sh on a machine with a GPU, and writes one JSON file.

    python tools/gpu_run.py --build build-gpu/build --out build-gpu/gpu.json [--data photos/] [--minutes 10]

The result: {"commit", "device", "seconds", "failed", "tests": [...], "measurements": [...]}. A test has `name`, `exit`,
`seconds` and the end of its output; a measurement has `name`, `command`, `seconds` and `result` (the JSON of the
command) or `error`. What did not fit into the time has `skipped`. The exit code is 1 if a test failed.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEST_PROGRAMS = ("device", "ops", "codecs", "models", "torch", "train", "pipeline", "jobs", "diagnose")
PYTHON_TESTS = ("device", "pytorch/test_loader_torch.py", "pytorch/test_from_torch_operations.py",
                "loader/test_memory_limit.py")
TAIL = 4000  # characters of output that a result keeps


class Run:
    """One run of all tests and measurements, until a deadline.

    Args:
        build: The build folder.
        deadline: time.monotonic() at which everything ends.
    """

    def __init__(self, build: Path, deadline: float) -> None:
        self.build = build
        self.deadline = deadline
        self.environment = os.environ | {
            "UNSTARVE": str(build / "unstarve"),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(build / "python"), os.environ.get("PYTHONPATH")])),
        }

    def _call(self, command: list[str], limit: float) -> dict:
        limit = min(limit, self.deadline - time.monotonic())
        entry = {"command": " ".join(command)}
        if limit < 5:
            return entry | {"skipped": "no time left"}
        start = time.monotonic()
        try:
            done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True,
                                  timeout=limit)
        except subprocess.TimeoutExpired as error:
            output = error.stdout or b""
            return entry | {"exit": None, "seconds": round(limit, 1), "error": f"stopped after {limit:.0f} s",
                            "output": output.decode(errors="replace")[-TAIL:]}
        return entry | {"exit": done.returncode, "seconds": round(time.monotonic() - start, 1),
                        "output": (done.stdout + done.stderr)[-TAIL:], "stdout": done.stdout}

    def test(self, name: str, command: list[str]) -> dict:
        """Runs a test; it keeps its output only if it failed, and its summary otherwise."""
        entry = self._call(command, 240)
        entry.pop("stdout", None)
        if entry.get("exit") == 0:
            entry["output"] = entry["output"].strip()[-300:]
        print(f"gpu: test {name}: {entry.get('skipped') or 'exit ' + str(entry['exit'])}", file=sys.stderr, flush=True)
        return {"name": name} | entry

    def measure(self, name: str, command: list[str], limit: float) -> dict:
        """Runs a command that prints one JSON object."""
        print(f"gpu: measure {name}", file=sys.stderr, flush=True)
        entry = self._call(command, limit)
        text = entry.pop("stdout", "")
        if entry.get("exit") == 0:
            entry["result"] = json.loads(text)
            entry.pop("output")
        elif "exit" in entry:
            entry.setdefault("error", f"exit code {entry['exit']}")
        return {"name": name} | entry


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--data", help="photographs (default: synthetic ones)")
    parser.add_argument("--minutes", type=float, default=10)
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
    run = Run(build, start + 60 * arguments.minutes)
    program = str(build / "unstarve")
    itself = [sys.executable, str(Path(__file__)), "--build", str(build)]
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)

    tests = {f"unit/{name}": [str(build / f"unstarve_{name}_test")] for name in TEST_PROGRAMS}
    tests |= {f"python/{name}": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/python/{name}"]
              for name in PYTHON_TESTS}
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
        tested = list(pool.map(lambda item: run.test(*item), tests.items()))

    data = arguments.data
    measured = [run.measure("machine", [program, "doctor", "--json"], 30)]
    if data is None:
        data = str(build.parent / "photographs")
        if not Path(data).exists():
            measured.append(run.measure("synthetic photographs", [
                program, "synth", data, "--classes", "20", "--images", "2000", "--size", "500", "--json"], 60))
    if device == "cuda":
        measured.append(run.measure("copies to the GPU", [*itself, "--only", "copy_rates"], 30))
    measured += [
        run.measure("ways from file to device", [*itself, "--only", "loader_rates", "--data", data], 100),
        run.measure("bottleneck of ResNet-50", [
            program, "bench", data, "--device", device, "--model", "resnet50", "--seconds", "30", "--json"], 90),
        run.measure("training of ResNet-18", [
            program, "train", data, "--device", device, "--model", "resnet18", "--minutes", "0.5", "--json"], 90),
        run.measure("training of ResNet-18, kernels launched one by one", [
            program, "train", data, "--device", device, "--model", "resnet18", "--minutes", "0.3", "--graph", "off",
            "--json"], 90),
        run.measure("tuning of ResNet-18", [
            program, "tune", data, "--device", device, "--model", "resnet18", "--minutes", "1.5", "--json"], 150),
    ]
    # Utilisation by NVML and kernels by CUPTI of a program that watch starts; neither has run on a GPU before.
    watched = str(build.parent / "watched.json")
    train = [program, "train", data, "--device", device, "--model", "resnet18", "--minutes", "0.6", "--graph",
             "off"]
    measured.append(run.measure("training of ResNet-18 under watch", [
        "sh", "-c", 'out=$1; shift; "$0" watch --out "$out" -- "$@" >/dev/null && cat "$out"', program, watched,
        *train], 120))
    failed = [entry["name"] for entry in tested if entry.get("exit") != 0]
    result = {"commit": commit.stdout.strip(), "device": device, "build_seconds": arguments.build_seconds,
              "seconds": round(time.monotonic() - start, 1), "failed": failed, "tests": tested,
              "measurements": measured}
    text = json.dumps(result, indent=1)
    if arguments.out:
        arguments.out.write_text(text + "\n")
    else:
        print(text)
    print(f"gpu: {len(tested) - len(failed)} of {len(tested)} tests passed in {result['seconds']:.0f} s"
          + (f"; failed: {', '.join(failed)}" if failed else "") + (f"; {arguments.out}" if arguments.out else ""),
          file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
