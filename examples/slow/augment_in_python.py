"""An augmentation is a Python loop over the rows of every image.

Cause:  wave() shifts row after row in Python, in the main process.
Effect: the main process computes all the time, most of it in the interpreter.
Fix:    one NumPy expression for all rows of all images.
"""

import numpy as np
import torch

import common

SIZE = 96


def wave(image, phase):
    """Shifts every row by a sine of its position."""
    moved = np.empty_like(image)
    for y in range(SIZE):
        shift = round(4 * np.sin(y / 8 + phase))
        row = np.roll(image[y], shift, axis=0)
        moved[y] = np.clip(row * 1.1, 0, 255)
    return moved


def wave_all(images, phases):
    """wave() of a batch."""
    y, x = np.arange(SIZE), np.arange(SIZE)
    shifts = np.rint(4 * np.sin(y / 8 + phases[:, None])).astype(np.int64)
    columns = (x - shifts[:, :, None]) % SIZE
    moved = images[np.arange(len(images))[:, None, None], y[:, None], columns]
    return np.clip(moved * np.float32(1.1), 0, 255).astype(np.uint8)


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the network is small
    pixels, labels = common.pixels(run.data, SIZE)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 7, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(256, 200))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    random = np.random.default_rng(0)

    while not run.is_over():
        chosen = random.integers(len(pixels), size=32)
        phases = random.uniform(0, 2 * np.pi, 32)
        if run.fixed:
            moved = wave_all(pixels[chosen], phases)
        else:
            moved = np.stack([wave(image, phase) for image, phase in zip(pixels[chosen], phases, strict=True)])
        images = torch.from_numpy(moved).permute(0, 3, 1, 2) / 255
        loss = torch.nn.functional.cross_entropy(net(images), torch.from_numpy(labels[chosen]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.count(len(images))
    run.print_result()


if __name__ == "__main__":
    main()
