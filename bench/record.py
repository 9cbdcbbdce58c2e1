"""The lines of build/bench.jsonl, one JSON object per measurement, as all scripts of bench/ append them.

tools/benchmarks_table.py reads `name`, `status`, `reason`, `ours`, `peer`, `unit`, `ratio`, `low`, `high`, `pairs`,
`machine.processor`, `machine.cores`, `command` and `at`.
"""

import json
import os
import platform
import time
from pathlib import Path


def machine(cores):
    """CPU model, number of cores used, kernel and load; call it before the measurement."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return {"processor": model, "cores": cores, "kernel": platform.release(),
            "load_before": round(os.getloadavg()[0], 2)}


def append(build, line):
    """Appends `line` to bench.jsonl in the folder `build`, with the current time (UTC) as `at`."""
    line["at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    Path(build).mkdir(exist_ok=True)
    with open(Path(build) / "bench.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
