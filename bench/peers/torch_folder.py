"""torchvision's ImageFolder and PyTorch's DataLoader from opening to the first batch, repeatedly.

Timed: ImageFolder lists the tree, the DataLoader starts and shuffles, 256 images are read, decoded, augmented and
normalised. Not timed: start of the interpreter, imports, and shutdown of the workers. The order differs every time.
Candidates: no workers, and one worker per core with prefetch_factor 1 or 2 (the default); Pillow, the default of
ImageFolder, or the decoder of torchvision. The augmentation works on uint8, and the main process normalises the batch.
One worker produces the first batch, so workers only add their start-up time and no workers is faster. "workers": true
in the job requires workers, as in real training.
"""

from bench.peers.inputs import CIFAR_MEAN, CIFAR_PAD, CIFAR_STD

ENVIRONMENT = "torchvision"
JOBS = ["folder-first-batch"]
SIDE = 32


def candidates(job):
    cores = job["cores"]
    without = [] if job.get("workers") else [(0, None)]
    return [{"workers": workers, "prefetch": prefetch, "decode": decode}
            for workers, prefetch in [*without, (cores, 1), (cores, 2)] for decode in ("torchvision", "pillow")]


class FirstBatches:
    """Iterator of first batches; `seconds` is the time of the last one."""

    def __init__(self, job, settings):
        import torch
        from torchvision.io import ImageReadMode, decode_jpeg, read_file
        from torchvision.transforms import v2

        from bench.peers.torch_loader import Normalise

        torch.set_num_threads(job["cores"])
        torch.manual_seed(job["seed"])
        self.job, self.settings, self.seconds = job, settings, 0.0
        augment = [v2.RandomCrop(SIDE, padding=CIFAR_PAD), v2.RandomHorizontalFlip()]
        if settings["decode"] == "pillow":
            self.folder = {"transform": v2.Compose([*augment, v2.PILToTensor()])}
        else:
            self.folder = {"transform": v2.Compose(augment),
                           "loader": lambda path: decode_jpeg(read_file(path), mode=ImageReadMode.RGB)}
        self.normalise = Normalise(CIFAR_MEAN, CIFAR_STD)

    def __iter__(self):
        return self

    def __next__(self):
        import time

        from torch.utils.data import DataLoader
        from torchvision.datasets import ImageFolder

        start = time.perf_counter()
        loader = DataLoader(ImageFolder(self.job["data"], **self.folder), batch_size=self.job["batch"], shuffle=True,
                            num_workers=self.settings["workers"], prefetch_factor=self.settings["prefetch"],
                            drop_last=True)
        batches = iter(loader)
        images, labels = next(batches)
        images = self.normalise(images)
        self.seconds = time.perf_counter() - start
        return images, labels


def batches(job, settings):
    return FirstBatches(job, settings)
