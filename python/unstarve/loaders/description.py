"""Properties and reports of a loader: the form of its batches, what runs, what was measured."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, cast

from unstarve import _core
from unstarve.arguments import check_int
from unstarve.errors import ArgumentError
from unstarve.loaders.batch_form import BatchForm
from unstarve.loaders.device_part import DevicePart
from unstarve.loaders.engine import BadSample, Normalisation
from unstarve.loaders.engines import Engines
from unstarve.loaders.run import LoaderRun
from unstarve.user_code.user_code import UserCode


class LoaderDescription:
    """Part of unstarve.Loader."""

    _spec: str
    _dataset: _core.Dataset
    _chosen: _core.SampleSet
    _users: UserCode
    _form: BatchForm
    _run: LoaderRun
    _device_part: DevicePart
    _engines: Engines

    # --- form of the batches ----------------------------------------------------------------------------------------

    @property
    def samples(self) -> int:
        """Samples per epoch of this rank."""
        return self._run.samples

    @property
    def _may_omit_batches(self) -> bool:
        """Whether errors("skip") may make an epoch shorter than len(loader) batches."""
        spec = json.loads(self._spec)
        return bool(spec.get("errors", {}).get("policy") == "skip" and spec.get("order", {}).get("world", 1) == 1)

    @property
    def classes(self) -> list[str]:
        """Class names by label; empty if the format has none."""
        return list(self._dataset.classes)

    @property
    def notes(self) -> list[str]:
        """Problems of the data that do not stop the run, for example an index that could not be cached.

        Each was also issued as a DataWarning.
        """
        return list(self._dataset.notes)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the arrays of a batch: "images", "labels", and "sizes" and "valid" if batch() requested them."""
        return self._form.parts

    @property
    def shapes(self) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
        """Shapes of one sample's image, (3, height, width) or (height, width, 3), and label, () or (classes,).

        Height and width are None if they differ between batches. Reads the header of the first image.
        """
        height, width, classes = _core.sample_of(self._spec, self._dataset, self._chosen)
        return self._form.image_shape(height, width), (classes,) if classes else ()

    @property
    def dtype(self) -> str:
        """Dtype of the images: "uint8", "float32", "float16", or "bfloat16" (as uint16 in NumPy)."""
        return self._form.dtype

    @property
    def label_dtype(self) -> str:
        """Dtype of the labels: "int64", or "float32" with batch operations."""
        return "float32" if self.shapes[1] else "int64"

    @property
    def layout(self) -> str:
        """Layout of the images: "NCHW" or "NHWC"."""
        return self._form.layout

    @property
    def normalisation(self) -> Normalisation:
        """(mean, std) per channel of normalize(), for pixel values scaled to 0..1; zeros and ones without it."""
        output = json.loads(self._spec).get("output", {})
        return tuple(output.get("mean", (0.0, 0.0, 0.0))), tuple(output.get("std", (1.0, 1.0, 1.0)))

    def _check_uint8(self, call: str, normalize: Normalisation | None) -> None:
        """Raises ArgumentError if `call` requests uint8 together with a normalisation, of the pipeline or its own."""
        if normalize is not None:
            raise ArgumentError(f"{call}(dtype): found uint8 with normalize; expected a floating-point dtype")
        if self.normalisation != ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)):
            raise ArgumentError(f"{call}(dtype): found uint8 after normalize(); expected a floating-point dtype, or no "
                                "normalize()")

    @property
    def device(self) -> dict[str, Any]:
        """The arguments of Pipeline.device() that differ from the defaults; "name" is "" without it.

        to_torch() uses them. The batches of this loader are on the host.
        """
        return {"name": "", **json.loads(self._spec).get("device", {})}

    @property
    def spec(self) -> str:
        """The pipeline as JSON."""
        return self._spec

    # --- reports ----------------------------------------------------------------------------------------------------

    def to_yaml(self) -> str:
        """Returns the whole pipeline as YAML for the command line. Raises ArgumentError if it contains Python code."""
        self._users.check_yaml()
        return _core.canonical(self._spec)

    def explain(self) -> str:
        """Describes what runs: source, order, operations, and for each optimisation whether it applies and why.

        While the loader runs, the text contains the decisions of the autotuner.
        """
        if self._engines.running:
            return self._engines.running.explain()
        return _core.explain(self._spec, self._dataset, self._chosen, self._device_part.device_bytes,
                             self._device_part.decode is not None)

    def profile(self) -> dict[str, Any]:
        """Returns the measurements since the threads started, also after close().

        Returns:
            A dict with the samples, busy time and bytes of each stage; empty before the first batch.
        """
        text = self._engines.profile()
        return cast("dict[str, Any]", json.loads(text)) if text else {}

    def memory(self) -> dict[str, tuple[int, int]]:
        """Returns {part: (bytes held, limit)} of the running pipeline (limit 0: none); empty before it starts."""
        engine = self._engines.running
        return {part: (held, most) for part, held, most in engine.memory()} if engine else {}

    def bad_samples(self, most: int = 1000) -> list[BadSample]:
        """Returns the bad samples that this loader met so far, over all epochs, also after close().

        Args:
            most: Largest number of entries.

        Returns:
            (id, location, reason) of each, ordered by id, without repetitions.
        """
        return self._engines.bad_samples()[:check_int("bad_samples(most)", most, 0)]

    def write_quarantine(self, path: str | os.PathLike[str]) -> int:
        """Writes all of bad_samples() to a file, for `unstarve pack --exclude`.

        The format is that of `unstarve train --quarantine`: one JSON object per line, {"file": "photos/cat/1.jpg",
        "offset": 0, "reason": "..."}. An existing file is replaced atomically. With several ranks each lists the
        samples that it met: use one file per rank.

        Args:
            path: The file to write.

        Returns:
            The number of bad samples.

        Raises:
            IoError: The file cannot be written.
        """
        bad = [(number, reason) for number, _, reason in self.bad_samples(sys.maxsize)]
        _core.write_quarantine(os.fsdecode(path), self._dataset, bad)
        return len(bad)
