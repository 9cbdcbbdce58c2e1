"""The comparisons `operation/<name>`: each operation alone, compared with the equivalent operation of torchvision.

One row per operation: our pipeline, and a function that creates the transform from `torchvision.transforms.v2`. If
torchvision has no equivalent, the peer is a plain copy of the image by our side. Random operations are applied with
probability 1, so that their cost is measured. Operations of the library without a row have their defaults and no
equivalent.

With `side` 0 the input is the photographs (about 500 x 375 pixels), otherwise squares of `side`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

ALL_IMAGES = ("pillow", "planes", "channels_last")
IMAGES = 64
BATCH = 64
CLASSES = 1000
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
UINT8 = "output: {type: uint8, layout: NHWC}"


@dataclass(frozen=True)
class Operation:
    name: str
    ours: str  # YAML of one operation
    theirs: Callable[[Any], Any] | None  # called with torchvision.transforms.v2
    side: int = 224
    images: tuple[str, ...] = ALL_IMAGES  # input types to try for torchvision
    output: str = UINT8
    batch: bool = False  # a batch operation: float32, NCHW

    def job(self) -> dict[str, Any]:
        if self.batch:
            return {"job": "batch-operation", "operation": self.name, "batch": BATCH, "side": self.side,
                    "classes": CLASSES, "operations": f"batch_operations: [{self.ours}]"}
        return {"job": "operation", "operation": self.name, "images": IMAGES, "side": self.side,
                "operations": f"operations: [{self.ours}]\n{self.output}"}


def _resized(name: str, interpolation: str, images: tuple[str, ...] = ALL_IMAGES) -> Operation:
    how = {"area": "BOX"}.get(interpolation, interpolation.upper())
    return Operation(name, f"resize: {{size: [224, 224], interpolation: {interpolation}}}",
                     lambda v2: v2.Resize([224, 224], v2.InterpolationMode[how], antialias=True), side=0, images=images)


def _jitter(name: str, amount: float, ours: str) -> Operation:
    return Operation(name, f"{name}: {{{ours}}}", lambda v2: v2.ColorJitter(**{name: amount}))


def _normalised(kind: str, layout: str) -> Operation:
    def theirs(v2: Any) -> Any:
        import torch

        return v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD),
                           v2.ToDtype(getattr(torch, kind))])

    return Operation(f"normalise-{kind}-{layout}", "", theirs,
                     images=("planes",) if layout == "nchw" else ("channels_last",),
                     output=f"output: {{type: {kind}, layout: {layout.upper()}, mean: {list(MEAN)}, "
                            f"std: {list(STD)}}}")


def _bilinear(v2: Any) -> dict[str, Any]:
    return {"interpolation": v2.InterpolationMode.BILINEAR}


def missing_rows(rows: Iterable[Operation]) -> list[Operation]:
    """Returns rows for the library's operations that `rows` lacks: their defaults, with probability 1.

    Raises ValueError for an operation that requires a parameter.
    """
    table = (Path(__file__).parents[1] / "unstarve/ops/operation_table.inl").read_text()
    names = {row.name for row in rows}
    missing = []
    for name, help_text in re.findall(r'^OPERATION\((\w+),((?:\s*"(?:[^"\\]|\\.)*")+)\)', table, re.MULTILINE):
        if name in names:
            continue
        if "(required)" in help_text:
            raise ValueError(f"bench/operations.py: no row for {name}, which requires a parameter; expected one")
        missing.append(Operation(name, f"{name}: {{probability: 1}}" if "probability" in help_text else f"{name}: {{}}",
                                 None))
    return missing


_ROWS = (
    Operation("random_resized_crop", "random_resized_crop: {size: 224}",
              lambda v2: v2.RandomResizedCrop(224, antialias=True), side=0),
    _resized("resize", "bilinear"),
    _resized("resize-nearest", "nearest"),
    _resized("resize-bicubic", "bicubic"),
    _resized("resize-lanczos", "lanczos", ("pillow",)),
    _resized("resize-box", "box", ("pillow",)),
    _resized("resize-area", "area", ("pillow",)),  # compared with BOX; resize/opencv-area has the same definition
    Operation("center_crop", "center_crop: {size: 192}", lambda v2: v2.CenterCrop(192)),
    Operation("pad_crop", "pad_crop: {size: 224, padding: 4}", lambda v2: v2.RandomCrop(224, padding=4)),
    Operation("horizontal_flip", "horizontal_flip: {probability: 1}", lambda v2: v2.RandomHorizontalFlip(1)),
    Operation("alternating_flip", "alternating_flip: {}", None),
    Operation("vertical_flip", "vertical_flip: {probability: 1}", lambda v2: v2.RandomVerticalFlip(1)),
    _jitter("brightness", 0.4, "factor: [0.6, 1.4]"),
    _jitter("contrast", 0.4, "factor: [0.6, 1.4]"),
    _jitter("saturation", 0.4, "factor: [0.6, 1.4]"),
    _jitter("hue", 0.1, "shift: [-0.1, 0.1]"),
    Operation("color_jitter", "color_jitter: {}", lambda v2: v2.ColorJitter(0.4, 0.4, 0.4, 0.1)),
    Operation("grayscale", "grayscale: {probability: 1}", lambda v2: v2.RandomGrayscale(1)),
    Operation("posterize", "posterize: {bits: 4, probability: 1}", lambda v2: v2.RandomPosterize(4, 1)),
    Operation("solarize", "solarize: {threshold: 128, probability: 1}", lambda v2: v2.RandomSolarize(128, 1)),
    Operation("invert", "invert: {probability: 1}", lambda v2: v2.RandomInvert(1)),
    Operation("auto_contrast", "auto_contrast: {probability: 1}", lambda v2: v2.RandomAutocontrast(1)),
    Operation("equalize", "equalize: {probability: 1}", lambda v2: v2.RandomEqualize(1)),
    Operation("random_channel_permutation", "random_channel_permutation: {}", lambda v2: v2.RandomChannelPermutation()),
    Operation("lighting", "lighting: {}", None),
    Operation("erasing", "erasing: {probability: 1}", lambda v2: v2.RandomErasing(1),
              images=("planes", "channels_last")),
    Operation("erasing-noise", "erasing: {probability: 1, value: random}",
              lambda v2: v2.RandomErasing(1, value="random"), images=("planes", "channels_last")),
    Operation("cutout", "cutout: {size: 64}", None),
    Operation("rotation", "rotation: {degrees: [-30, 30]}", lambda v2: v2.RandomRotation(30, **_bilinear(v2))),
    Operation("affine", "affine: {}", lambda v2: v2.RandomAffine(15, (0.1, 0.1), (0.9, 1.1), **_bilinear(v2))),
    Operation("perspective", "perspective: {probability: 1}", lambda v2: v2.RandomPerspective(0.5, 1, **_bilinear(v2))),
    Operation("sharpness", "sharpness: {factor: 1.4}", lambda v2: v2.RandomAdjustSharpness(1.4, 1)),
    Operation("gaussian_blur", "gaussian_blur: {radius: 6, probability: 1}",
              lambda v2: v2.GaussianBlur(13, (0.1, 2.0))),
    Operation("rand_augment", "rand_augment: {}", lambda v2: v2.RandAugment()),
    Operation("trivial_augment", "trivial_augment: {}", lambda v2: v2.TrivialAugmentWide()),
    Operation("one_of", "one_of: {choices: invert probability=1; solarize probability=1}",
              lambda v2: v2.RandomChoice([v2.RandomInvert(1), v2.RandomSolarize(128, 1)])),
    Operation("aug_mix", "aug_mix: {}", lambda v2: v2.AugMix()),
    *(Operation(f"auto_augment_{policy}", f"auto_augment_{policy}: {{}}",
                lambda v2, policy=policy: v2.AutoAugment(v2.AutoAugmentPolicy(policy)))
      for policy in ("imagenet", "cifar10", "svhn")),
    *(_normalised(kind, layout) for kind in ("float32", "bfloat16", "float16") for layout in ("nchw", "nhwc")),
    Operation("one_hot", "one_hot: {}", lambda v2: _one_hot, batch=True, images=("planes",)),
    Operation("label_smoothing", "label_smoothing: {}", lambda v2: _smoothed, batch=True, images=("planes",)),
    Operation("mixup", "mixup: {}", lambda v2: v2.MixUp(alpha=0.2, num_classes=CLASSES), batch=True,
              images=("planes",)),
    Operation("cutmix", "cutmix: {}", lambda v2: v2.CutMix(alpha=1.0, num_classes=CLASSES), batch=True,
              images=("planes",)),
)
OPERATIONS = (*_ROWS, *missing_rows(_ROWS))


def _one_hot(images: Any, labels: Any) -> Any:
    import torch

    return images, torch.nn.functional.one_hot(labels, CLASSES).float()


def _smoothed(images: Any, labels: Any) -> Any:
    return images, _one_hot(images, labels)[1].mul_(0.9).add_(0.1 / CLASSES)
