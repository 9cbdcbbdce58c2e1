"""OpenCV's resize with INTER_AREA on decoded photographs in memory; one thread, reused output buffer."""

from bench.peers import image_operations
from bench.peers.image_operations import check

ENVIRONMENT = "opencv"
JOBS = ["resize"]
__all__ = ["ENVIRONMENT", "JOBS", "batches", "candidates", "check"]


def candidates(job):
    return [{}]


def batches(job, settings):
    import cv2
    import numpy

    cv2.setNumThreads(1)
    images = [cv2.imread(path, cv2.IMREAD_COLOR) for path in image_operations.paths(job)]
    height, width = job["size"]
    out = numpy.empty((height, width, 3), numpy.uint8)

    def resize(image):
        return cv2.resize(image, (width, height), dst=out, interpolation=cv2.INTER_AREA)

    return image_operations.endless(images, resize)
