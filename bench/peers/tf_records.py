"""tf.data reading TFRecord files: records are read with checksums, Examples are parsed per batch.

The comparison measures reading only: images stay encoded. TensorFlow's performance guide recommends parsing whole
batches (tf.io.parse_example). deterministic=False: the order of records may change.
"""

ENVIRONMENT = "tensorflow"
JOBS = ["tfrecord-read"]


def candidates(job):
    return [{"readers": readers, "buffer": buffer}
            for readers in (1, job["cores"], "auto") for buffer in (1 << 18, 1 << 20, 8 << 20)]


def batches(job, settings):
    import os

    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from pathlib import Path

    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(job["cores"])
    tf.config.threading.set_intra_op_parallelism_threads(job["cores"])
    files = sorted(str(path) for path in Path(job["data"]).glob("*.tfrecord-?????-of-?????"))
    readers = tf.data.AUTOTUNE if settings["readers"] == "auto" else settings["readers"]
    described = {"image/encoded": tf.io.FixedLenFeature([], tf.string),
                 "image/class/label": tf.io.FixedLenFeature([], tf.int64)}

    def parse(records):
        features = tf.io.parse_example(records, described)
        return features["image/encoded"], features["image/class/label"]

    data = tf.data.TFRecordDataset(files, buffer_size=settings["buffer"], num_parallel_reads=readers).repeat()
    data = data.batch(job["batch"], drop_remainder=True).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = job["cores"]
    return iter(data.prefetch(tf.data.AUTOTUNE).with_options(options))


def check(source):
    """Returns the number of records, bytes and distinct labels of one batch."""
    images, labels = next(source)
    lengths = [len(image) for image in images.numpy()]
    return {"records": len(lengths), "bytes": sum(lengths), "labels": len(set(labels.numpy().tolist()))}
