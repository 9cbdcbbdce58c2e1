"""SPDL's tar iterator, `spdl.io.iter_tarfile`, over the shards: members are grouped into samples, nothing is decoded.

The iterator is written in C++. By default it reads a file object, as in its documentation, and copies each member. With
`mapped` in the job it reads the shard as one buffer: a memory map that is reused in every pass, as on our side. Members
are then views, so their bytes are touched explicitly: one byte per cache line with NumPy, or all bytes with a copy. The
label is always parsed. There are as many workers as cores, each with its own shards. They send image sizes instead of
image bytes, so that the transfer between processes is not measured. Candidates: one worker, processes and threads; file
objects with and without Python's buffer. FFmpeg is not needed.
"""

from bench.peers.web_dataset import check  # noqa: F401

ENVIRONMENT = "spdl-tar"
JOBS = ["tar-read"]
CHUNK = 4096  # samples per queue item; a transfer between processes takes 100 us


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
    """Functions by name that read the bytes of a view; members of a file object were already copied."""
    import numpy

    def lines(view):
        numpy.bitwise_or.reduce(numpy.frombuffer(view, numpy.uint8)[::64])

    return {"lines": lines, "copy": bytes, "none": lambda content: None}


def _map(path):
    import mmap

    with open(path, "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))


def samples_of(files, source, touch):
    """Endless iterator of (image size in bytes, label)."""
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
                assert name.endswith(".jpg"), f"{files[number]}: {name} found; expected an image"
                touch(image)
                yield len(image), int(bytes(label))


def read_shards(files, settings, queue):
    import itertools

    samples = samples_of(files, settings["source"], _touches()[settings["touch"]])
    while True:
        queue.put(list(itertools.islice(samples, CHUNK)))


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
