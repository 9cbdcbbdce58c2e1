"""CIFAR-10 to 94 % by the code that its authors published: the package airbench, on a GPU.

    python -m bench.peers.airbench94 FOLDER RUNS

FOLDER is CIFAR-10 in its binary form. Prints one JSON line for each run: seconds and accuracy as the package prints
them. Its seconds are those of training and of the last evaluation on the device, with all images in the memory of the
device; a run before them, of one step, warms up (of one step only if it prints).
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

RECORD = 1 + 3 * 32 * 32  # a label, then the pixels in planes


def load(paths):
    """The images, samples x 32 x 32 x 3 uint8, and the labels of binary files."""
    import numpy as np
    import torch

    records = np.concatenate([np.fromfile(path, np.uint8).reshape(-1, RECORD) for path in paths])
    images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).copy()
    return torch.from_numpy(images), torch.from_numpy(records[:, 0].astype(np.int64))


def figures_of(table):
    """Those of the row |  run | eval | ... | tta_val_acc | total_time_seconds |."""
    rows = [[cell.strip() for cell in line.split("|") if cell.strip()] for line in table.splitlines()]
    row = next(row for row in rows if "eval" in row[:2])
    return {"seconds": float(row[-1]), "accuracy": float(row[-2])}


def main():
    folder, runs = Path(sys.argv[1]).resolve(), int(sys.argv[2])
    import torch
    from airbench import CifarLoader, train94, warmup94

    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)  # airbench reads the folder cifar10 of the working directory
        os.mkdir("cifar10")
        classes = (folder / "batches.meta.txt").read_text().split()
        for name, pattern in (("train", "data_batch_*.bin"), ("test", "test_batch.bin")):
            images, labels = load(sorted(folder.glob(pattern)))
            torch.save({"images": images, "labels": labels, "classes": classes}, f"cifar10/{name}.pt")

        def loader():
            return CifarLoader("cifar10", train=True, batch_size=1024, aug={"flip": True, "translate": 2}, altflip=True)

        with contextlib.redirect_stdout(sys.stderr):
            warmup94(loader())
        for _ in range(runs):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                train94(loader())
            print(json.dumps(figures_of(printed.getvalue())), flush=True)


if __name__ == "__main__":
    main()
