"""FFCV, built from its source distribution.

Photographs: the .beton file contains the original JPEG bytes (written by a field that does not re-encode, so that all
peers decode the same files), memory-mapped; RandomResizedCropRGBImageDecoder, flip, NormalizeImage to float32. FFCV
decodes with the fast DCT of TurboJPEG and resizes by area averaging; its C++ code has no other options. With
`write: raw` in the job the file contains decoded pixels, about seven times the size. Evaluation:
CenterCropRGBImageDecoder, which resizes only the centre crop.
CIFAR-10: raw pixels in the .beton file; SimpleRGBImageDecoder, flip, RandomTranslate(padding=4), NormalizeImage, as in
the CIFAR script of FFCV, but float32 on the CPU.
Indices are repeated, so that the start-up at each epoch does not matter.
"""

from bench.peers.inputs import (CIFAR_MEAN, CIFAR_PAD, CIFAR_STD, CROP, EVAL_RESIZE, IMAGENET_MEAN, IMAGENET_STD,
                                image_files, load_cifar)

ENVIRONMENT = "ffcv"
JOBS = ["imagenet-train", "imagenet-eval", "cifar-train"]


def candidates(job):
    cores = job["cores"]
    return [{"workers": cores, "ahead": 3}, {"workers": cores, "ahead": 1}]


def _original_jpeg_field():
    from ffcv.fields import RGBImageField
    from ffcv.fields.rgb_image import IMAGE_MODES

    class OriginalJpegField(RGBImageField):
        """Stores the bytes of a JPEG file unchanged."""

        def encode(self, destination, sample, malloc):
            data, width, height = sample
            destination["mode"] = IMAGE_MODES["jpg"]
            destination["width"], destination["height"] = width, height
            destination["data_ptr"], storage = malloc(data.nbytes)
            storage[:] = data

    return OriginalJpegField()


class _Photographs:
    def __init__(self, files, decoded):
        self.files, self.decoded = files, decoded

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        import numpy
        from PIL import Image

        path, label = self.files[index]
        with Image.open(path) as image:
            if self.decoded:
                return numpy.asarray(image.convert("RGB")), label
            width, height = image.size
        return (numpy.fromfile(path, numpy.uint8), width, height), label


class _Pixels:
    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index], int(self.labels[index])


def _write(path, image_field, samples, workers):
    from pathlib import Path

    from ffcv.fields import IntField
    from ffcv.writer import DatasetWriter

    if not path.exists():
        part = Path(str(path) + ".part")
        writer = DatasetWriter(str(part), {"image": image_field, "label": IntField()}, num_workers=workers)
        writer.from_indexed_dataset(samples)
        part.rename(path)
    return str(path)


def batches(job, settings):
    from pathlib import Path

    import numpy
    from ffcv.fields import RGBImageField
    from ffcv.fields.basics import IntDecoder
    from ffcv.fields.decoders import (CenterCropRGBImageDecoder, RandomResizedCropRGBImageDecoder,
                                      SimpleRGBImageDecoder)
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import (NormalizeImage, RandomHorizontalFlip, RandomTranslate, Squeeze, ToTensor,
                                 ToTorchImage)

    folder = Path(job["data"])
    if job["job"].startswith("imagenet"):
        raw = job.get("write") == "raw"
        samples = _Photographs(image_files(folder), raw)
        field = RGBImageField(write_mode="raw") if raw else _original_jpeg_field()
        beton = _write(folder.with_suffix(".raw.beton" if raw else ".beton"), field, samples, job["cores"])
        if job["job"] == "imagenet-eval":
            decoders = [CenterCropRGBImageDecoder((CROP, CROP), CROP / EVAL_RESIZE)]
        else:
            decoders = [RandomResizedCropRGBImageDecoder((CROP, CROP)), RandomHorizontalFlip()]
        mean, std = IMAGENET_MEAN, IMAGENET_STD
    else:
        pixels, labels = load_cifar(folder)
        samples = _Pixels(pixels.transpose(0, 2, 3, 1).copy(), labels)
        beton = _write(folder.with_suffix(".beton"), RGBImageField(write_mode="raw"), samples, job["cores"])
        decoders = [SimpleRGBImageDecoder(), RandomHorizontalFlip(), RandomTranslate(padding=CIFAR_PAD, fill=(0, 0, 0))]
        mean, std = CIFAR_MEAN, CIFAR_STD
    normalise = NormalizeImage(255 * numpy.array(mean), 255 * numpy.array(std), numpy.float32)
    repeats = max(1, 10_000 * job["batch"] // len(samples))
    loader = Loader(
        beton,
        batch_size=job["batch"],
        num_workers=settings["workers"],
        os_cache=True,
        order=OrderOption.RANDOM,
        indices=numpy.tile(numpy.arange(len(samples)), repeats),
        drop_last=True,
        batches_ahead=settings["ahead"],
        custom_fields={"image": RGBImageField},  # reads what OriginalJpegField wrote
        pipelines={
            "image": decoders + [normalise, ToTensor(), ToTorchImage()],
            "label": [IntDecoder(), ToTensor(), Squeeze()],
        },
    )
    while True:
        yield from loader
