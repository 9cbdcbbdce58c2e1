"""The Python package imports without torch, and its version is the program's."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_versions_agree_everywhere():
    import unstarve

    program = subprocess.run([os.environ["UNSTARVE"], "--version"], capture_output=True, text=True, check=True)
    cmake = re.search(r"project\(unstarve VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert program.stdout.strip() == unstarve.__version__ == cmake


def test_importing_does_not_import_torch():
    code = "import sys, unstarve; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
