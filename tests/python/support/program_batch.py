"""Runs Python programs in processes that have already imported torch; its imports take longer than the programs.

    python program_batch.py FOLDER < JOBS      JOBS: JSON, {name: [program, arguments...]}

The output of every program is FOLDER/NAME.out. Prints the exit codes as JSON, {name: code}. Four programs run at a
time.
"""

import atexit
import json
import multiprocessing
import os
import runpy
import sys
import traceback
from pathlib import Path

import numpy as np  # noqa: F401
import torch  # noqa: F401
import torch._dynamo  # noqa: F401  (by the first optimiser)
from PIL import Image  # noqa: F401

AT_A_TIME = 4


def start(command, output):
    """Process id of a new process that runs a program, as `python PROGRAM` does."""
    child = os.fork()
    if child != 0:
        return child
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    multiprocessing.set_start_method("fork")  # others would import this file as the main module
    sys.argv = command
    sys.path[0] = str(Path(command[0]).parent)
    code = 0
    try:
        runpy.run_path(command[0], run_name="__main__")
    except SystemExit as end:
        print(end)
        code = 1
    except Exception:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code)  # without the clean-up of the interpreter, which takes a second with torch


def main():
    folder, jobs = Path(sys.argv[1]), json.load(sys.stdin)
    running, codes = {}, {}
    todo = list(jobs)
    while todo or running:
        while todo and len(running) < AT_A_TIME:
            name = todo.pop(0)
            running[start(jobs[name], folder / f"{name}.out")] = name
        child, status = os.wait()
        codes[running.pop(child)] = os.waitstatus_to_exitcode(status)
    print(json.dumps(codes))


main()
