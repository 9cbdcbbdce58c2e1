"""Virtual environments of the peers, created under build/peers when a comparison first needs them.

An environment is installed if its `ready` file equals its recipe here; otherwise it is created again. Environments with
`base` can import the packages of the interpreter that runs the harness (torch, NumPy, Pillow), so torch is not
installed twice. Debian packages are not installed: if one is missing, the peer is unavailable, and the reason names it.
"""

import importlib.metadata
import json
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path


class Unavailable(Exception):
    """The peer cannot run here; the text is the reason."""


@dataclass(frozen=True)
class Environment:
    requirements: tuple
    megabytes: int  # approximate download
    base: bool = False
    dependencies: bool = True  # False: install exactly what is listed
    debian: tuple = ()
    build: tuple = field(default=())  # installed first, for packages that are built from source


TORCHVISION_WITH_BASE = Environment(("torchvision==0.28.0",), 10, base=True, dependencies=False)
ENVIRONMENTS = {
    # SPDL loads the FFmpeg libraries of Debian by name.
    "torch": Environment(
        ("simplejpeg==1.9.0", "spdl==0.8.0", "spdl-core==0.8.0", "spdl-io==0.8.0"), 30, base=True, dependencies=False,
        debian=("libavcodec59", "libavdevice59", "libavfilter8", "libavformat59"),
    ),
    # torchvision of PyPI requires the CUDA build of torch of PyPI and does not load with a CPU build. "===" prevents
    # pip from using a local CPU build.
    "torchvision": Environment(
        ("torch===2.13.0", "torchvision==0.28.0", "pillow==13.0.0", "numpy==2.4.6"), 2700,
    ),
    # For the tests of docs/guide/coming-from: torchvision too.
    "timm": Environment(
        ("torch===2.13.0", "torchvision==0.28.0", "timm==1.0.31", "pillow==13.0.0", "numpy==2.4.6"), 2700,
    ),
    "opencv": Environment(("opencv-python-headless==4.10.0.84", "numpy==1.26.4"), 70),
    # Built from source: there are no wheels on PyPI.
    "pillow-simd": Environment(("pillow-simd==9.5.0.post2", "numpy==1.26.4"), 20,
                               debian=("gcc", "libjpeg62-turbo-dev", "zlib1g-dev")),
    "quantisers": Environment(
        ("nncf==3.1.0", "openvino==2026.4.1", "onnx==1.23.2", "onnxruntime==1.32.0", "numpy==2.4.6", "pillow==13.0.0",
         "sympy==1.14.0"), 200,
    ),
    "tensorflow": Environment(("tensorflow-cpu==2.21.0",), 300),
    "webdataset": Environment(("webdataset==1.0.2", "braceexpand==0.1.7", "pyyaml==6.0.3", "numpy==2.4.6"), 20),
    # Only what the tar iterator needs; the environment "torch" also requires FFmpeg.
    "spdl-tar": Environment(("spdl-core==0.8.0", "spdl-io==0.8.0", "numpy==2.4.6"), 30, dependencies=False),
    # Petastorm works with pyarrow up to 14, which requires NumPy 1.
    "petastorm": Environment(
        ("petastorm==0.13.1", "pyarrow==14.0.2", "numpy==1.26.4", "pandas==2.2.3", "python-dateutil==2.8.2",
         "pytz==2026.6", "tzdata==2026.6", "dill==0.4.1", "diskcache==5.6.3", "fsspec==2026.9.0", "future==1.0.0",
         "packaging==26.3", "psutil==7.2.2", "pyzmq==27.3.0", "setuptools==69.5.1", "six==1.17.0"),
        80, dependencies=False,
    ),
    # The published recipe of CIFAR-10 by its own code. The version of torchvision is that of the installed torch.
    "airbench": Environment(("airbench==0.1.8", "torchvision==0.28.0"), 10, base=True, dependencies=False),
    "dali": Environment(("nvidia-dali-cuda120==2.4.0", "numpy==2.4.6"), 600),
    # FFCV 1.0.2 generates code that does not work with newer versions of NumPy and numba.
    "ffcv": Environment(
        ("numpy==1.26.4", "numba==0.60.0", "llvmlite==0.43.0", "opencv-python-headless==4.10.0.84", "tqdm==4.67.1",
         "ffcv==1.0.2"), 110, base=True, dependencies=False,
        debian=("g++", "pkg-config", "libopencv-imgproc-dev", "libturbojpeg0-dev"),
        build=("setuptools==84.2.1", "wheel==0.48.0"),
    ),
}

# The build of FFCV requests all of OpenCV (190 Debian packages); its source uses only core and imgproc.
OPENCV_PC = """Name: OpenCV
Description: the modules that FFCV uses
Version: 4.6.0
Libs: -lopencv_imgproc -lopencv_core
Cflags: -I{folder} -I/usr/include/opencv4
"""
OPENCV_HEADER = """#pragma once
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
"""


# By version of torch.
TORCHVISION = {"2.11": "0.26.0", "2.13": "0.28.0"}


def _recipe(name):
    environment = ENVIRONMENTS[name]
    if name == "airbench":
        torch = ".".join(_base_torch().split(".")[:2])
        if torch not in TORCHVISION:
            raise Unavailable(f"found torch {torch}; expected {' or '.join(TORCHVISION)}, whose torchvision is known")
        return replace(environment, requirements=(environment.requirements[0], f"torchvision=={TORCHVISION[torch]}"))
    if name == "torchvision" and "+cpu" not in _base_torch():
        environment = TORCHVISION_WITH_BASE
    return environment


def _base_torch():
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise Unavailable(f"{sys.executable} has no torch. Run `make build` first.") from None


def _missing_debian(packages):
    if not packages or shutil.which("dpkg-query") is None:
        return []
    return [
        package for package in packages
        if "ok installed" not in subprocess.run(
            ["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True, text=True, check=False
        ).stdout
    ]


def _opencv_shim(folder):
    (folder / "opencv2").mkdir(parents=True, exist_ok=True)
    (folder / "opencv2" / "opencv.hpp").write_text(OPENCV_HEADER)
    (folder / "opencv4.pc").write_text(OPENCV_PC.format(folder=folder.resolve()))


def interpreter(name, root, install=True, say=print):
    """Returns the path of the environment's Python; installs it if necessary. Raises Unavailable with the reason."""
    environment = _recipe(name)
    folder = Path(root) / name
    python = folder / "bin" / "python"
    recipe = json.dumps(asdict(environment) | {"base_torch": _base_torch() if environment.base else ""}, sort_keys=True)
    missing = _missing_debian(environment.debian)
    if missing:
        raise Unavailable("Debian packages are missing: apt-get install " + " ".join(missing))
    ready = folder / "ready"
    if ready.exists() and ready.read_text() == recipe:
        return python
    if not install:
        raise Unavailable(f"environment {folder} is not installed, and --no-install was given")
    say(f"installing {name}: {', '.join(environment.requirements)} (about {environment.megabytes} MB to download)")
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(folder)])
    if environment.base:
        site = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                              capture_output=True, text=True, check=True).stdout.strip()
        (Path(site) / "base.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    extra = {}
    if environment.build:
        _run(pip + list(environment.build))
        _opencv_shim(folder / "opencv")
        extra = {"PKG_CONFIG_PATH": str((folder / "opencv").resolve())}
        pip.append("--no-build-isolation")
    if name == "pillow-simd" and "avx2" in Path("/proc/cpuinfo").read_text():
        # As documented by Pillow-SIMD; a wheel cached by pip may have been built without it.
        extra = {"CC": "cc -mavx2"}
        pip.append("--no-cache-dir")
    if not environment.dependencies:
        pip.append("--no-deps")
    _run(pip + list(environment.requirements), extra)
    ready.write_text(recipe)
    return python


def _run(command, extra=None):
    import os

    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | (extra or {}), check=False)
    if done.returncode != 0:
        reason = [line for line in done.stderr.splitlines() if "rror" in line] or done.stderr.splitlines()
        raise Unavailable(f"`{' '.join(command[-4:])}` failed: {'; '.join(reason[-3:])}")
