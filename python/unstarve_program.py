"""The command `unstarve` of an installed package, also `python -m unstarve`: replaces itself with the program.

A module of its own, because importing the package would import NumPy. The program loads torch and Arrow from the
folders in which this interpreter finds packages, which it receives in UNSTARVE_PACKAGES. It starts the interpreter in
UNSTARVE_PYTHON to obtain credentials of object stores, and for the comparison of `unstarve demo`.

Under torchrun, `python -m unstarve train` trains in this process, because the process group of torch belongs to it. It
sets the variables of the host settings before torch is imported, and starts again with those that need it.
"""

import importlib.util
import os
import sys
from pathlib import Path
from typing import NoReturn

# As cli/host_start.cpp: the id of a process that was started again.
_STARTED = "UNSTARVE_STARTED"


def _apply_host_settings(arguments: list[str]) -> None:
    """Sets the environment of the host settings in the command line, before torch is imported."""
    from unstarve import _core
    code, variables, needs_start = _core.start_environment(arguments)
    if variables is None:
        sys.exit(code)
    os.environ.update(variables)
    if not needs_start:
        return
    if os.environ.get(_STARTED) == str(os.getpid()):  # the system dropped variables
        sys.exit(f"unstarve: found {', '.join(variables)} not set after the start of {sys.executable}; expected an "
                 "interpreter without special permissions. Use --allocator system --huge-pages false")
    os.environ[_STARTED] = str(os.getpid())
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def main() -> NoReturn:
    """Runs the program with the arguments of this process."""
    package = importlib.util.find_spec("unstarve")
    if package is None or package.origin is None:
        sys.exit(f"unstarve: package unstarve not found in {sys.path}; expected it next to {__file__}. "
                 "Run: pip install --force-reinstall unstarve")
    os.environ["UNSTARVE_PACKAGES"] = os.pathsep.join(sys.path)
    os.environ.setdefault("UNSTARVE_PYTHON", sys.executable)
    if sys.argv[1:2] == ["train"] and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        arguments = ["unstarve", *sys.argv[1:]]
        _apply_host_settings(arguments)
        from unstarve.ranks import train
        sys.exit(train(arguments))
    folder = Path(package.origin).parent
    program = folder / "bin" / "unstarve"
    if not program.exists():  # in the build folder of a source tree
        program = folder.parent.parent / "unstarve"
    os.execv(program, [str(program), *sys.argv[1:]])
