"""tools/gpu.sh: what is missing on a machine is reported before the build."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "tools" / "gpu.sh"
PROGRAMS = ["bash", "dirname", "g++", "cmake", "ninja", "xz"]


def message(folder, missing=""):
    """Runs the script with the required programs except one, and a Python without headers; returns its message."""
    if any(shutil.which(program) is None for program in PROGRAMS):
        pytest.skip(f"{', '.join(PROGRAMS)} are required")
    for program in PROGRAMS:
        if program != missing:
            (folder / program).symlink_to(shutil.which(program))
    python = folder / "python"
    python.write_text(f"#!{sys.executable}\nprint('/missing/include')\n")
    python.chmod(0o755)
    done = subprocess.run(["bash", SCRIPT, "run", "--no-gpu"], capture_output=True, text=True,
                          env={**os.environ, "PATH": str(folder), "PYTHON": str(python)}, check=False)
    assert done.returncode == 2
    return done.stderr


@pytest.mark.parametrize("program", ["cmake", "xz"])
def test_a_missing_program_is_named(tmp_path, program):
    assert f"find {program}: not on PATH; expected " in message(tmp_path, program)


def test_missing_headers_of_python_are_named(tmp_path):
    text = message(tmp_path)
    assert "open /missing/include/Python.h: no such file; expected the headers of" in text
    assert "python3-dev" in text
