#!/usr/bin/env python3
"""Runs commands whose standard output nobody reads any more, as after `unstarve ... | head -1`.

    closed_output.py help      the help of every command
    closed_output.py COMMAND   the results of a shell command

Each must end by SIGPIPE, as git and grep do, and print no message.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys


def problem(command: list[str]) -> str:
    """What the command did wrong; empty: nothing."""
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    # A shell returns 128 + the signal of its last command, if it does not replace itself by it.
    if result.returncode in (-signal.SIGPIPE, 128 + signal.SIGPIPE) and not result.stderr:
        return ""
    return f"{' '.join(command)}: exit code {result.returncode}: {result.stderr}"


def main(words: list[str]) -> int:
    program = os.environ["UNSTARVE"]
    if words == ["help"]:
        text = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
        names = re.findall(r"^  ([a-z][a-z-]+)  ", text, re.MULTILINE)
        commands = [[program, "--help"], [program, "--version"], *([program, name, "--help"] for name in names)]
        if len(names) < 20:
            print(f"{len(names)} commands were found in the help")
            return 1
    else:
        commands = [["sh", "-c", words[0]]]
    problems = [found for command in commands if (found := problem(command))]
    print("\n".join(problems) if problems else "ended by SIGPIPE")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
