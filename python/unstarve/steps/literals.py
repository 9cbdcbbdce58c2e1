"""The values of arguments that are one of a few texts."""

from __future__ import annotations

from typing import Literal, TypeAlias

Dtype: TypeAlias = Literal["uint8", "float32", "bfloat16", "float16"]
Layout: TypeAlias = Literal["NCHW", "NHWC"]
LastBatch: TypeAlias = Literal["drop", "keep", "pad"]
Interpolation: TypeAlias = Literal["nearest", "bilinear", "bicubic", "box", "lanczos", "area"]
WarpInterpolation: TypeAlias = Literal["nearest", "bilinear"]
PaddingMode: TypeAlias = Literal["constant", "edge", "reflect", "symmetric"]
AutoAugmentPolicy: TypeAlias = Literal["imagenet", "cifar10", "svhn"]
CacheWhat: TypeAlias = Literal["nothing", "encoded", "pixels", "auto"]
ErrorPolicy: TypeAlias = Literal["fail", "skip", "replace"]
DeliveryOrder: TypeAlias = Literal["exact", "relaxed"]
WorkerKind: TypeAlias = Literal["processes", "threads"]
OperationsOn: TypeAlias = Literal["host", "device"]
DecodeOn: TypeAlias = Literal["host", "hybrid", "gpu_hybrid", "hardware"]
IndexLocation: TypeAlias = Literal["cache", "next_to_data"]
Mode: TypeAlias = Literal["RGB", "L"]
Subsampling: TypeAlias = Literal["4:4:4", "4:2:2", "4:2:0"]
