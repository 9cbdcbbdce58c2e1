#!/usr/bin/env python3
"""Checks every #include of the tree against the layers.

- A folder of unstarve/ includes itself and folders of lower rank; equal ranks never include each other.
- libtorch headers stand only in the folders of TORCH, CUDA headers only in folders named cuda of those of CUDA.
- Every #include "unstarve/..." names a file that exists.

Prints FILE:LINE: reason for each violation and exits with 1 when there is one.

    tools/check_layers.py [ROOT]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

RANK = {
    "core": 0,
    "observe": 1, "codecs": 1, "device": 1,
    "storage": 2, "ops": 2, "models": 2,
    "pipeline": 3,
    "train": 4,
    "infer": 5,
    "jobs": 6,
    "cli": 7, "python": 7, "torch": 7,
}  # fmt: skip
TORCH = {"models", "torch", "infer", "python"}
CUDA = {"device", "ops", "codecs", "models", "observe"}
SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".inl"}

# Folders beside unstarve/ with sources: those with a rank are checked as such, the others may include everything.
OUTSIDE = {"cli": "cli", "python": "python", "fuzz": None, "tests": None, "bench": None, "examples": None,
           "cmake": None}

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
TORCH_HEADER = re.compile(r"(torch|ATen|c10|caffe2)/")
CUDA_HEADER = re.compile(
    r"(cuda|cuda_runtime|cuda_runtime_api|cuda_fp16|cuda_bf16|driver_types|vector_types|device_launch_parameters|nccl|"
    r"nvml|nvjpeg|cudnn|cublas\w*|cufft|curand\w*|cusparse|cupti)\.h$|(cuda|cub|thrust|nvtx3)/"
)


def sources(root: Path) -> Iterator[tuple[Path, str | None]]:
    """Every source file with the name of its layer (None: none)."""
    places = [(root / "unstarve", "")] + [(root / name, layer) for name, layer in OUTSIDE.items()]
    for place, layer in places:
        for path in sorted(place.rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path, path.relative_to(place).parts[0] if layer == "" else layer


def check_file(root: Path, path: Path, layer: str | None) -> Iterator[str]:
    where = path.relative_to(root)
    if layer is not None and layer not in RANK:
        yield f"{where}:1: the folder {layer} has no rank in tools/check_layers.py"
        return
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quote, header = found.groups()
        here = f"{where}:{number}:"
        if header.startswith("unstarve/"):
            if quote == "<":
                yield f'{here} <{header}> is ours: write "{header}"'
            if not (root / header).is_file():
                yield f"{here} {header} does not exist"
            target = header.split("/")[1]
            if layer is not None and target != layer:
                if target not in RANK:
                    yield f"{here} {header}: the folder {target} has no rank"
                elif RANK[target] >= RANK[layer]:
                    yield f"{here} {layer} (rank {RANK[layer]}) includes {header} (rank {RANK[target]})"
        elif quote == '"' and where.parts[0] == "unstarve" and (path.parent / header).is_file():
            yield f'{here} "{header}": write the path from the root of the tree'
        elif TORCH_HEADER.match(header) and layer is not None and layer not in TORCH:
            yield f"{here} libtorch's {header} in {layer}; it may stand in {', '.join(sorted(TORCH))}"
        elif CUDA_HEADER.match(header) and layer is not None:
            if layer not in CUDA or "cuda" not in path.relative_to(root).parts[:-1]:
                yield f"{here} CUDA's {header}; it may stand in folders named cuda of {', '.join(sorted(CUDA))}"


def check(root: Path) -> tuple[int, list[str]]:
    """How many files were read, and what is wrong with them."""
    files = list(sources(root))
    return len(files), [problem for path, layer in files for problem in check_file(root, path, layer)]


def main(arguments: list[str]) -> int:
    root = Path(arguments[0] if arguments else Path(__file__).parents[1]).resolve()
    count, problems = check(root)
    if count == 0:
        problems = [f"{root}: no source file found"]
    for problem in problems:
        print(problem)
    print(f"{count} files, {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
