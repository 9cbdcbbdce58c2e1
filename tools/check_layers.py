#!/usr/bin/env python3
"""Checks every #include of the tree against the layers.

- A folder of unstarve/ includes itself and folders of lower rank; equal ranks never include each other.
- A subfolder listed in SUBFOLDERS includes itself and subfolders of lower rank, and no file of its parent folder,
  except where the list has "." for the files of that folder. Test files (TEST_FILE, folders named testing) are exempt;
  only they include files of a folder named testing.
- libtorch headers are included only in the folders of TORCH, CUDA headers only in folders named cuda of those of CUDA.
- Headers include no expensive headers of other libraries: see HEAVY. Headers named -inl.h are parts of .cpp files.
- Every #include "unstarve/..." names a file that exists.
- Every x.h, x.cpp, ... that a comment names exists, unless it is in <> or one of FOREIGN.
- A header in LIGHT includes at most LIGHT_LIMIT headers of this project, directly or indirectly.

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
    "storage": 2, "ops": 2, "models": 2, "ranks": 2,
    "pipeline": 3,
    "train": 4, "diagnose": 4,
    "infer": 5,
    "jobs": 6,
    "cli": 7, "python": 7, "torch": 7,
}  # fmt: skip
# The subfolders of a folder, lowest first. Those of one tuple have equal ranks: they never include each other. ".": the
# files of the folder itself, which otherwise are above all subfolders.
SUBFOLDERS = {
    "core": ["memory", ".", ("machine", "process")],
    "codecs": ["common", ("jpeg", "png", "webp", "nvjpeg")],
    "codecs/jpeg": ["layout", ("transform", "entropy", "libjpeg"), "index"],
    "diagnose": [("profile", "cupti"), "ranks", "traces", "probes", "rules", ("trace_rules", "metrics")],
    "diagnose/rules": [".", ("loader", "machine", "program")],
    "pipeline": [("spec", "autotune", "functions"), "order", "plan", ("passes", "device", "read_ahead"), "delivery",
                 "executor"],
    "ops": ["base", ("resize", "colour", "geometry", "store"), ("filter", "batch"), ("policy", "gpu"), "cuda"],
    "jobs": [("common", "host"), ("settings", "probe", "pack", "prepare", "tensorboard", "doctor"),
             ("data", "inference", "ladder", "training"), ("finders", "capacity", "compress", "model_chart")],
    "infer": [("engines", "graph"), ("int8", "onnx", "passes", "pruning"), "import"],
    "models": ["kernels", "cuda"],
    "torch": [("common", "graphs", "ranks"), "cuda", "updates", "import", "networks"],
    "storage": ["dataset", "bytes", "io", "remote", "source", "index", "cache", "formats"],
    "storage/remote": ["http", "cache"],
    "storage/formats": [
        "arrays", ("cifar", "folder", "mds", "parquet", "recordio", "synthetic", "tfrecord", "webdataset"),
    ],
}  # fmt: skip
TEST_FILE = re.compile(r"_test\.cpp$|(^|_)(fixtures?|conformance|test)(_|\.)")
TORCH = {"models", "torch", "infer", "python"}
CUDA = {"device", "ops", "codecs", "models", "observe"}
# Headers that take long to compile, with the files and folders of unstarve/ whose headers may include them.
HEAVY = {
    "nlohmann/json.hpp": (), "CLI/": (), "hwy/": (), "openvino/": (),
    "fmt/": ("core/format_error.h",), "unstarve/core/format_error.h": (),
    "yaml-cpp/": ("pipeline/spec/yaml_map.h",), "unstarve/pipeline/spec/yaml_map.h": (),
    "arrow/": ("storage/formats/parquet/",), "parquet/": ("storage/formats/parquet/",),
    "torch/": ("models/", "torch/"), "ATen/": ("models/", "torch/"), "c10/": ("models/", "torch/"),
}  # fmt: skip
# Widely included headers.
LIGHT = [
    "unstarve/pipeline/executor/loader.h", "unstarve/pipeline/order/order.h", "unstarve/pipeline/passes/pass.h",
    "unstarve/pipeline/plan/plan.h", "unstarve/storage/dataset/dataset.h",
]  # fmt: skip
LIGHT_LIMIT = 10
SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".inl"}
# Files of other projects that comments name.
FOREIGN = {"arch/x86/include/asm/cpufeatures.h", "cputype.h", "jdcoefct.h", "jpeglib.h", "nvjpeg.h",
           "tensorflow/core/framework/model.h", "zlib.h", "zstd.h"}

# Folders with sources next to unstarve/: those with a rank are checked as such, the others may include everything.
OUTSIDE = {"cli": "cli", "python": "python", "fuzz": None, "tests": None, "bench": None, "examples": None,
           "cmake": None}

COMMENT = re.compile(r"(?:^|\s)//(.*)")
NAMED = re.compile(r"(?<![<\w./*{}-])[\w-][\w./-]*\.(?:h|cpp|cu|cuh|inl)\b")  # not x.{h,cpp}, not *_steps.cpp
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


def ranks(folder: str) -> dict[str, int]:
    """Rank of each subfolder of a folder in SUBFOLDERS."""
    groups = [group if isinstance(group, tuple) else (group,) for group in SUBFOLDERS[folder]]
    return {name: rank for rank, group in enumerate(groups) for name in group}


def below(parts: tuple[str, ...], folder: str) -> str | None:
    """The subfolder of `folder` that a file is in; "" if it is directly in `folder`, None if it is elsewhere."""
    root = tuple(folder.split("/"))
    if parts[: len(root)] != root or len(parts) == len(root):
        return None
    return parts[len(root)] if len(parts) > len(root) + 1 else ""


def check_subfolders(parts: tuple[str, ...], target: tuple[str, ...]) -> Iterator[str]:
    """Reasons against a file at unstarve/`parts` including unstarve/`target`."""
    if TEST_FILE.search(parts[-1]) or "testing" in parts:
        return
    if "testing" in target:
        yield "only tests include files of a folder named testing"
    for folder in SUBFOLDERS:
        own, other = below(parts, folder), below(target, folder)
        rank = ranks(folder)
        if "." in rank:
            own, other = ("." if name == "" else name for name in (own, other))
        if not own or other is None or own == other or other == "testing":
            continue
        if other == "":
            yield f"the subfolder {folder}/{own} includes a file of its parent folder"
        elif own in rank and (other not in rank or rank[other] >= rank[own]):
            name = folder if own == "." else f"{folder}/{own}"
            yield f"{name} may include only lower subfolders: see SUBFOLDERS in tools/check_layers.py"


def check_heavy(where: Path, header: str) -> Iterator[str]:
    """A reason against the header `where` including the expensive `header`."""
    parts = where.parts
    if where.suffix != ".h" or parts[-1].endswith("-inl.h") or TEST_FILE.search(parts[-1]) or "testing" in parts:
        return
    for start, allowed in HEAVY.items():
        if header.startswith(start) and not "/".join(parts[1:]).startswith(allowed or "-"):
            yield f"{header} takes long to compile: include it in .cpp files, not in a header"


def check_file(root: Path, path: Path, layer: str | None) -> Iterator[str]:
    where = path.relative_to(root)
    if layer is not None and layer not in RANK:
        yield f"{where}:1: the folder {layer} has no rank in tools/check_layers.py"
        return
    parts = where.parts[1:] if where.parts[0] == "unstarve" else ()
    for folder in SUBFOLDERS if parts else ():
        own = below(parts, folder)
        if own and own != "testing" and own not in ranks(folder):
            yield f"{where}:1: the subfolder {folder}/{own} has no rank in tools/check_layers.py"
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quote, header = found.groups()
        here = f"{where}:{number}:"
        for reason in check_heavy(where, header) if layer is not None else ():
            yield f"{here} {reason}"
        if header.startswith("unstarve/"):
            if quote == "<":
                yield f'{here} <{header}> is a header of this project: write "{header}"'
            if not (root / header).is_file():
                yield f"{here} {header} does not exist"
            target = header.split("/")[1]
            if layer is not None and target != layer:
                if target not in RANK:
                    yield f"{here} {header}: the folder {target} has no rank"
                elif RANK[target] >= RANK[layer]:
                    yield f"{here} {layer} (rank {RANK[layer]}) includes {header} (rank {RANK[target]})"
            if parts:
                for reason in check_subfolders(parts, tuple(header.split("/")[1:])):
                    yield f"{here} {header}: {reason}"
        elif quote == '"' and where.parts[0] == "unstarve" and (path.parent / header).is_file():
            yield f'{here} "{header}": write the path from the root of the repository'
        elif TORCH_HEADER.match(header) and layer is not None and layer not in TORCH:
            yield f"{here} libtorch's {header} in {layer}; allowed in {', '.join(sorted(TORCH))}"
        elif CUDA_HEADER.match(header) and layer is not None:
            if layer not in CUDA or "cuda" not in path.relative_to(root).parts[:-1]:
                yield f"{here} CUDA's {header}; allowed in folders named cuda of {', '.join(sorted(CUDA))}"


def included(root: Path, header: str) -> set[str]:
    """The headers of this project that `header` includes, directly or indirectly."""
    found: set[str] = set()
    left = [header]
    while left:
        path = root / left.pop()
        for match in map(INCLUDE.match, path.read_text(encoding="utf-8").splitlines() if path.is_file() else []):
            if match and re.match("unstarve/.*[.]h$", match[2]) and match[2] not in found:
                found.add(match[2])
                left.append(match[2])
    return found


def check_light_headers(root: Path) -> Iterator[str]:
    for header in LIGHT:
        found = included(root, header)
        if len(found) > LIGHT_LIMIT:
            names = ", ".join(sorted(found))
            yield f"{header}:1: includes {len(found)} headers, at most {LIGHT_LIMIT} allowed: {names}"


def check_comments(root: Path, paths: list[Path]) -> Iterator[str]:
    known = {"/".join(path.relative_to(root).parts[start:]) for path in paths for start in range(len(path.parts))}
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            comment = COMMENT.search(line)
            for name in NAMED.findall(comment[1]) if comment else []:
                if name not in known and name not in FOREIGN and "NAME" not in name:
                    yield f"{path.relative_to(root)}:{number}: the comment names {name}, which does not exist"


def check(root: Path) -> tuple[int, list[str]]:
    """The number of files read, and a line for each violation."""
    files = list(sources(root))
    problems = [problem for path, layer in files for problem in check_file(root, path, layer)]
    problems += check_comments(root, [path for path, _ in files])
    return len(files), problems + list(check_light_headers(root))


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
