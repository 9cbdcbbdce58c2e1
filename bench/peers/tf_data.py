"""tf.data on the CPU, as in TensorFlow's ImageNet scripts.

sample_distorted_bounding_box draws the crop, tf.io.decode_and_crop_jpeg decodes only the crop, bilinear resize without
antialiasing (the default; faster than the antialiased resize of the other peers), flip, normalise. Parallelism and
prefetch by AUTOTUNE, deterministic=False, a private thread pool of one thread per core.
Candidates: normalisation per image or per batch; map and batch fused by the graph optimiser.
"""

from bench.peers.inputs import CROP, EVAL_RESIZE, IMAGENET_MEAN, IMAGENET_STD, image_files

ENVIRONMENT = "tensorflow"
JOBS = ["imagenet-train", "imagenet-eval"]


def candidates(job):
    return [
        {"normalise": "image", "fuse": False, "parallel": "auto"},
        {"normalise": "batch", "fuse": False, "parallel": "auto"},
        {"normalise": "image", "fuse": True, "parallel": "auto"},
        {"normalise": "image", "fuse": False, "parallel": job["cores"]},
    ]


def batches(job, settings):
    import os

    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(job["cores"])
    tf.config.threading.set_intra_op_parallelism_threads(job["cores"])
    files = image_files(job["data"])
    scale = tf.constant([1 / (255 * s) for s in IMAGENET_STD])
    bias = tf.constant([-m / s for m, s in zip(IMAGENET_MEAN, IMAGENET_STD)])
    parallel = tf.data.AUTOTUNE if settings["parallel"] == "auto" else settings["parallel"]

    def normalise(images):
        return images * scale + bias

    def load_middle(path, label):
        data = tf.io.read_file(path)
        shape = tf.io.extract_jpeg_shape(data)
        # Decodes and resizes only the centre crop, as if the short side were resized to EVAL_RESIZE.
        side = tf.cast(tf.cast(tf.minimum(shape[0], shape[1]), tf.float32) * (CROP / EVAL_RESIZE), tf.int32)
        window = tf.stack([(shape[0] - side) // 2, (shape[1] - side) // 2, side, side])
        image = tf.io.decode_and_crop_jpeg(data, window, channels=3, dct_method="INTEGER_ACCURATE")
        image = tf.image.resize(image, (CROP, CROP), method="bilinear")
        return (normalise(image) if settings["normalise"] == "image" else image), label

    def load(path, label):
        data = tf.io.read_file(path)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(data),
            tf.zeros([1, 0, 4]),
            min_object_covered=0.0,
            aspect_ratio_range=(3 / 4, 4 / 3),
            area_range=(0.08, 1.0),
            max_attempts=10,
            use_image_if_no_bounding_boxes=True,
        )
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        image = tf.io.decode_and_crop_jpeg(data, window, channels=3, dct_method="INTEGER_ACCURATE")
        image = tf.image.resize(image, (CROP, CROP), method="bilinear")
        image = tf.image.random_flip_left_right(image)
        return (normalise(image) if settings["normalise"] == "image" else image), label

    data = tf.data.Dataset.from_tensor_slices(([path for path, _ in files], [label for _, label in files]))
    data = data.shuffle(len(files)).repeat()
    data = data.map(load_middle if job["job"] == "imagenet-eval" else load, num_parallel_calls=parallel,
                    deterministic=False)
    data = data.batch(job["batch"], drop_remainder=True)
    if settings["normalise"] == "batch":
        data = data.map(lambda images, labels: (normalise(images), labels), num_parallel_calls=parallel)
    options = tf.data.Options()
    options.threading.private_threadpool_size = job["cores"]
    options.experimental_optimization.map_and_batch_fusion = settings["fuse"]
    return iter(data.prefetch(tf.data.AUTOTUNE).with_options(options))
