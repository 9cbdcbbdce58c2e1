"""The runner of tests/cli/*.test accepts matching scripts and rejects all others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).resolve().parents[2] / "cli" / "run.py"


def run(tmp_path: Path, script: str, program: str = sys.executable) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "script.test"
    path.write_text(script)
    env = dict(os.environ, UNSTARVE=program)
    return subprocess.run([sys.executable, str(RUNNER), str(path)], env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "script",
    [
        "# nothing expected, nothing printed\n$ true\n",
        "$ echo a; echo b\na\nb\n",
        "$ printf 'a\\n\\nb  \\n'\na\n{//}\nb\n",
        "$ seq 9\n1\n...\n5\n...\n9\n",
        "$ seq 2\n...\n1\n2\n...\n",
        '$ echo \'{"samples": 12, "ratio": 1.5}\'\n{"samples": {/[0-9]+/}, ...}\n',
        "$ echo out; echo err >&2; exit 3\nout\n! err\n? 3\n",
        "$ echo a \\\n  b\na b\n",
        "$ echo x > $TMP/f\n$ cat f\nx\n",
        "$ $UNSTARVE -c 'print(1)'\n1\n",
        "$ test -e $ROOT/tests/cli/run.py\n",
        "$ cat\n",  # standard input is empty, not a terminal
    ],
)
def test_a_script_with_the_expected_output_passes(tmp_path: Path, script: str) -> None:
    result = run(tmp_path, script)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("$ echo a\n", "standard output\n      a\n    expected\n      (nothing)"),
        ("$ true\na\n", "expected\n      a"),
        ("$ echo b\na\n", "standard output\n      b\n    expected\n      a"),
        ("$ echo a >&2\n", "standard error"),
        ("$ echo a\n! a\n", "standard error"),
        ("$ false\n", "exit code 1; expected 0"),
        ("$ true\n? 1\n", "exit code 0; expected 1"),
        ("$ seq 3\n1\n3\n", "standard output"),
        ("$ seq 3\n...\n1\n", "standard output"),
        ("$ echo 12x\n{/[0-9]+/}\n", "standard output"),
        ("$ echo axb\na.b\n", "standard output"),
        ("# timeout: 0.2\n$ sleep 30\n", "still running after 0.2 s"),
        ("$ true\n$ false\n", ":2: $ false"),
    ],
)
def test_other_output_is_reported(tmp_path: Path, script: str, complaint: str) -> None:
    result = run(tmp_path, script)
    assert result.returncode == 1, result.stdout + result.stderr
    assert complaint in result.stdout


@pytest.mark.parametrize("script",
                         ["", "# only a comment\n", "output first\n$ true\n", "$ true\n? x\n", "$ true\n{/(/}\n"])
def test_rejects_malformed_scripts(tmp_path: Path, script: str) -> None:
    assert run(tmp_path, script).returncode == 2


def test_rejects_a_missing_program(tmp_path: Path) -> None:
    result = run(tmp_path, "$ true\n", program=str(tmp_path / "none"))
    assert result.returncode == 2
    assert "$UNSTARVE" in result.stderr


def test_a_script_whose_need_is_not_met_is_skipped(tmp_path: Path) -> None:
    assert run(tmp_path, "# needs: false\n$ false\n").returncode == 77
    assert run(tmp_path, "# needs: true\n$ true\n").returncode == 0
