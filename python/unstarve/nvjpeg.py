"""Where pip has put NVIDIA's JPEG decoder."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def libraries() -> list[str]:
    """Paths of libnvjpeg in the wheels on sys.path (nvidia-nvjpeg, nvidia-nvjpeg-cu12), the newest version first; of a
    later CUDA than the driver's it is passed over."""
    found = {file for entry in sys.path for file in Path(entry or ".").glob("nvidia/*/lib/libnvjpeg.so.*")}

    def version(file: Path) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", file.name)]

    return [str(file.resolve()) for file in sorted(found, key=lambda file: (version(file), str(file)), reverse=True)]
