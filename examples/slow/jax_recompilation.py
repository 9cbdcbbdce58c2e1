"""The training step is compiled again in almost every step.

Cause:  batches have random image sizes (multi-scale training), and jax.jit compiles for each shape.
Effect: the compiler uses more time than training.
Fix:    pad the images to one size.
"""

import common

common.require("jax", "jax")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

LARGEST = 96


def loss_of(parameters, images, labels):
    kernel, weights = parameters
    x = jax.lax.conv_general_dilated(images, kernel, (4, 4), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    logits = jax.nn.relu(x).mean((1, 2)) @ weights
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


@jax.jit
def train_step(parameters, images, labels):
    gradients = jax.grad(loss_of)(parameters, images / 255.0, labels)
    return jax.tree.map(lambda value, gradient: value - 0.01 * gradient, parameters, gradients)


def main():
    run = common.Run(__doc__)
    pixels, labels = common.pixels(run.data, LARGEST)
    random = np.random.default_rng(0)
    parameters = (jnp.array(random.normal(0, 0.1, (7, 7, 3, 32)), jnp.float32),
                  jnp.array(random.normal(0, 0.1, (32, 200)), jnp.float32))

    while not run.is_over():
        chosen = random.integers(len(pixels), size=32)
        height, width = random.integers(LARGEST // 2, LARGEST + 1, size=2)
        images = pixels[chosen, :height, :width].astype(np.float32)
        if run.fixed:
            images = np.pad(images, ((0, 0), (0, LARGEST - height), (0, LARGEST - width), (0, 0)))
        parameters = jax.block_until_ready(train_step(parameters, images, labels[chosen]))
        run.count(len(images))
    run.print_result()


if __name__ == "__main__":
    main()
