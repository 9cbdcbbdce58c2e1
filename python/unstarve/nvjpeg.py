"""Finds nvJPEG, NVIDIA's JPEG decoder, in the wheels that pip installed."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def libraries() -> list[str]:
    """Returns the paths of libnvjpeg in the wheels on sys.path (nvidia-nvjpeg, nvidia-nvjpeg-cu12), newest first.

    The caller tries them in turn: a version built for a newer CUDA than the driver's does not load.
    """
    found = {file for entry in sys.path for file in Path(entry or ".").glob("nvidia/*/lib/libnvjpeg.so.*")}

    def version(file: Path) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", file.name)]

    return [str(file.resolve()) for file in sorted(found, key=lambda file: (version(file), str(file)), reverse=True)]
