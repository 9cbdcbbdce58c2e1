"""Compares the loader of un.open with Pillow and torchvision: `python -m unstarve.comparison photos/`.

Prints how many times the images per second of the fastest other loader ours has, and a table. Takes about a minute per
other loader. `unstarve demo` starts this command with --json.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from typing import Any

from .child import Failed, signal_when_parent_ends
from .measurement import CannotCompare, measure


def _print(value: Any) -> None:
    print(json.dumps(value), flush=True)


def _show(what: str, share: float) -> None:
    """One line on a terminal, overwritten; nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{share:4.0%}  {what}", end="" if share < 1 else "\r\x1b[K", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line `arguments`, by default that of the process. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m unstarve.comparison", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", metavar="DATA", help="a folder of photographs, one folder per class")
    parser.add_argument("--pairs", type=int, default=6, help="blocks per loader (default 6; at least 2)")
    parser.add_argument("--seconds", type=float, default=1.5, help="minimum length of a block (default 1.5)")
    parser.add_argument("--json", action="store_true",
                        help="print one JSON object per line: progress, then the result or the error")
    options = parser.parse_args(arguments)
    if options.pairs < 2 or options.seconds <= 0:
        parser.error("--pairs must be at least 2 and --seconds positive")
    # The loaders are stopped while they wait, so they must be ended by this process in any case.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal_when_parent_ends(signal.SIGTERM)
    try:
        result = measure(options.data, options.pairs, options.seconds,
                         (lambda what, share: _print({"progress": share, "what": what})) if options.json else _show)
    except (CannotCompare, Failed) as failure:
        if options.json:
            _print({"error": str(failure)})
        else:
            _show("", 1)
            print(f"unstarve.comparison: {failure}", file=sys.stderr)
        return 3
    if options.json:
        _print({"result": result.to_json()})
    else:
        _show("", 1)
        print(result.to_text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
