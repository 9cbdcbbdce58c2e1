"""Packs on a Ray cluster what `unstarve pack` packs on one machine.

    python -m unstarve.ray pack SRC DST --format webdataset --parts 8

Every part is one task that runs `unstarve pack SRC DST ... --part i/n`; the options of `unstarve pack` are passed on as
they are. Parts are disjoint, and shards and manifest are equal bit by bit to those of one machine. SRC and DST must be
reachable under the same path from every node (a shared file system), and the program must be installed there: it is
looked for in $UNSTARVE, then on PATH.

The cluster is the one that $RAY_ADDRESS or --address names; without either, a local one is started. A task takes
--cpus processors (1), and the program in it uses as many threads. A part that fails is tried --retries times more (1):
it goes on where it was left. One that fails for good is told at once, and the others go on, as those of a job array
do: the next run makes only what is missing. Exit codes are those of `unstarve pack`.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["PartError", "main", "pack"]

_log = logging.getLogger("unstarve.ray")
_MOST_REASONS = 8  # an error tells so many of them


class PartError(RuntimeError):
    """Parts that failed for good, a line each. `code` is the program's exit code for the first of them."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def _program() -> str:
    """The path of the program `unstarve` on this machine."""
    program = os.environ.get("UNSTARVE") or shutil.which("unstarve")
    if not program:
        raise FileNotFoundError("the program unstarve is not on PATH; set $UNSTARVE to it on every node")
    return program


def _run_part(arguments: Sequence[str], part: int, parts: int, threads: int) -> dict[str, Any]:
    """One part, on whatever node it is started. Returns {"part", "code", "result" or "error", "node"}."""
    node = os.uname().nodename
    try:
        command = [_program(), "pack", *arguments, "--part", f"{part}/{parts}", "--threads", str(threads), "--json"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        return {"part": part, "code": 4, "error": str(error), "node": node}
    if done.returncode != 0:
        reason = done.stderr.strip() or f"ended with {done.returncode} and no message"
        return {"part": part, "code": done.returncode, "error": reason.removeprefix("unstarve: "), "node": node}
    return {"part": part, "code": 0, "result": json.loads(done.stdout), "node": node}


def pack(source: str, folder: str, arguments: Sequence[str] = (), *, parts: int, cpus: int = 1, retries: int = 1,
         address: str | None = None) -> dict[str, Any]:
    """Packs `source` into `folder` by `parts` tasks.

    `arguments` are options of `unstarve pack`, for example ["--format", "webdataset"]. Uses the Ray that is connected,
    else connects to `address` (None: $RAY_ADDRESS, or a local cluster), and then disconnects at the end. A task has
    `cpus` cores; a part that fails is tried `retries` times more.

    Returns what `unstarve pack --json` tells of the whole: its "shards", "records", "bytes", "complete", ... Raises
    ImportError without Ray, ValueError for fewer than one part, PartError, after all others have ended, when parts
    fail for good: each is logged as a warning when it does.
    """
    if parts < 1:
        raise ValueError(f"{parts} parts, expected at least 1")
    import ray  # the package ray, not this module: imports are absolute

    passed = [source, folder, *arguments]
    connect = not ray.is_initialized()
    if connect:
        # Nodes import nothing of this package: what they run is shipped with the task.
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
    try:
        # cloudpickle ships functions of __main__ by value; those of an installed module would need it on every node.
        ray.cloudpickle.register_pickle_by_value(sys.modules[_run_part.__module__])
        task = ray.remote(num_cpus=cpus, max_retries=3)(_run_part)
        waiting = {task.remote(passed, part, parts, cpus): (part, retries) for part in range(1, parts + 1)}
        results, failures = [], []
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            part, tries = waiting.pop(done)
            try:
                told = ray.get(done)
            except ray.exceptions.RayError as error:  # a worker or its node died more often than Ray tries
                told = {"code": 1, "error": str(error).strip(), "node": "a node that is lost"}
            if told["code"] == 0:
                results.append(told["result"])
                if sys.stderr.isatty():
                    print(f"{len(results)} of {parts} parts", file=sys.stderr)
            elif tries > 0 and told["code"] != 2:  # wrong usage stays wrong
                waiting[task.remote(passed, part, parts, cpus)] = (part, tries - 1)
            else:
                # The others are not cancelled: what they make is kept, and ray.cancel of a task that ends in that
                # moment aborts this process ("Tried to complete task that was not pending", seen with Ray 2.60).
                failures.append((f"part {part}/{parts} on {told['node']}: {told['error']}", told["code"]))
                if waiting:
                    _log.warning("%s (the others go on)", failures[-1][0])
    finally:
        if connect:
            ray.shutdown()
    if failures:
        reasons = [reason for reason, _ in failures[:_MOST_REASONS]]
        if len(failures) > len(reasons):
            reasons.append(f"and {len(failures) - len(reasons)} more of {parts} parts")
        raise PartError("\n".join(reasons), failures[0][1])
    whole: dict[str, Any] = max(results, key=lambda result: (result["complete"], len(result["shards"])))
    for count in ("shards_made", "shards_found", "records_made", "bytes_made"):
        whole[count] = sum(result[count] for result in results)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: of `arguments`, else of the process. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m unstarve.ray", description=__doc__.splitlines()[0],
        epilog="Other options go to `unstarve pack`.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("pack", help="pack on a Ray cluster", epilog="Other options go to `unstarve pack`.")
    verb.add_argument("source", metavar="SRC", help="any data set that unstarve reads")
    verb.add_argument("folder", metavar="DST", help="folder for the shards, shared by all nodes")
    verb.add_argument("--parts", type=int, required=True, help="how many tasks")
    verb.add_argument("--address", help="of the cluster [$RAY_ADDRESS, else a local one]")
    verb.add_argument("--cpus", type=int, default=1, help="processors of a task [1]")
    verb.add_argument("--retries", type=int, default=1, help="how often a failed part is tried again [1]")
    verb.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    given, passed = parser.parse_known_args(arguments)
    for taken in ("--part", "--threads"):
        if any(word == taken or word.startswith(taken + "=") for word in passed):
            parser.error(f"{taken} is chosen here; see --parts and --cpus")
    # Tasks run in folders of their own.
    elsewhere = "://" in given.source or given.source.startswith(("synthetic:", "sleep:"))
    source = given.source if elsewhere else os.path.abspath(given.source)
    try:
        whole = pack(source, os.path.abspath(given.folder),
                     [_absolute(word, before) for before, word in zip(["", *passed], passed)],
                     parts=given.parts, cpus=given.cpus, retries=given.retries, address=given.address)
    except ImportError as error:
        print(f"unstarve.ray: {error}; install it: pip install ray", file=sys.stderr)
        return 4
    except ValueError as error:
        parser.error(str(error))
    except RuntimeError as error:
        print(f"unstarve.ray: {error}", file=sys.stderr)
        return error.code if isinstance(error, PartError) else 1
    if given.json:
        print(json.dumps(whole, indent=2))
    else:
        print(f"{given.folder}: {whole['records']} records in {len(whole['shards'])} shards by {given.parts} parts")
    if not whole["complete"]:
        print(f"unstarve.ray: {len(whole['shards'])} of {whole['shards_in_all']} shards are there", file=sys.stderr)
        return 1
    return 0


def _absolute(word: str, before: str) -> str:
    """The list of --exclude is named relative to here."""
    if before == "--exclude":
        return os.path.abspath(word)
    if word.startswith("--exclude="):
        return "--exclude=" + str(Path(word.removeprefix("--exclude=")).absolute())
    return word


if __name__ == "__main__":
    sys.exit(main())
