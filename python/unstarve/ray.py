"""Runs `unstarve pack` on a Ray cluster.

    python -m unstarve.ray pack SRC DST --format webdataset --parts 8

Each part is one task that runs `unstarve pack SRC DST ... --part i/n` with the other options unchanged. Shards and
manifest are bit-equal to those of a single machine. SRC and DST must have the same path on every node (a shared file
system), and the program `unstarve` must be installed there: in $UNSTARVE or on PATH.

The cluster is that of --address or $RAY_ADDRESS; without either, a local one is started. A task uses --cpus CPUs (1)
and as many threads. A part that fails is retried --retries times (1) and continues where it stopped. A part that fails
finally is reported immediately; the others continue, and the next run packs only what is missing. Exit codes are those
of `unstarve pack`.
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

from unstarve.optional_packages import install_command

__all__ = ["PartError", "main", "pack"]

_log = logging.getLogger("unstarve.ray")
_MAX_REASONS = 8  # failed parts named in an error
_EPILOG = "Other options follow SRC and DST, and are passed to `unstarve pack`."


class PartError(RuntimeError):
    """Some parts failed; the message has a line for each. `code` is the exit code of the first."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def _program() -> str:
    """Returns the path of the program `unstarve` on this machine."""
    program = os.environ.get("UNSTARVE") or shutil.which("unstarve")
    if not program:
        raise FileNotFoundError("unstarve: program not found on PATH; expected it on every node. Set $UNSTARVE to "
                                "its path.")
    return program


def _run_part(arguments: Sequence[str], part: int, parts: int, threads: int) -> dict[str, Any]:
    """Packs one part. Returns {"part", "code", "result" or "error", "node"}."""
    node = os.uname().nodename
    try:
        command = [_program(), "pack", *arguments, "--part", f"{part}/{parts}", "--threads", str(threads), "--json"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        return {"part": part, "code": 4, "error": str(error), "node": node}
    if done.returncode != 0:
        reason = done.stderr.strip() or f"exit code {done.returncode} without a message"
        return {"part": part, "code": done.returncode, "error": reason.removeprefix("unstarve: "), "node": node}
    return {"part": part, "code": 0, "result": json.loads(done.stdout), "node": node}


def pack(source: str, folder: str, arguments: Sequence[str] = (), *, parts: int, cpus: int = 1, retries: int = 1,
         address: str | None = None) -> dict[str, Any]:
    """Packs `source` into `folder` with `parts` tasks.

    Args:
        source: Any dataset that unstarve reads, at the same path on every node.
        folder: Folder for the shards, shared by all nodes.
        arguments: Options of `unstarve pack`, for example ["--format", "webdataset"].
        parts: Number of tasks, 1 or more.
        cpus: CPUs, and threads, of a task.
        retries: How often a failed part is retried.
        address: Address of the cluster; None is $RAY_ADDRESS or a local cluster. Ignored if Ray is connected already.

    Returns:
        The result of `unstarve pack --json` for all parts: "shards", "records", "bytes", "complete", ...

    Raises:
        ImportError: Ray is not installed.
        ValueError: `parts` is less than 1.
        PartError: Parts failed; raised after all others have ended. Each failure is logged as a warning.

    Example:
        unstarve.ray.pack("/data/photos", "/data/shards", ["--format", "webdataset"], parts=8, cpus=4)
    """
    if parts < 1:
        raise ValueError(f"pack(parts): found {parts}; expected 1 or more")
    import ray  # the package, not this module: imports are absolute

    passed = [source, folder, *arguments]
    connect = not ray.is_initialized()
    if connect:
        # Nodes do not import this package: their code is sent with the task.
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
    try:
        # cloudpickle sends functions of installed modules by name, which would require the module on every node.
        ray.cloudpickle.register_pickle_by_value(sys.modules[_run_part.__module__])
        task = ray.remote(num_cpus=cpus, max_retries=3)(_run_part)
        waiting = {task.remote(passed, part, parts, cpus): (part, retries) for part in range(1, parts + 1)}
        results, failures = [], []
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            part, tries = waiting.pop(done)
            try:
                outcome = ray.get(done)
            except ray.exceptions.RayError as error:  # a worker or its node died more often than Ray retries
                outcome = {"code": 1, "error": str(error).strip(), "node": "a lost node"}
            if outcome["code"] == 0:
                results.append(outcome["result"])
                if sys.stderr.isatty():
                    print(f"{len(results)} of {parts} parts", file=sys.stderr)
            elif tries > 0 and outcome["code"] != 2:  # a usage error is not retried
                waiting[task.remote(passed, part, parts, cpus)] = (part, tries - 1)
            else:
                # The others are not cancelled: their results remain useful, and ray.cancel of a task that ends at the
                # same moment aborts this process ("Tried to complete task that was not pending", Ray 2.60).
                failures.append((f"part {part}/{parts} on {outcome['node']}: {outcome['error']}", outcome["code"]))
                if waiting:
                    _log.warning("%s (the others continue)", failures[-1][0])
    finally:
        if connect:
            ray.shutdown()
    if failures:
        reasons = [reason for reason, _ in failures[:_MAX_REASONS]]
        if len(failures) > len(reasons):
            reasons.append(f"and {len(failures) - len(reasons)} more of {parts} parts")
        raise PartError("\n".join(reasons), failures[0][1])
    whole: dict[str, Any] = max(results, key=lambda result: (result["complete"], len(result["shards"])))
    for count in ("shards_made", "shards_found", "records_made", "bytes_made"):
        whole[count] = sum(result[count] for result in results)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line `arguments`, by default that of the process. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m unstarve.ray", description=__doc__.splitlines()[0],
        epilog=_EPILOG, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("pack", help="pack on a Ray cluster", epilog=_EPILOG, allow_abbrev=False)
    command.add_argument("source", metavar="SRC", help="any dataset that unstarve reads")
    command.add_argument("folder", metavar="DST", help="folder for the shards, shared by all nodes")
    command.add_argument("--parts", type=int, required=True, help="number of tasks")
    command.add_argument("--address", help="address of the cluster [$RAY_ADDRESS, else a local one]")
    command.add_argument("--cpus", type=int, default=1, help="CPUs of a task [1]")
    command.add_argument("--retries", type=int, default=1, help="how often a failed part is retried [1]")
    command.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    arguments = sys.argv[1:] if arguments is None else arguments
    given, passed = parser.parse_known_args(arguments)
    # The parser does not know whether a word after an option of `unstarve pack` is its value.
    if any(word.startswith("-") and word in passed for word in arguments[:arguments.index(given.folder)]):
        parser.error("found an option of `unstarve pack` before DST; expected SRC and DST first")
    for taken in ("--part", "--threads"):
        if any(word == taken or word.startswith(taken + "=") for word in passed):
            parser.error(f"{taken} is set automatically; use --parts and --cpus")
    # Tasks run in their own working folders.
    elsewhere = "://" in given.source or given.source.startswith(("synthetic:", "sleep:"))
    source = given.source if elsewhere else os.path.abspath(given.source)
    try:
        whole = pack(source, os.path.abspath(given.folder),
                     [_absolute(word, before) for before, word in zip(["", *passed], passed)],
                     parts=given.parts, cpus=given.cpus, retries=given.retries, address=given.address)
    except ImportError as error:
        print(f"unstarve.ray: {error}; expected package ray. Run: {install_command('ray')}", file=sys.stderr)
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
        print(f"unstarve.ray: {len(whole['shards'])} of {whole['shards_total']} shards exist", file=sys.stderr)
        return 1
    return 0


def _absolute(word: str, before: str) -> str:
    """Makes the path of --exclude absolute."""
    if before == "--exclude":
        return os.path.abspath(word)
    if word.startswith("--exclude="):
        return "--exclude=" + str(Path(word.removeprefix("--exclude=")).absolute())
    return word


if __name__ == "__main__":
    sys.exit(main())
