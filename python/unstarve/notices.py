"""Issues the notices of the library as Python warnings (DataWarning), and decides on nanobind's report at exit."""

from __future__ import annotations

import atexit
import sys
import threading
import warnings

from unstarve import _core
from unstarve.errors import DataWarning


@atexit.register
def _expect_objects_of_daemon_threads() -> None:
    """Objects that a running daemon thread holds at exit are not leaks."""
    if any(thread.daemon for thread in threading.enumerate()):
        _core.set_leak_warnings(False)


def warn_pending() -> None:
    """Issues a DataWarning for each notice that the library emitted since the last call.

    If a warnings filter turns one of them into an exception, the next call issues the rest.
    """
    while (text := _core.take_notice()) is not None:
        warn(text)


def warn(text: str) -> None:
    """Issues a DataWarning at the line of the first caller outside this package."""
    warnings.warn(text, DataWarning, stacklevel=_user_stacklevel())


def _user_stacklevel() -> int:
    """Returns the `stacklevel`, as seen from the calling function, of the first frame outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "unstarve":
        level, frame = level + 1, frame.f_back
    return level
