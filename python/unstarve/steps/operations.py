"""Steps that turn records into samples: decoding, any operation, functions of the user, dtype and layout."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from unstarve import _core
from unstarve.arguments import check_channels, reject_repeated
from unstarve.errors import ArgumentError
from unstarve.schedules import Schedule
from unstarve.spec_json import check_argument, spec_json
from unstarve.steps.base import Steps
from unstarve.steps.image_operations import ImageOperationSteps
from unstarve.steps.literals import Dtype, Layout
from unstarve.steps.operation_names import spec_batch_operation, spec_operation
from unstarve.suggestions import suggesting_methods
from unstarve.user_code.functions import Function


@suggesting_methods
class OperationSteps(ImageOperationSteps, Steps):
    """Part of unstarve.Pipeline: decoding, operations, map(), dtype and layout, batch operations."""

    def decode(self, *, max_pixels: int = 1 << 28) -> Self:
        """Decodes JPEG, PNG and WebP to upright RGB. Optional: encoded images are decoded anyway.

        Args:
            max_pixels: An image whose header declares more pixels is a bad sample; no memory is allocated for it.
        """
        return self._with("decode", decode={"max_pixels": max_pixels})

    def operation(self, name: str, **parameters: float | str | Sequence[float] | Schedule) -> Self:
        """Adds any operation by name.

        Args:
            name: A name that `unstarve.operations()` lists, or that of a method.
            parameters: Its parameters; numbers may be an `unstarve.schedule()`. `p` is the same as `probability`.

        Raises:
            ArgumentError: Unknown operation or invalid parameter.
        """
        return self._add_step("operation", *spec_operation(name, parameters))

    def map(self, function: Callable[..., Any]) -> Self:
        """Applies a Python function to every sample. Several functions are applied in turn.

        The function runs in worker processes, or in threads if the interpreter has no global lock; see
        options(workers=, kind=). For processes it must be picklable: defined at the top level of a module, no lambda.
        An exception is raised, with its traceback, where the batch is requested; with errors("skip") or ("replace")
        the sample is a bad sample.

        Args:
            function: Called as function(image, label); returns the new image or (image, label), with one shape and
                dtype for all samples: arrays, CPU tensors or numbers. Batches stack them. `image` is a uint8 array
                (height, width, 3); after normalize() or output() it has that dtype and layout, (3, height, width)
                unless "NHWC". `label` is an int. If the function has an argument `rng`, it receives a
                numpy.random.Generator seeded with (seed, epoch, sample). The global generators of random,
                numpy.random and torch are seeded likewise, except in worker threads, which share them.

        Example:
            def augment(image, label, rng):
                return image[:, ::-1] if rng.random() < 0.5 else image

            un.open("photos").resize((64, 64)).map(augment).batch(32)
        """
        functions = (*self._users.functions, Function.of(function, len(self._users.functions)))
        result = self._with("map")
        result._users = dataclasses.replace(self._users, functions=functions)
        return result

    def normalize(self, mean: Iterable[float], std: Iterable[float]) -> Self:
        """Normalises to float32 values (pixel / 255 - mean) / std while the sample is written into its batch.

        For another dtype, call output() afterwards.

        Args:
            mean: Mean per channel, for pixel values scaled to 0..1.
            std: Standard deviation per channel.

        Raises:
            ArgumentError: A value is invalid, for example of the range 0 to 255.
        """
        dtype = self._spec.get("output", {}).get("type", "float32")
        if dtype != "float32":
            reject_repeated("normalize", "output.type", dtype, "output",
                            "output() after normalize(), whose default is float32")
        result = self._with("normalize",
                            output={"mean": check_channels("normalize: mean", mean),
                                    "std": check_channels("normalize: std", std)})
        result._spec["output"].setdefault("type", "float32")
        return result

    def output(self, dtype: Dtype = "float32", layout: Layout = "NCHW") -> Self:
        """Sets the dtype and the memory layout of the images of a batch.

        Args:
            dtype: "uint8", "float32", "bfloat16" or "float16".
            layout: "NCHW" or "NHWC".

        Raises:
            ArgumentError: A value is invalid, or dtype is "uint8" after normalize().
        """
        if dtype == "uint8" and "mean" in self._spec.get("output", {}):
            raise ArgumentError("output(dtype): found 'uint8' after normalize(), whose values are not integers; "
                                "expected float32, bfloat16 or float16, or no normalize()")
        return self._with("output", output={"type": dtype, "layout": layout})

    # --- batch operations: labels become targets, float32 of shape (batch, classes) ---------------------------------

    def one_hot(self) -> Self:
        """Replaces labels by one-hot targets, float32 of shape (batch, classes)."""
        return self.batch_operation("one_hot")

    def label_smoothing(self, epsilon: float | Schedule = 0.1) -> Self:
        """Replaces labels by targets of which the fraction `epsilon` is spread evenly over all classes."""
        return self.batch_operation("label_smoothing", epsilon=epsilon)

    def mixup(self, alpha: float | Schedule = 0.2, p: float | Schedule = 1.0) -> Self:
        """Blends each sample and its target with its predecessor in the batch.

        Args:
            alpha: The weight, one per batch, is drawn from Beta(alpha, alpha).
            p: Probability that a batch is mixed.
        """
        return self.batch_operation("mixup", alpha=alpha, probability=p)

    def cutmix(self, alpha: float | Schedule = 1.0, p: float | Schedule = 1.0) -> Self:
        """Replaces a box of each sample by that of its predecessor in the batch; targets are weighted by area.

        Args:
            alpha: The fraction of the area is drawn from Beta(alpha, alpha).
            p: Probability that a batch is mixed.
        """
        return self.batch_operation("cutmix", alpha=alpha, probability=p)

    def batch_operation(self, name: str, **parameters: float | Schedule) -> Self:
        """Adds any batch operation by name.

        Args:
            name: A name that `unstarve.batch_operations()` lists.
            parameters: Its parameters; numbers may be an `unstarve.schedule()`. `p` is the same as `probability`.
        """
        return self._add_step("batch_operation", *spec_batch_operation(name, parameters))

    def _add_step(self, step: str, name: str, parameters: Mapping[str, Any]) -> Self:
        values = {key: list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
                  for key, value in parameters.items()}
        key = f"{step}s"
        added = spec_json({key: [{name: values}]})
        check_argument(name, json.loads(added))
        result = self._with(step, name)
        # A copy: later changes of the caller's lists and arrays have no effect.
        result._spec[key] = [*result._spec.get(key, []), *json.loads(added)[key]]
        return result
