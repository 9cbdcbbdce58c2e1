#!/usr/bin/env python3
"""Runs one text script of commands and compares what they print with what the script expects.

A script is a file of these lines:

    # a comment
    # needs: COMMAND      skip the whole script (exit code 77) unless this shell command succeeds
    # timeout: SECONDS    for each command that follows (120)
    $ COMMAND             a bash command, run in a new folder; a `\\` at the end of a line continues it
    text                  the next line of its standard output
    ! text                the next line of its standard error
    ? N                   its exit code, when it is not 0

In an expected line `...` matches any text and `{/REGEX/}` what the regular expression matches; a line that is
only `...` matches any number of lines. Everything printed must be expected. Trailing blanks do not count, and empty
lines of the script do not either: an empty line that is expected is written `{//}`.

Commands see $UNSTARVE (the program under test), $TMP (their folder, shared by the commands of one script and removed
afterwards), $ROOT (the source tree) and $PYTHON. Exit code: 0 all as expected, 1 not, 2 a malformed script, 77 skipped.

    UNSTARVE=build/unstarve tests/cli/run.py tests/cli/help.test
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED = 77


@dataclass
class Command:
    """One command of a script with its expected output and exit code."""

    line: int
    text: str
    timeout: float
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    code: int = 0


@dataclass
class Script:
    needs: list[str]
    commands: list[Command]


class Malformed(Exception):
    """An error in the script itself, with file, line and reason."""


def parse(path: Path) -> Script:
    needs: list[str] = []
    commands: list[Command] = []
    timeout = 120.0
    going_on = False
    for number, raw in enumerate(path.read_text().splitlines(), 1):
        line = raw.rstrip()
        if going_on:
            commands[-1].text += "\n" + line
            going_on = line.endswith("\\")
        elif line.startswith("# needs:"):
            needs.append(line.removeprefix("# needs:").strip())
        elif line.startswith("# timeout:"):
            timeout = float(line.removeprefix("# timeout:"))
        elif line.startswith("#") or not line:
            continue
        elif line.startswith("$ "):
            commands.append(Command(number, line[2:], timeout))
            going_on = line.endswith("\\")
        elif not commands:
            raise Malformed(f"{path}:{number}: expected output before the first command: {line}")
        elif line.startswith("? "):
            commands[-1].code = int(line[2:])
        elif line == "!" or line.startswith("! "):
            commands[-1].err.append(line[2:])
        else:
            commands[-1].out.append(line)
    if not commands:
        raise Malformed(f"{path}: no command in it")
    for command in commands:
        for expected in command.out + command.err:
            try:
                line_pattern(expected)
            except re.error as error:
                raise Malformed(f"{path}:{command.line}: in {expected!r}: {error}") from error
    return Script(needs, commands)


def line_pattern(expected: str) -> re.Pattern[str]:
    """The regular expression of one expected line."""
    pattern = ""
    for part in re.split(r"(\.\.\.|\{/.*?/\})", expected):
        if part == "...":
            pattern += ".*"
        elif part.startswith("{/") and part.endswith("/}"):
            pattern += f"(?:{part[2:-2]})"
        else:
            pattern += re.escape(part)
    return re.compile(pattern)


def matches(expected: list[str], actual: list[str]) -> bool:
    """Whether the lines match; a `...` line matches any number of lines."""
    # reachable[a]: the expected lines so far can match exactly the first `a` actual lines.
    reachable = [True] + [False] * len(actual)
    for line in expected:
        if line == "...":
            first = reachable.index(True) if True in reachable else len(reachable)
            reachable = [a >= first for a in range(len(reachable))]
        else:
            pattern = line_pattern(line)
            reachable = [False] + [
                reachable[a] and pattern.fullmatch(actual[a]) is not None for a in range(len(actual))
            ]
    return reachable[-1]


def run(command: str, cwd: str, env: dict[str, str], timeout: float) -> tuple[int | str, str, str]:
    """Exit code (or the reason why there is none), standard output, standard error."""
    # A separate session, so that a timeout also ends processes that the shell started.
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, errors="backslashreplace", start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return f"none: still running after {timeout:g} s", out, err


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def indent(lines: list[str]) -> str:
    return "".join(f"      {line}\n" for line in lines) or "      (nothing)\n"


def check(path: Path, script: Script) -> int:
    program = os.environ.get("UNSTARVE")
    if not program or not os.access(program, os.X_OK):
        raise Malformed(f"$UNSTARVE is {program!r}; expected the path of the program under test")
    with tempfile.TemporaryDirectory(prefix="unstarve-cli-") as folder:
        env = dict(os.environ)
        env.update(UNSTARVE=str(Path(program).resolve()), TMP=folder, PYTHON=sys.executable, LC_ALL="C.UTF-8")
        env.update(UNSTARVE_INDEX="next_to_data")  # scripts unset it to test the user's cache folder
        env.update(ROOT=str(Path(__file__).resolve().parents[2]))
        for need in script.needs:
            if run(need, folder, env, 120)[0] != 0:
                print(f"{path}: skipped, this fails here: {need}")
                return SKIPPED
        failures = 0
        for command in script.commands:
            code, out, err = run(command.text, folder, env, command.timeout)
            complaints = []
            if code != command.code:
                complaints.append(f"    exit code {code}; expected {command.code}\n")
            for name, expected, text in (("output", command.out, out), ("error", command.err, err)):
                if not matches(expected, lines_of(text)):
                    complaints.append(
                        f"    standard {name}\n{indent(lines_of(text))}    expected\n{indent(expected)}"
                    )
            if complaints and "    standard error" not in "".join(complaints) and err:
                complaints.append(f"    standard error, as expected\n{indent(lines_of(err))}")
            if complaints:
                failures += 1
                print(f"{path}:{command.line}: $ {command.text}\n{''.join(complaints)}", end="")
        print(f"{path}: {len(script.commands)} commands, {failures} not as expected")
        return 1 if failures else 0


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: UNSTARVE=PROGRAM run.py SCRIPT", file=sys.stderr)
        return 2
    path = Path(arguments[0])
    try:
        return check(path, parse(path))
    except (Malformed, OSError, ValueError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
