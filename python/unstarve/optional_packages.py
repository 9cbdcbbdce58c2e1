"""Imports of optional packages (torch, jax, tensorflow), with an error that explains how to install them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from unstarve.errors import MissingPackageError


_EXTRAS = ("jax", "ray", "torch")  # of pyproject.toml


def install_command(package: str) -> str:
    """The command that installs an optional package, in a supported version if an extra states one."""
    return f"pip install 'unstarve[{package}]'" if package in _EXTRAS else f"pip install {package}"


@contextlib.contextmanager
def require_package(package: str, what: str) -> Iterator[None]:
    """Wraps the import of an optional package.

    Args:
        package: The package that the block imports.
        what: The function or class that requires it, as the error message names it.

    Raises:
        MissingPackageError: The package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingPackageError(f"{what}: package {package} not found; expected it to be installed. "
                                  f"Run: {install_command(package)}", name=package) from error
