"""PyTorch's DataLoader, shared by the loaders torchvision and pillow and by peers of bench/. Not a loader.

The job "functions" compares only what the Dataset calls: all its sides use un.DataLoader.

Settings:
workers    worker processes (persistent); 0: in the main process
prefetch   prefetch_factor: batches that each worker prefetches
normalise  where uint8 is converted to normalised float32: "sample" (in the worker, per image), "batch" (in the worker,
           on the stacked batch), "main" (the worker sends uint8; the main process writes float32 into a reused batch)
           or "transform" (the samples are normalised float32 already)
The sampler is endless (one permutation after another), so that short epochs do not drain the workers; real datasets
have thousands of batches per epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .inputs import CIFAR_MEAN, CIFAR_STD, IMAGENET_MEAN, IMAGENET_STD, Job

if TYPE_CHECKING:
    import torch

    Load = Callable[[int], tuple[torch.Tensor, int]]


def photograph_candidates(job: Job) -> list[dict[str, Any]]:
    """Settings to try for photographs."""
    cores = job["cores"]
    if job["job"] == "functions":
        return [{"workers": workers, "prefetch": 2, "normalise": "main"} for workers in (cores, 2 * cores)]
    return [
        {"workers": cores, "prefetch": 2, "normalise": "main"},
        {"workers": cores, "prefetch": 2, "normalise": "sample"},
        {"workers": cores, "prefetch": 4, "normalise": "batch"},
        {"workers": 2 * cores, "prefetch": 2, "normalise": "main"},
    ]


def _endless(count: int) -> Iterator[int]:
    import torch

    while True:
        yield from torch.randperm(count).tolist()


class _Samples:
    """Map-style dataset of `count` samples; `load` returns (uint8 [3, H, W] tensor, label)."""

    def __init__(self, count: int, load: Load, finish: Normalise | None) -> None:
        self.count, self.load, self.finish = count, load, finish

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image, label = self.load(index)
        return (image if self.finish is None else self.finish(image)), label


class Normalise:
    """Converts uint8 pixels, channels first, to normalised float32."""

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        import torch

        self.scale = torch.tensor([1 / (255 * s) for s in std]).view(3, 1, 1)
        self.bias = torch.tensor([-m / s for m, s in zip(mean, std)]).view(3, 1, 1)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        return images.float().mul_(self.scale).add_(self.bias)

    def into(self, images: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """Writes the result into `out`."""
        out.copy_(images)
        return out.mul_(self.scale).add_(self.bias)


class _CollateNormalised:
    def __init__(self, normalise: Normalise) -> None:
        self.normalise = normalise

    def __call__(self, samples: Sequence[tuple[torch.Tensor, int]]) -> tuple[torch.Tensor, torch.Tensor]:
        import torch
        from torch.utils.data import default_collate

        images = torch.stack([image for image, _ in samples])
        return self.normalise(images), default_collate([label for _, label in samples])


def batches(count: int, load: Load, job: Job,
            settings: dict[str, Any]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Endless iterator over batches of load(index), 0 <= index < count."""
    import torch

    DataLoader: Any
    if job["job"] == "functions":
        from unstarve import DataLoader
    else:
        from torch.utils.data import DataLoader

    cifar = job["job"].startswith("cifar")
    normalise = Normalise(CIFAR_MEAN, CIFAR_STD) if cifar else Normalise(IMAGENET_MEAN, IMAGENET_STD)
    where = settings["normalise"]
    workers = settings["workers"]
    # Workers are single-threaded (set by torch); the main process may use all cores.
    torch.set_num_threads(job["cores"])

    class Sampler(torch.utils.data.Sampler[int]):
        def __iter__(self) -> Iterator[int]:
            return _endless(count)

    loader = DataLoader(
        _Samples(count, load, normalise if where == "sample" else None),
        batch_size=job["batch"],
        sampler=Sampler(),
        num_workers=workers,
        prefetch_factor=settings["prefetch"] if workers else None,
        persistent_workers=workers > 0,
        collate_fn=_CollateNormalised(normalise) if where == "batch" else None,
        drop_last=True,
    )
    out = None
    for images, labels in loader:
        if where == "main":
            if out is None:
                out = torch.empty(images.shape)
            images = normalise.into(images, out)
        yield images, labels
