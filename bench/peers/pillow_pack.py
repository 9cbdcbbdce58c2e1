"""A typical script that packs photographs with Pillow: a pool of workers resizes, one writer fills a tar archive.

Image.open, RGB, antialiased bilinear resize of the short side, JPEG of quality 90; smaller images are not re-encoded.
Draft mode (decoding at reduced scale) is not used, because it changes the pixels. Each pass writes one archive, synced
and renamed like the shards of unstarve.
"""

import io
import os
import tarfile
from pathlib import Path

ENVIRONMENT = ""  # the tests need Pillow, too
JOBS = ["pack"]


def candidates(job):
    cores = job["cores"]
    return [{"pool": pool, "workers": workers, "chunk": chunk}
            for pool in ("processes", "threads") for workers in (cores, 2 * cores) for chunk in (1, 16)]


def _pack_one(task):
    path, side = task
    from PIL import Image

    data = Path(path).read_bytes()
    with Image.open(io.BytesIO(data)) as image:
        width, height = image.size
        if min(width, height) <= side:
            return data
        size = (side, side * height // width) if width <= height else (side * width // height, side)
        small = image.convert("RGB").resize(size, Image.Resampling.BILINEAR)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=90)
    return out.getvalue()


def batches(job, settings):
    import atexit
    import multiprocessing
    import multiprocessing.pool

    from bench.peers.inputs import image_files

    files = image_files(job["data"])
    folder = Path(job["data"]).parent
    final = folder / f"packed-by-pillow-{os.getpid()}.tar"
    part = final.with_suffix(".part")
    atexit.register(lambda: [path.unlink(missing_ok=True) for path in (final, part)])
    make = multiprocessing.Pool if settings["pool"] == "processes" else multiprocessing.pool.ThreadPool
    pool = make(settings["workers"])
    tasks = [(path, job["resize"]) for path, _ in files]

    def add(archive, name, body):
        member = tarfile.TarInfo(name)
        member.size = len(body)
        archive.addfile(member, io.BytesIO(body))

    def passes():
        while True:
            with open(part, "wb") as file:
                with tarfile.open(fileobj=file, mode="w") as archive:
                    packed = pool.imap(_pack_one, tasks, chunksize=settings["chunk"])
                    for number, ((_, label), body) in enumerate(zip(files, packed, strict=True)):
                        add(archive, f"{number:08}.jpg", body)
                        add(archive, f"{number:08}.cls", str(label).encode())
                        yield [body], [label]
                file.flush()
                os.fsync(file.fileno())
            part.rename(final)

    return passes()


def check(source):
    """Returns the number of records, bytes and distinct labels of 160 samples."""
    seen = [next(source) for _ in range(160)]
    return {"records": len(seen), "bytes": sum(len(bodies[0]) for bodies, _ in seen),
            "labels": len({labels[0] for _, labels in seen})}
