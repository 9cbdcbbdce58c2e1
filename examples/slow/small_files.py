"""Samples are small files that are not in the page cache: each is opened and read on its own.

Cause:  a file of 12 KB is one request to the disk, and the next one begins after it. A hint to the system removes files
        from the page cache after reading, as data that is larger than memory does.
Effect: the program waits for the disk and uses little CPU time.
Fix:    one file with all samples, of which 256 are read by one call.
"""

import os

import numpy as np
import torch

import common

SHAPE = (64, 64, 3)
SAMPLE = 64 * 64 * 3


def read_once(path, size, offset=0):
    with open(path, "rb", buffering=0) as file:
        data = os.pread(file.fileno(), size, offset)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return data


def batches(run):
    folder, packed = common.small_files(run.data)
    files = sorted(folder.iterdir())
    order = np.random.default_rng(0)
    while True:
        if run.fixed:
            for first in order.permutation(len(files) // 256) * 256:
                yield from (np.frombuffer(read_once(packed, 256 * SAMPLE, first * SAMPLE), np.uint8)
                            .reshape(8, 32, *SHAPE))
        else:
            for chosen in order.permutation(len(files))[: len(files) // 32 * 32].reshape(-1, 32):
                data = b"".join(read_once(files[i], SAMPLE) for i in chosen)
                yield np.frombuffer(data, np.uint8).reshape(32, *SHAPE)


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the network is small
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 5, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(256, 16))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    for pixels in batches(run):
        images = torch.from_numpy(pixels.copy()).permute(0, 3, 1, 2) / 255
        labels = images.mean((1, 2, 3)).mul(16).long().clamp(0, 15)
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.count(len(images))
        if run.is_over():
            break
    run.print_result()


if __name__ == "__main__":
    main()
