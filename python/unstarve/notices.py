"""What the library tells without failing, as Python warnings. Nothing here is public but the warnings' class."""

from __future__ import annotations

import sys
import warnings

from unstarve import _core
from unstarve.errors import DataWarning


def warn() -> None:
    """Warns of what was told since the last call, at the line of the caller outside of the package.

    Where a filter makes an exception of a warning, the rest is told by the next call.
    """
    while (text := _core.take_notice()) is not None:
        tell(text)


def tell(text: str) -> None:
    """Warns at the line of the caller outside of the package."""
    warnings.warn(text, DataWarning, stacklevel=_level_of_user())


def _level_of_user() -> int:
    """The stacklevel, for the function that called this one, of the first frame of another package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "unstarve":
        level, frame = level + 1, frame.f_back
    return level
