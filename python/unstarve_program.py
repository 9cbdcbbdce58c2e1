"""The command `unstarve` of an installed package, also `python -m unstarve`: replaces itself with the program.

A module of its own, because importing the package would import NumPy. The program loads torch and Arrow from the
folders in which this interpreter finds packages, which it receives in UNSTARVE_PACKAGES. It starts the interpreter in
UNSTARVE_PYTHON to obtain credentials of object stores, and for the comparison of `unstarve demo`.

Under torchrun, `python -m unstarve train` trains in this process, because the process group of torch belongs to it.
"""

import importlib.util
import os
import sys
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    """Runs the program with the arguments of this process."""
    package = importlib.util.find_spec("unstarve")
    if package is None or package.origin is None:
        sys.exit(f"unstarve: package unstarve not found in {sys.path}; expected it next to {__file__}. "
                 "Run: pip install --force-reinstall unstarve")
    os.environ["UNSTARVE_PACKAGES"] = os.pathsep.join(sys.path)
    os.environ.setdefault("UNSTARVE_PYTHON", sys.executable)
    if sys.argv[1:2] == ["train"] and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        from unstarve.ranks import train
        sys.exit(train(["unstarve", *sys.argv[1:]]))
    folder = Path(package.origin).parent
    program = folder / "bin" / "unstarve"
    if not program.exists():  # in the build folder of a source tree
        program = folder.parent.parent / "unstarve"
    os.execv(program, [str(program), *sys.argv[1:]])
