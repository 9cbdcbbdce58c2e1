"""What the programs of this folder share: their arguments, their photographs, and the line with their result.

    python common.py [FOLDER]      prepares the photographs of all programs in FOLDER

The photographs are those of imagenet160.tar, in the folder UNSTARVE_DATA or in shared/data next to this repository.
Without the archive, the photographs are generated.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    import torch

HERE = Path(__file__).resolve().parent
DEFAULT_FOLDER = Path(tempfile.gettempdir()) / f"unstarve-slow-{os.getuid()}"
LARGE = (4000, 3000)  # pixels: 12 megapixels
RECORD_BYTES = 37 * 4096  # of records.bin: 224 x 224 RGB pixels and padding; the last byte is the class
SAMPLES = 100_000
DEVICE = {"--device": "cuda, or cpu to try the program without a GPU; default: cuda"}


class Run:
    """Arguments of a program, and a count of its steps.

    The first step is not part of the result, because it includes the start of workers and compilation.
    """

    def __init__(self, description: str, extra: dict[str, str] | None = None) -> None:
        parser = argparse.ArgumentParser(description=description.splitlines()[0])
        parser.add_argument("--fixed", action="store_true", help="run the variant without the cause")
        parser.add_argument("--seconds", type=float, default=12, help="duration of the training; default: 12")
        parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER, metavar="FOLDER",
                            help="prepared photographs; created if missing; default: %(default)s")
        parser.add_argument("--step-ends", type=Path, metavar="FILE",
                            help="write time.monotonic() at the end of each step to FILE, a line each")
        for option, text in (extra or {}).items():
            parser.add_argument(option, help=text)
        self.arguments = parser.parse_args()
        self.fixed: bool = self.arguments.fixed
        self.data: Path = self.arguments.data
        self._begin = time.perf_counter()
        self._first_end = self._begin
        self._samples: list[int] = []
        self._step_ends = self.arguments.step_ends.open("w", buffering=1) if self.arguments.step_ends else None

    def count(self, samples: int) -> None:
        """Ends a step that trained `samples` samples."""
        if not self._samples:
            self._first_end = time.perf_counter()
        self._samples.append(samples)
        if self._step_ends is not None:
            self._step_ends.write(f"{time.monotonic()}\n")

    def is_over(self) -> bool:
        return bool(self._samples) and time.perf_counter() - self._first_end >= self.arguments.seconds

    def print_result(self) -> None:
        only_one = len(self._samples) < 2
        samples = self._samples if only_one else self._samples[1:]
        seconds = time.perf_counter() - (self._begin if only_one else self._first_end)
        print(json.dumps({"samples": sum(samples), "seconds": round(seconds, 3), "steps": len(samples)}), flush=True)


def require(module: str, package: str) -> None:
    """Ends the program if `module` cannot be imported."""
    try:
        __import__(module)
    except ImportError:
        sys.exit(f"{Path(sys.argv[0]).name} requires the package {package}: pip install {package}")


def device_of(run: Run) -> torch.device:
    """The device of --device. Ends the program if it is a GPU and there is none."""
    import torch

    device = torch.device(run.arguments.device or "cuda")
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit(f"{Path(sys.argv[0]).name} requires a GPU (CUDA)")
    return device


def synchronize(device: torch.device) -> None:
    """Waits until a GPU has computed all steps."""
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)


def photos(folder: Path) -> list[tuple[str, int]]:
    """Path and class of 100,000 photographs: the 160 of `folder`/photos, repeated."""
    return _repeated(_prepared(folder / "photos", _make_photos))


def large_photos(folder: Path) -> list[tuple[str, int]]:
    """Path and class of 100,000 photographs of 12 megapixels: 16 enlarged ones, repeated."""
    photos(folder)
    return _repeated(_prepared(folder / "large", _make_large))


def photo_archive(folder: Path) -> Path:
    """A zip file of the photographs."""
    photos(folder)
    return _prepared(folder / "photos.zip", _make_archive)


def photo_records(folder: Path) -> Path:
    """A file of records of RECORD_BYTES, one for each photograph."""
    photos(folder)
    return _prepared(folder / "records.bin", _make_records)


def small_files(folder: Path) -> tuple[Path, Path]:
    """A folder of 4096 files of 64 x 64 RGB pixels, 12 KB each, and one file with all of them in order."""
    samples = pixels(folder, 64)[0]
    chosen = np.random.default_rng(0).integers(len(samples), size=4096)

    def make_files(target: Path, _: Path) -> None:
        target.mkdir()
        for number, index in enumerate(chosen):
            (target / f"{number:04}.raw").write_bytes(samples[index].tobytes())
        os.sync()  # pages that are not written yet would remain in the page cache

    def make_packed(target: Path, _: Path) -> None:
        target.write_bytes(samples[chosen].tobytes())
        os.sync()

    return _prepared(folder / "small", make_files), _prepared(folder / "small.bin", make_packed)


def pixels(folder: Path, size: int) -> tuple[np.ndarray, np.ndarray]:
    """All photographs in memory.

    Returns:
        Images of uint8 [160, size, size, 3] and classes of int64 [160].
    """
    photos(folder)
    files = _listed(folder / "photos")

    def make(target: Path, _: Path) -> None:
        with target.open("wb") as file:
            np.save(file, np.stack([_small(path, size) for path, _ in files]))

    return np.load(_prepared(folder / f"pixels{size}.npy", make)), np.array([label for _, label in files])


def photo_url(run: Run) -> str:
    """The URL of the folder of photographs: of --server, or of a server that this function starts."""
    if run.arguments.server:
        return f"{run.arguments.server}/photos"
    import atexit

    photos(run.data)
    server = subprocess.Popen([sys.executable, HERE / "photo_server.py", run.data], stdout=subprocess.PIPE, text=True)
    atexit.register(server.kill)
    assert server.stdout is not None
    return f"{server.stdout.readline().strip()}/photos"


def prepare(folder: Path) -> None:
    """Makes everything that programs read, so that none of them does it while its speed is measured."""
    large_photos(folder)
    photo_archive(folder)
    photo_records(folder)
    small_files(folder)
    for size in (32, 64, 96):
        pixels(folder, size)


def _prepared(path: Path, make: Callable[[Path, Path], None]) -> Path:
    """Calls make(temporary path, folder) and renames the result to `path`, unless `path` exists."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".making-") as temporary:
            made = Path(temporary) / path.name
            make(made, path.parent)
            try:
                made.rename(path)
            except OSError:
                if not path.exists():  # another program made it at the same time
                    raise
    return path


def _listed(folder: Path) -> list[tuple[str, int]]:
    """Path and class of the files folder/CLASS/NAME."""
    classes = sorted(path.name for path in folder.iterdir() if path.is_dir())
    return [(str(path), label) for label, name in enumerate(classes) for path in sorted((folder / name).iterdir())]


def _repeated(folder: Path) -> list[tuple[str, int]]:
    files = _listed(folder)
    if not files:
        sys.exit(f"read {folder}: no files in folders of classes. Remove the folder: it is created again.")
    return (files * (SAMPLES // len(files) + 1))[:SAMPLES]


def _small(path: str, size: int) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGB").resize((size, size), Image.Resampling.BILINEAR))


def _make_photos(target: Path, _: Path) -> None:
    archive = Path(os.environ.get("UNSTARVE_DATA", HERE.parents[2] / "shared" / "data")) / "imagenet160.tar"
    target.mkdir()
    if archive.exists():
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter="data")
        unpacked = target / "imagenet160"
        for path in list(unpacked.iterdir()):
            path.rename(target / path.name)
        unpacked.rmdir()
        return
    random = np.random.default_rng(0)
    for number in range(160):
        coarse = Image.fromarray(random.integers(0, 256, (16, 18, 3), dtype=np.uint8))
        smooth = np.asarray(coarse.resize((470, 400), Image.Resampling.BICUBIC), dtype=np.int16)
        noisy = np.clip(smooth + random.integers(-12, 13, smooth.shape), 0, 255).astype(np.uint8)
        folder = target / f"class{number:03}"
        folder.mkdir()
        Image.fromarray(noisy).save(folder / "0.jpg", quality=92)


def _make_large(target: Path, folder: Path) -> None:
    for number, (path, _) in enumerate(_listed(folder / "photos")[::10]):
        name = target / f"class{number:03}"
        name.mkdir(parents=True)
        Image.open(path).convert("RGB").resize(LARGE, Image.Resampling.BICUBIC).save(name / "0.jpg", quality=90)


def _make_archive(target: Path, folder: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path, label in _listed(folder / "photos"):
            archive.write(path, f"{label}/{Path(path).name}")


def _make_records(target: Path, folder: Path) -> None:
    with target.open("wb") as file:
        for path, label in _listed(folder / "photos"):
            file.write((_small(path, 224).tobytes() + bytes(RECORD_BYTES))[: RECORD_BYTES - 1] + bytes([label % 256]))


if __name__ == "__main__":
    prepare(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER)
