#!/usr/bin/env python3
"""Prepares a dataset once, then kills the same call at a dozen random moments, and compares the final results.

    prepare_killed.py NAME [OPTIONS of unstarve prepare]   run in a folder of prepare_archives.py make; writes NAME
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time

ATTEMPTS = 12
# Further attempts if few runs were killed, because the machine is fast or its speed varies.
ENOUGH, MOST_ATTEMPTS = 4, 60


def seconds_of(call: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(call, check=True, capture_output=True)
    return time.monotonic() - started


def same(left: str, right: str) -> bool:
    return subprocess.run(["diff", "-r", left, right]).returncode == 0


def main(name: str, options: list[str]) -> int:
    call = [os.environ["UNSTARVE"], "prepare", "imagenet", "--catalogue", "catalogue.json"]
    call += ["--from", "published/imagenet", *options, "--out"]
    took = min(seconds_of([*call, folder]) for folder in (name, f"again-{name}", f"third-{name}"))
    moments = random.Random(1)
    out, killed = f"killed-{name}", 0
    for attempt in range(MOST_ATTEMPTS):
        if attempt >= ATTEMPTS and killed >= ENOUGH:
            break
        run = subprocess.Popen([*call, out], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            _, error = run.communicate(timeout=took * moments.uniform(0.05, 0.9))
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            killed += 1
        else:
            # The run ended before the timeout: start again from nothing.
            if run.returncode != 0 or not same(name, out):
                print(f"a complete run failed: exit code {run.returncode}, {error}")
                return 1
            shutil.rmtree(out)
            continue
        if not options and os.path.isdir(out) and not same(name, out):
            print("a partial dataset has the final name")
            return 1
    subprocess.run([*call, out], check=True, capture_output=True)
    if not same(name, out) or os.path.exists(out + ".partial"):
        print("the final results differ")
        return 1
    if killed == 0:
        print("no run was killed: nothing was tested")
        return 1
    print("killed, started again, the same")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
