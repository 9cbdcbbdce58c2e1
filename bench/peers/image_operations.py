"""What the peers of the operations' comparisons share: photographs that lie decoded in memory, and batches of one.

Not a peer of its own. The interpreter is single-threaded, and so is the library it calls: rates are per core.
"""

from bench.peers.inputs import image_files


def paths(job):
    """The job's photographs: as many as it says, spread over all of them."""
    files = image_files(job["data"])
    count = min(job["images"], len(files))
    return [files[index * len(files) // count][0] for index in range(count)]


def endless(images, operate):
    """operate(image) of one after the other, without end, as batches of one."""
    while True:
        for image in images:
            yield [operate(image)], [0]


def check(source):
    image = next(source)[0][0]
    import numpy

    values = numpy.asarray(image)
    return {"shape": list(values.shape), "type": str(values.dtype), "mean": float(values.mean())}
