"""SPDL's tar iterator, `spdl.io.iter_tarfile`, over the shards: members grouped into samples, nothing decoded.

The iterator is C++. It is given a file object, as its documentation shows for a file: each member comes as bytes of its
own. With `mapped` in the job it is given the shard as one run of bytes, which its documentation reads into memory: here
a map, which stays from pass to pass as ours do. A member is then a view and has read nothing by itself, so its bytes
are touched, one per cache line by NumPy or all of them by a copy. The label is parsed either way. As many workers as
cores, each with its own shards; they tell how long the images are and hand no bytes over, which would be charged to
them besides. Tried: one worker, processes and threads; file objects with and without Python's buffer.
Its Debian libraries of FFmpeg are not needed for this.
"""

from bench.peers.web_dataset import check  # noqa: F401

ENVIRONMENT = "spdl-tar"
JOBS = ["tar-read"]
HAND_OVER = 4096  # samples at a time: through a queue of processes one of 256 would cost 100 us


def candidates(job):
    cores = job["cores"]
    if job.get("mapped"):
        return [
            {"workers": cores, "kind": "processes", "source": "map", "touch": "lines"},
            {"workers": cores, "kind": "processes", "source": "map", "touch": "copy"},
            {"workers": cores, "kind": "threads", "source": "map", "touch": "lines"},
            {"workers": 1, "kind": "threads", "source": "map", "touch": "lines"},
        ]
    return [
        {"workers": cores, "kind": "processes", "source": "file", "touch": "none"},
        {"workers": cores, "kind": "processes", "source": "raw file", "touch": "none"},
        {"workers": cores, "kind": "threads", "source": "file", "touch": "none"},
        {"workers": 1, "kind": "threads", "source": "file", "touch": "none"},
    ]


def _touches():
    """By name: what reads the bytes of a view. A member from a file object was copied already."""
    import numpy

    def lines(view):
        numpy.bitwise_or.reduce(numpy.frombuffer(view, numpy.uint8)[::64])

    return {"lines": lines, "copy": bytes, "none": lambda content: None}


def _map(path):
    import mmap

    with open(path, "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))


def samples_of(files, source, touch):
    """(bytes of the image, label) of every sample, endlessly."""
    from spdl.io import iter_tarfile

    maps = [_map(path) for path in files] if source == "map" else []

    def members(number):
        if maps:
            yield from iter_tarfile(maps[number])
        else:
            with open(files[number], "rb", buffering=-1 if source == "file" else 0) as file:
                yield from iter_tarfile(file)

    while True:
        for number in range(len(files)):
            pairs = members(number)
            for (name, image), (_, label) in zip(pairs, pairs, strict=True):
                assert name.endswith(".jpg"), f"{files[number]}: {name} where an image was expected"
                touch(image)
                yield len(image), int(bytes(label))


def read_shards(files, settings, queue):
    import itertools

    samples = samples_of(files, settings["source"], _touches()[settings["touch"]])
    while True:
        queue.put(list(itertools.islice(samples, HAND_OVER)))


def batches(job, settings):
    import multiprocessing
    import queue
    import threading
    from pathlib import Path

    files = sorted(str(path) for path in Path(job["data"]).glob("*.tar"))
    context = multiprocessing.get_context("spawn")
    worker, filled = ((context.Process, context.Queue(4)) if settings["kind"] == "processes" else
                      (threading.Thread, queue.Queue(4)))
    for number in range(settings["workers"]):
        mine = files[number :: settings["workers"]]
        worker(target=read_shards, args=(mine, settings, filled), daemon=True).start()
    while True:
        pairs = filled.get()
        yield [length for length, _ in pairs], [label for _, label in pairs]
