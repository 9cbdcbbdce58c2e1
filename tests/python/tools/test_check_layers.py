"""tools/check_layers.py finds each kind of violation with file and line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKER = Path(__file__).resolve().parents[3] / "tools" / "check_layers.py"


def check(root: Path, files: dict[str, str]) -> tuple[int, list[str]]:
    """Exit code and printed lines for a tree of these files (and a core/error.h to include)."""
    for name, text in {"unstarve/core/error.h": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    result = subprocess.run([sys.executable, str(CHECKER), str(root)], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout.splitlines()


@pytest.mark.parametrize(
    "files",
    [
        {"unstarve/core/error.cpp": '#include "unstarve/core/error.h"\n'},
        {"unstarve/ops/a.h": '#include <vector>\n#include "unstarve/core/error.h"\n'},
        {"unstarve/torch/a.cpp": "#include <torch/torch.h>\n"},
        {"unstarve/torch/a.h": "#include <torch/torch.h>\n"},
        {"unstarve/jobs/a.h": "#include <nlohmann/json_fwd.hpp>\n"},
        {"unstarve/jobs/a.cpp": "#include <nlohmann/json.hpp>\n"},
        {"unstarve/core/a-inl.h": "#include <hwy/highway.h>\n"},
        {"unstarve/device/cuda/a.cu": "#include <cuda_runtime.h>\n"},
        {"unstarve/jobs/a.h": "", "unstarve/core/b.h": '// #include "unstarve/jobs/a.h"\n'},
        {"unstarve/core/a.h": "// See error.h, core/error.h, <none.h>, jpeglib.h, a.{h,cpp} and passes/NAME.cpp.\n"},
        {"unstarve/jobs/a.h": "", "cli/main.cpp": '#include "unstarve/jobs/a.h"\n'},
        {"unstarve/jobs/a.h": "", "fuzz/a_fuzz.cpp": '#include "unstarve/jobs/a.h"\n'},
        {"cmake/torch_pch.h": "#include <torch/torch.h>\n"},
        {"unstarve/storage/io/a.h": "", "unstarve/storage/index/b.h": '#include "unstarve/storage/io/a.h"\n'},
        {"unstarve/storage/index/a.h": "", "unstarve/storage/open.cpp": '#include "unstarve/storage/index/a.h"\n'},
        {"unstarve/storage/open.h": "", "unstarve/storage/index/b_test.cpp": '#include "unstarve/storage/open.h"\n'},
        {"unstarve/core/machine/a.h": '#include "unstarve/core/error.h"\n'},
        {"unstarve/core/memory/a.h": "", "unstarve/core/b.h": '#include "unstarve/core/memory/a.h"\n'},
        {"unstarve/storage/testing/a.h": "", "unstarve/jobs/b_test.cpp": '#include "unstarve/storage/testing/a.h"\n'},
    ],
)
def test_allowed_includes_pass(tmp_path: Path, files: dict[str, str]) -> None:
    code, lines = check(tmp_path, files)
    assert (code, lines[-1].split(", ")[1]) == (0, "0 violations"), lines


@pytest.mark.parametrize(
    ("files", "where", "reason"),
    [
        (
            {"unstarve/ops/a.h": "", "unstarve/core/b.h": '#pragma once\n#include "unstarve/ops/a.h"\n'},
            "unstarve/core/b.h:2:", "core (rank 0) includes unstarve/ops/a.h (rank 2)",
        ),
        (
            {"unstarve/ops/a.h": "", "unstarve/storage/b.cpp": '#  include "unstarve/ops/a.h"\n'},
            "unstarve/storage/b.cpp:1:", "storage (rank 2) includes unstarve/ops/a.h (rank 2)",
        ),
        ({"unstarve/ops/b.cpp": '#include "unstarve/core/none.h"\n'}, "unstarve/ops/b.cpp:1:", "does not exist"),
        ({"tests/b.cpp": '#include "unstarve/core/none.h"\n'}, "tests/b.cpp:1:", "does not exist"),
        ({"unstarve/ops/b.cpp": "#include <unstarve/core/error.h>\n"}, "unstarve/ops/b.cpp:1:",
         "a header of this project"),
        ({"unstarve/core/b.cpp": '#include "error.h"\n'}, "unstarve/core/b.cpp:1:", "path from the root"),
        ({"unstarve/ops/b.cpp": "#include <torch/torch.h>\n"}, "unstarve/ops/b.cpp:1:",
         "libtorch's torch/torch.h in ops"),
        ({"unstarve/pipeline/b.cpp": "#include <ATen/ATen.h>\n"}, "unstarve/pipeline/b.cpp:1:",
         "libtorch's ATen/ATen.h"),
        ({"unstarve/jobs/b.h": "#include <nlohmann/json.hpp>\n"}, "unstarve/jobs/b.h:1:",
         "nlohmann/json.hpp takes long to compile"),
        ({"unstarve/infer/b.h": "#include <torch/torch.h>\n"}, "unstarve/infer/b.h:1:", "takes long to compile"),
        ({"cli/b.h": "#include <fmt/format.h>\n"}, "cli/b.h:1:", "takes long to compile"),
        (
            {"unstarve/core/format_error.h": "", "unstarve/ops/b.h": '#include "unstarve/core/format_error.h"\n'},
            "unstarve/ops/b.h:1:", "takes long to compile",
        ),
        (
            {"unstarve/train/b.cpp": "#include <torch/torch.h>\n"},
            "unstarve/train/b.cpp:1:", "libtorch's torch/torch.h in train",
        ),
        (
            {"unstarve/torch/a.h": "", "unstarve/jobs/b.cpp": '#include "unstarve/torch/a.h"\n'},
            "unstarve/jobs/b.cpp:1:", "jobs (rank 6) includes unstarve/torch/a.h (rank 7)",
        ),
        ({"cli/b.cpp": "#include <torch/torch.h>\n"}, "cli/b.cpp:1:", "libtorch's torch/torch.h in cli"),
        ({"unstarve/device/b.cpp": "#include <cuda_runtime.h>\n"}, "unstarve/device/b.cpp:1:", "CUDA's cuda_runtime.h"),
        ({"unstarve/train/cuda/b.cu": "#include <cuda.h>\n"}, "unstarve/train/cuda/b.cu:1:", "CUDA's cuda.h"),
        ({"unstarve/extras/b.cpp": ""}, "unstarve/extras/b.cpp:1:", "has no rank"),
        ({"unstarve/storage/extras/b.cpp": ""}, "unstarve/storage/extras/b.cpp:1:", "storage/extras has no rank"),
        (
            {"unstarve/core/machine/a.h": "", "unstarve/core/b.h": '#include "unstarve/core/machine/a.h"\n'},
            "unstarve/core/b.h:1:", "core may include only lower subfolders",
        ),
        (
            {"unstarve/core/memory/a.h": '#include "unstarve/core/error.h"\n'},
            "unstarve/core/memory/a.h:1:", "core/memory may include only lower subfolders",
        ),
        (
            {"unstarve/storage/open.h": "", "unstarve/storage/index/b.h": '#include "unstarve/storage/open.h"\n'},
            "unstarve/storage/index/b.h:1:", "storage/index includes a file of its parent folder",
        ),
        (
            {"unstarve/storage/index/a.h": "", "unstarve/storage/io/b.h": '#include "unstarve/storage/index/a.h"\n'},
            "unstarve/storage/io/b.h:1:", "storage/io may include only lower subfolders",
        ),
        (
            {
                "unstarve/storage/formats/mds/a.h": "",
                "unstarve/storage/formats/cifar/b.h": '#include "unstarve/storage/formats/mds/a.h"\n',
            },
            "unstarve/storage/formats/cifar/b.h:1:", "storage/formats/cifar may include only lower subfolders",
        ),
        (
            {"unstarve/storage/testing/a.h": "", "unstarve/jobs/b.h": '#include "unstarve/storage/testing/a.h"\n'},
            "unstarve/jobs/b.h:1:", "only tests include files of a folder named testing",
        ),
        ({"unstarve/core/b.h": "int a;  // as in ops/error.h\n"}, "unstarve/core/b.h:1:", "names ops/error.h"),
        (
            {
                "unstarve/pipeline/plan/plan.h": '#include "unstarve/core/h0.h"\n',
                **{f"unstarve/core/h{i}.h": f'#include "unstarve/core/h{i + 1}.h"\n' for i in range(10)},
                "unstarve/core/h10.h": "",
            },
            "unstarve/pipeline/plan/plan.h:1:", "includes 11 headers, at most 10 allowed",
        ),
    ],
)  # fmt: skip
def test_a_violation_is_reported_with_its_line(tmp_path: Path, files: dict[str, str], where: str, reason: str) -> None:
    code, lines = check(tmp_path, files)
    assert code == 1
    assert lines[-1].endswith("1 violations"), lines
    assert lines[0].startswith(where) and reason in lines[0], lines


def test_an_empty_tree_fails(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, str(CHECKER), str(tmp_path)], capture_output=True,
                          check=False).returncode == 1
