"""Shared by the peers of operation comparisons: decoded photographs in memory, and batches of one image.

Not a peer. Interpreter and library are single-threaded: rates are per core.
"""

from bench.peers.inputs import image_files


def paths(job):
    """Paths of job["images"] photographs, evenly spaced in the dataset."""
    files = image_files(job["data"])
    count = min(job["images"], len(files))
    return [files[index * len(files) // count][0] for index in range(count)]


def endless(images, operate):
    """Endless iterator over operate(image), as batches of one image."""
    while True:
        for image in images:
            yield [operate(image)], [0]


def check(source):
    image = next(source)[0][0]
    import numpy

    values = numpy.asarray(image)
    return {"shape": list(values.shape), "type": str(values.dtype), "mean": float(values.mean())}
