"""tf.data decodes one photograph at a time.

Cause:  map() without num_parallel_calls, and no prefetch(). tf.data runs functions in parallel automatically, except
        those with random operations, as the crop here.
Effect: one core decodes, and the network waits; the second core is idle most of the time.
Fix:    num_parallel_calls=tf.data.AUTOTUNE and prefetch(tf.data.AUTOTUNE).
"""

import os

import common

common.require("tensorflow", "tensorflow-cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf  # noqa: E402


def decode(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.random_crop(tf.image.resize(image, (112, 112)), (96, 96, 3))
    return image / 255, label


def main():
    run = common.Run(__doc__)
    paths, labels = zip(*common.photos(run.data), strict=True)
    data = tf.data.Dataset.from_tensor_slices((list(paths), list(labels))).shuffle(1000)
    if run.fixed:
        data = data.map(decode, num_parallel_calls=tf.data.AUTOTUNE).batch(32).prefetch(tf.data.AUTOTUNE)
    else:
        data = data.map(decode).batch(32)
    net = tf.keras.Sequential([tf.keras.layers.Conv2D(16, 7, 4, activation="relu"),
                               tf.keras.layers.AveragePooling2D(5), tf.keras.layers.Flatten(),
                               tf.keras.layers.Dense(200)])
    optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def train_step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, net(images, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables,
                                      strict=True))

    for images, labels in data:
        train_step(images, labels)
        run.count(len(images))
        if run.is_over():
            break
    run.print_result()


if __name__ == "__main__":
    main()
