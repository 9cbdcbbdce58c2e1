"""SPDL's thread pipeline with FFmpeg's MJPEG decoder.

Each task demultiplexes a file, gets the image size from the packet, and uses one FFmpeg filter graph to crop, scale
(bilinear), flip and convert to RGB. The frames of a batch are combined with one copy and normalised by torch. One
worker thread per core.
Candidates: one or several images per task (fewer transfers through the event loop), prefetch of one or two batches.
FFmpeg is installed from Debian packages.
"""

from bench.peers.inputs import CROP, IMAGENET_MEAN, IMAGENET_STD, crop_box, image_files, middle_box

ENVIRONMENT = "torch"
JOBS = ["imagenet-train", "imagenet-eval"]


def candidates(job):
    cores = job["cores"]
    return [
        {"threads": cores, "images_per_task": 16, "ahead": 2},
        {"threads": cores, "images_per_task": 1, "ahead": 2},
        {"threads": cores, "images_per_task": 64, "ahead": 1},
        {"threads": 2 * cores, "images_per_task": 16, "ahead": 2},
    ]


def batches(job, settings):
    import random

    import spdl.io
    import torch
    from spdl.pipeline import PipelineBuilder

    torch.set_num_threads(1)
    files = image_files(job["data"])
    trains = job["job"] == "imagenet-train"
    scale = torch.tensor([1 / (255 * s) for s in IMAGENET_STD])
    bias = torch.tensor([-m / s for m, s in zip(IMAGENET_MEAN, IMAGENET_STD)])
    chunk = settings["images_per_task"]

    def source():
        while True:
            order = random.sample(files, len(files))
            for start in range(0, len(order) - chunk + 1, chunk):
                yield order[start : start + chunk]

    def decode(items):
        frames = []
        for path, label in items:
            packets = spdl.io.demux_image(path)
            x, y, w, h = (crop_box if trains else middle_box)(packets.width, packets.height)
            flip = "hflip," if trains and random.random() < 0.5 else ""
            graph = f"crop={w}:{h}:{x}:{y}:exact=1,scale={CROP}:{CROP}:flags=bilinear,{flip}format=rgb24"
            frames.append((spdl.io.decode_packets(packets, filter_desc=graph), label))
        return frames

    def collate(chunks):
        frames = [item for items in chunks for item in items]
        buffer = spdl.io.convert_frames([frame for frame, _ in frames])
        images = torch.from_numpy(spdl.io.to_numpy(buffer)).float().mul_(scale).add_(bias)
        return images, torch.tensor([label for _, label in frames])

    assert job["batch"] % chunk == 0, "the batch must be a multiple of images_per_task"
    pipeline = (
        PipelineBuilder()
        .add_source(source())
        .pipe(decode, concurrency=settings["threads"])
        .aggregate(job["batch"] // chunk)
        .pipe(collate)
        .add_sink(settings["ahead"])
        .build(num_threads=settings["threads"])
    )
    with pipeline.auto_stop():
        yield from pipeline
