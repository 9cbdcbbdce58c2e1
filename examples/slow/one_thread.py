"""One thread decodes all photographs into a queue, from which the main thread takes its batches.

Cause:  a single background thread prepares the data, as many training scripts do to "prefetch".
Effect: the thread computes all the time, the main thread waits for it, the second core is idle in between.
Fix:    two such threads. Pillow decodes without Python's global lock.
"""

import itertools
import queue
import threading

import numpy as np
import torch
from PIL import Image

import common

BATCH = 32


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the threads of the data use the other core
    photos = itertools.cycle(common.photos(run.data))
    samples = queue.Queue(maxsize=4 * BATCH)

    def prepare():
        while True:
            path, label = next(photos)
            image = Image.open(path).convert("RGB").resize((96, 96), Image.Resampling.LANCZOS)
            samples.put((np.array(image), label))

    for _ in range(2 if run.fixed else 1):
        threading.Thread(target=prepare, daemon=True).start()
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 7, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(256, 200))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    while not run.is_over():
        images, labels = zip(*(samples.get() for _ in range(BATCH)), strict=True)
        inputs = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2) / 255
        loss = torch.nn.functional.cross_entropy(net(inputs), torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.count(BATCH)
    run.print_result()


if __name__ == "__main__":
    main()
