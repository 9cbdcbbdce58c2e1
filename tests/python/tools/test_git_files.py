"""The checks that read the files of a git checkout: tools/git_files.py."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"


@pytest.mark.parametrize("checker", ["check_columns.py", "check_words.py"])
def test_a_folder_outside_of_a_git_checkout_is_one_line(tmp_path, checker):
    for folder in (tmp_path, tmp_path / "none"):
        done = subprocess.run([sys.executable, TOOLS / checker, folder], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"list the files of {folder}: ")
        assert done.stderr.endswith("; expected a folder of a git checkout\n") and done.stderr.count("\n") == 1
