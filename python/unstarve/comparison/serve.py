"""Runs one loader as a long-lived child process: `python -m unstarve.comparison.serve LOADER JOB SETTINGS`
(the last two are JSON).

Commands are read from stdin, one JSON array per line; each is answered by one JSON object on the original stdout:
["run", S]    consume whole batches for at least S seconds: {"samples": n, "seconds": s}
["check", P]  inspect a few batches, write a sheet of crops to P if not null: shape, mean, deviation, labels, ...
["quit"]
The first line written is {"ready": true}, or {"error": text} if the loader cannot run here. A block starts and ends at
the arrival of a batch, and the harness stops the whole process group between blocks: prefetching neither takes time
from the other side nor provides batches that were not timed.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


def consume(source: Iterator[Any], seconds: float) -> dict[str, float]:
    """Consumes whole batches. A source with an attribute `seconds` times itself: the time of its last item."""
    if hasattr(source, "seconds"):
        done: dict[str, float] = {"samples": 0, "seconds": 0.0}
        while done["seconds"] < seconds:
            next(source)
            done["samples"] += 1
            done["seconds"] += source.seconds
        return done
    samples = 0
    start = time.perf_counter()
    while True:
        images, _ = next(source)
        samples += len(images)
        elapsed = time.perf_counter() - start
        if elapsed >= seconds:
            return {"samples": samples, "seconds": elapsed}


def check(source: Iterator[Any], path: str | None) -> dict[str, Any]:
    """Statistics of four batches."""
    import numpy

    count, labels, low, high = 0, set(), [], []
    total = squares = numpy.zeros(3)
    for _ in range(4):
        images, classes = next(source)
        images = numpy.asarray(images)
        if images.shape[1] == 3:
            images = images.transpose(0, 2, 3, 1)
        assert images.dtype == numpy.float32, f"batches are {images.dtype}; expected float32"
        assert numpy.isfinite(images).all(), "the batch contains values that are not finite"
        count += len(images)
        total = total + images.astype(numpy.float64).mean(axis=(1, 2)).sum(axis=0)
        squares = squares + (images.astype(numpy.float64) ** 2).mean(axis=(1, 2)).sum(axis=0)
        labels.update(numpy.asarray(classes).reshape(-1).tolist())
        low.append(images.min())
        high.append(images.max())
    mean = total / count
    if path is not None:
        write_sheet(images[:16], path)
    return {
        "shape": list(images.shape),
        "mean": [round(float(v), 3) for v in mean],
        "deviation": [round(float(v), 3) for v in numpy.sqrt(squares / count - mean**2)],
        "range": [round(float(min(low)), 3), round(float(max(high)), 3)],
        "labels": len(labels),
        "label_range": [int(min(labels)), int(max(labels))],
        "distinct": len({image.tobytes() for image in images}),
    }


def write_sheet(images: NDArray[numpy.float32], path: str) -> None:
    """Writes 4 x 4 crops as a PPM image, denormalised with the ImageNet statistics (close enough for CIFAR)."""
    import numpy

    from .inputs import IMAGENET_MEAN, IMAGENET_STD

    pixels = (images * IMAGENET_STD + IMAGENET_MEAN) * 255
    pixels = pixels.clip(0, 255).round().astype(numpy.uint8)
    sheet = numpy.concatenate([numpy.concatenate(list(pixels[row : row + 4]), axis=1) for row in (0, 4, 8, 12)])
    with open(path, "wb") as file:
        file.write(b"P6 %d %d 255\n" % (sheet.shape[1], sheet.shape[0]) + sheet.tobytes())


def main() -> int:
    """Answers commands until "quit" or the end of the input. Returns the exit code."""
    peer, job, settings = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
    # Libraries print to stdout: reserve the original stdout for the protocol.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value: Any) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    try:
        module = importlib.import_module(f"{__package__}.{peer}")
        source = module.batches(job, settings)
        next(source)
    except Exception as error:  # any exception is the reason why the loader is unavailable
        traceback.print_exc()
        answer({"error": f"{type(error).__name__}: {error}"})
        return 1
    answer({"ready": True})
    for line in sys.stdin:
        command = json.loads(line)
        if command[0] == "quit":
            break
        try:
            if command[0] == "run":
                answer(consume(source, command[1]))
            else:  # loaders whose batches are not images define check()
                answer(module.check(source) if hasattr(module, "check") else check(source, command[1]))
        except Exception as error:
            traceback.print_exc()
            answer({"error": f"{type(error).__name__}: {error}"})
            return 1
    # The shutdown of a loader may hang in its threads; no state needs to be saved.
    answers.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
