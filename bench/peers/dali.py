"""NVIDIA DALI on the CPU alone (no device is opened).

File reader with a shuffle buffer over the whole set, image_random_crop decoder (decodes only the crop), antialiased
linear resize, crop_mirror_normalize to float32. One thread per core.
Tried: both executors, queue depth 1 and 2, output NCHW and NHWC. Accurate DCT is DALI's default and kept.
"""

from bench.peers.inputs import CROP, IMAGENET_MEAN, IMAGENET_STD

ENVIRONMENT = "dali"
JOBS = ["imagenet-train"]


def candidates(job):
    cores = job["cores"]
    return [
        {"threads": cores, "queue": 2, "dynamic": True, "layout": "HWC"},
        {"threads": cores, "queue": 2, "dynamic": True, "layout": "CHW"},
        {"threads": cores, "queue": 2, "dynamic": False, "layout": "HWC"},
        {"threads": cores, "queue": 1, "dynamic": True, "layout": "HWC"},
    ]


def batches(job, settings):
    import numpy
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(
        batch_size=job["batch"],
        num_threads=settings["threads"],
        device_id=None,
        prefetch_queue_depth=settings["queue"],
        exec_dynamic=settings["dynamic"],
        seed=job["seed"],
    )
    def pipeline():
        data, label = fn.readers.file(file_root=job["data"], random_shuffle=True, initial_fill=2048)
        image = fn.decoders.image_random_crop(
            data, device="cpu", output_type=types.RGB, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
        )
        image = fn.resize(image, size=[CROP, CROP], interp_type=types.INTERP_LINEAR, antialias=True)
        image = fn.crop_mirror_normalize(
            image,
            dtype=types.FLOAT,
            output_layout=settings["layout"],
            mean=[255 * m for m in IMAGENET_MEAN],
            std=[255 * s for s in IMAGENET_STD],
            mirror=fn.random.coin_flip(),
        )
        return image, label

    built = pipeline()
    built.build()
    while True:
        images, labels = built.run()
        # Views of one dense tensor each, valid until the next run().
        yield numpy.asarray(images.as_tensor()), numpy.asarray(labels.as_tensor())
