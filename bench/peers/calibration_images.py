"""Photographs as the evaluation of the networks prepares them, for the calibration of the peers that quantise."""

from bench.peers.inputs import CROP, EVAL_RESIZE, IMAGENET_MEAN, IMAGENET_STD, image_files

IMAGES = 128  # as our side


def calibration_images(folder):
    """Yields float32 arrays of 1 x 3 x CROP x CROP."""
    import numpy
    from PIL import Image

    for path, _ in image_files(folder)[:: max(1, len(image_files(folder)) // IMAGES)][:IMAGES]:
        with Image.open(path) as image:
            pixels = image.convert("RGB")
        scale = EVAL_RESIZE / min(pixels.size)
        pixels = pixels.resize([round(side * scale) for side in pixels.size], Image.Resampling.BILINEAR)
        left, top = ((side - CROP) // 2 for side in pixels.size)
        values = numpy.asarray(pixels.crop((left, top, left + CROP, top + CROP)), numpy.float32) / 255
        values = (values - numpy.float32(IMAGENET_MEAN)) / numpy.float32(IMAGENET_STD)
        yield numpy.ascontiguousarray(values.transpose(2, 0, 1)[None])
