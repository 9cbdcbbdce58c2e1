#!/usr/bin/env python3
"""Prepares a data set once, then kills the same call at a dozen moments, and compares what is made in the end.

    prepare_killed.py NAME [OPTIONS of unstarve prepare]      in a folder of prepare_archives.py make; NAME: what to make
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

ATTEMPTS = 12


def same(left: str, right: str) -> bool:
    return subprocess.run(["diff", "-r", left, right]).returncode == 0


def main(name: str, options: list[str]) -> int:
    call = [os.environ["UNSTARVE"], "prepare", "imagenet", "--catalogue", "catalogue.json"]
    call += ["--from", "published/imagenet", *options, "--out"]
    started = time.monotonic()
    subprocess.run([*call, name], check=True, capture_output=True)
    took = time.monotonic() - started
    moments = random.Random(1)
    out, killed = f"killed-{name}", 0
    for _ in range(ATTEMPTS):
        run = subprocess.Popen([*call, out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            run.wait(timeout=took * moments.uniform(0.05, 0.9))
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
            killed += 1
        if not options and os.path.isdir(out) and not same(name, out):
            print("half a data set has the final name")
            return 1
    subprocess.run([*call, out], check=True, capture_output=True)
    if not same(name, out) or os.path.exists(out + ".partial"):
        print("it is not the same")
        return 1
    if killed == 0:
        print("no run was killed: nothing was tested")
        return 1
    print("killed, started again, the same")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
