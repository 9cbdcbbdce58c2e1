"""A healthy program without a framework: matrix products of NumPy use all cores.

--fixed changes nothing.
"""

import numpy as np

import common

HIDDEN = 2048
BATCH = 256


def main():
    run = common.Run(__doc__)
    pixels, labels = common.pixels(run.data, 32)
    images = pixels.reshape(len(pixels), -1).astype(np.float32) / 255
    random = np.random.default_rng(0)
    first = random.normal(0, 0.02, (images.shape[1], HIDDEN)).astype(np.float32)
    second = random.normal(0, 0.02, (HIDDEN, 200)).astype(np.float32)

    while not run.is_over():
        chosen = random.integers(len(images), size=BATCH)
        x, y = images[chosen], labels[chosen]
        hidden = np.maximum(x @ first, 0)
        scores = hidden @ second
        scores -= scores.max(1, keepdims=True)
        gradient = np.exp(scores)
        gradient /= gradient.sum(1, keepdims=True)
        gradient[np.arange(BATCH), y] -= 1
        gradient /= BATCH
        inner = gradient @ second.T * (hidden > 0)
        second -= 0.01 * (hidden.T @ gradient)
        first -= 0.01 * (x.T @ inner)
        run.count(BATCH)
    run.print_result()


if __name__ == "__main__":
    main()
