"""Four threads decode photographs, but a lock lets only one of them work.

Cause:  load() holds the lock of the archive while it decodes, not only while it reads.
Effect: three threads wait for the lock; one core is idle.
Fix:    release the lock before decoding. Pillow decodes without Python's global lock.
"""

import io
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from PIL import Image

import common

THREADS = 4
BATCH = 32


def decode(data):
    return np.array(Image.open(io.BytesIO(data)).convert("RGB").resize((96, 96), Image.Resampling.LANCZOS))


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the decoding threads use the other core
    archive = zipfile.ZipFile(common.photo_archive(run.data))
    lock = threading.Lock()
    names = archive.namelist()

    def load(name):
        with lock:
            data = archive.read(name)
            if not run.fixed:
                return decode(data)
        return decode(data)

    pool = ThreadPoolExecutor(THREADS)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 7, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(256, 200))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    batches = [names[first : first + BATCH] for first in range(0, len(names) - BATCH + 1, BATCH)]
    step = 0
    loading = pool.map(load, batches[0])
    while not run.is_over():
        batch = batches[step % len(batches)]
        images = torch.from_numpy(np.stack(list(loading))).permute(0, 3, 1, 2) / 255
        labels = torch.tensor([int(name.split("/")[0]) for name in batch])
        step += 1
        loading = pool.map(load, batches[step % len(batches)])  # while the network trains
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.count(len(images))
    run.print_result()


if __name__ == "__main__":
    main()
