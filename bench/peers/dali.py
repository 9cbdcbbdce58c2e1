"""NVIDIA DALI on the CPU (no device is opened).

File reader with a shuffle buffer over the whole dataset, image_random_crop decoder (decodes only the crop), antialiased
linear resize, crop_mirror_normalize to float32, one thread per core. Evaluation: image decoder, resize of the short
side, centre crop by crop_mirror_normalize, as in the ImageNet examples of DALI; or image_slice decodes only the centre
crop, which is then resized.
Candidates: both executors, queue depth 1 and 2, output NCHW and NHWC. The DCT is accurate, as by default.
"""

from bench.peers.inputs import CROP, EVAL_RESIZE, IMAGENET_MEAN, IMAGENET_STD

ENVIRONMENT = "dali"
JOBS = ["imagenet-train", "imagenet-eval"]


def candidates(job):
    cores = job["cores"]
    settings = [
        {"threads": cores, "queue": 2, "dynamic": True, "layout": "HWC"},
        {"threads": cores, "queue": 2, "dynamic": True, "layout": "CHW"},
        {"threads": cores, "queue": 2, "dynamic": False, "layout": "HWC"},
        {"threads": cores, "queue": 1, "dynamic": True, "layout": "HWC"},
    ]
    if job["job"] == "imagenet-train":
        return settings
    return [one | {"slice": middle} for one in settings for middle in (True, False)]


def batches(job, settings):
    import numpy
    from nvidia.dali import fn, pipeline_def, types

    trains = job["job"] == "imagenet-train"

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
        if trains:
            image = fn.decoders.image_random_crop(
                data, device="cpu", output_type=types.RGB, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
            )
        elif settings["slice"]:
            size = fn.cast(fn.peek_image_shape(data)[0:2], dtype=types.FLOAT)
            side = fn.reductions.min(size) * (CROP / EVAL_RESIZE)
            middle = fn.stack(side, side)
            image = fn.decoders.image_slice(
                data, (size - middle) / 2, middle, device="cpu", output_type=types.RGB, axes=[0, 1],
                normalized_anchor=False, normalized_shape=False
            )
        else:
            image = fn.decoders.image(data, device="cpu", output_type=types.RGB)
        target = {"size": [CROP, CROP]} if trains or settings["slice"] else {"resize_shorter": EVAL_RESIZE}
        image = fn.resize(image, interp_type=types.INTERP_LINEAR, antialias=True, **target)
        image = fn.crop_mirror_normalize(
            image,
            dtype=types.FLOAT,
            output_layout=settings["layout"],
            mean=[255 * m for m in IMAGENET_MEAN],
            std=[255 * s for s in IMAGENET_STD],
            crop=(CROP, CROP),
            mirror=fn.random.coin_flip() if trains else 0,
        )
        return image, label

    built = pipeline()
    built.build()
    while True:
        images, labels = built.run()
        # Views of one dense tensor each, valid until the next run().
        yield numpy.asarray(images.as_tensor()), numpy.asarray(labels.as_tensor())
