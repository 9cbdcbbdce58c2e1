"""An upper bound for packing without resize: the files are concatenated into one file, synced and renamed.

Files are read whole from the page cache and not inspected.
"""

import os
from pathlib import Path

from bench.peers.pillow_pack import check  # noqa: F401

ENVIRONMENT = ""
JOBS = ["pack"]


def candidates(job):
    return [{"buffer": bytes_} for bytes_ in (1 << 20, 8 << 20)]


def batches(job, settings):
    import atexit

    from bench.peers.inputs import image_files

    files = image_files(job["data"])
    final = Path(job["data"]).parent / f"written-plainly-{os.getpid()}"
    part = final.with_suffix(".part")
    atexit.register(lambda: [path.unlink(missing_ok=True) for path in (final, part)])

    def passes():
        while True:
            with open(part, "wb", buffering=settings["buffer"]) as out:
                for path, label in files:
                    body = Path(path).read_bytes()
                    out.write(body)
                    yield [body], [label]
                out.flush()
                os.fsync(out.fileno())
            part.rename(final)

    return passes()
