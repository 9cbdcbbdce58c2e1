"""Frameworks are imported by the modules that need them, and may be missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from unstarve.errors import MissingPackageError


@contextlib.contextmanager
def needed(package: str, what: str) -> Iterator[None]:
    """Around the import of `package` by a module that gives `what`: where it is not installed, MissingPackageError
    tells how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingPackageError(f"{what}: found no package {package}, expected it installed: pip install {package}",
                                  name=package) from error
