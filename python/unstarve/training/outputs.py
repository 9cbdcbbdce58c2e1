"""Folders for the outputs of a run, tried before its first step."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping

from unstarve.errors import IoError


def check_output_folders(folders: Mapping[str, str]) -> None:
    """Raises IoError that names all folders in which no file can be created.

    Args:
        folders: Folder by name of the argument; "": none. It is created later, so the first existing one above it is
            tried.
    """
    faults = [_fault(argument, folder) for argument, folder in folders.items() if folder]
    if any(faults):
        raise IoError("\n".join(filter(None, faults)))


def _fault(argument: str, folder: str) -> str:
    existing = os.path.abspath(folder)
    while not os.path.lexists(existing) and existing != os.path.dirname(existing):
        existing = os.path.dirname(existing)
    try:
        with tempfile.TemporaryFile(dir=existing, prefix=".unstarve-"):
            return ""
    except OSError as error:
        return (f"Trainer({argument}): write to folder {folder}: {error.strerror}; expected a folder in which files "
                "can be created")
