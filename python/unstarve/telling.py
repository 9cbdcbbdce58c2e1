"""What a loader tells of itself: its batches before there are any, and how they are made."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, cast

from unstarve import _core
from unstarve.arguments import whole
from unstarve.running import BadSample, Core, Normalisation, OnDevice
from unstarve.users import UserCode


class Telling:
    """Part of unstarve.Loader."""

    _spec: str
    _dataset: _core.Dataset
    _chosen: _core.SampleSet
    _users: UserCode
    _samples: int
    _dtype: str
    _layout: str
    _parts: tuple[str, ...]
    _varied: bool
    _on_device: OnDevice
    _decode: _core.DecodeBalance | None
    _core: Core | None
    _past_profile: str
    _past_bad: dict[int, BadSample]

    # --- its batches ------------------------------------------------------------------------------------------------

    @property
    def samples(self) -> int:
        """Samples per epoch, of this rank."""
        return self._samples

    @property
    def leaves_out(self) -> bool:
        """Whether an epoch may have fewer batches than len() says, as errors("skip") may leave some out."""
        spec = json.loads(self._spec)
        return bool(spec.get("errors", {}).get("policy") == "skip" and spec.get("order", {}).get("world", 1) == 1)

    @property
    def classes(self) -> list[str]:
        """Class names in the order of their labels; empty where the format has none."""
        return list(self._dataset.classes)

    @property
    def notes(self) -> list[str]:
        """What is odd about the data though it can be read, a line each: an index that could not be kept, say.
        Each also came as a DataWarning when it was found."""
        return list(self._dataset.notes)

    @property
    def parts(self) -> tuple[str, ...]:
        """What iterating gives: "images", "labels", and, where they were asked for, "sizes" and "valid"."""
        return self._parts

    @property
    def shapes(self) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
        """Of one sample's image, (3, height, width) or (height, width, 3), and of its label, () or (classes,). Reads
        the first image's header. None for the sides of images that are
        padded to the largest of their batch, or follow a schedule."""
        height, width, classes = _core.sample_of(self._spec, self._dataset, self._chosen)
        sides = (None, None) if self._varied else (height, width)
        image = (3, *sides) if self._layout == "NCHW" else (*sides, 3)
        return image, (classes,) if classes else ()

    @property
    def dtype(self) -> str:
        """Of the images: "uint8", "float32", "float16", or "bfloat16", which NumPy shows as uint16."""
        return self._dtype

    @property
    def layout(self) -> str:
        """"NCHW" or "NHWC"."""
        return self._layout

    @property
    def normalisation(self) -> Normalisation:
        """(mean, std) per channel over 0..1, of the pipeline's normalize(); zeros and ones without it."""
        output = json.loads(self._spec).get("output", {})
        return tuple(output.get("mean", (0.0, 0.0, 0.0))), tuple(output.get("std", (1.0, 1.0, 1.0)))

    @property
    def device(self) -> dict[str, Any]:
        """What the pipeline says of the device that the batches are for, as Pipeline.device() took it: a dict of name
        ("" where it says none), and besides of what is not left to the host. to_torch() goes by it; this loader's own
        batches are on the host."""
        return {"name": "", **json.loads(self._spec).get("device", {})}

    @property
    def spec(self) -> str:
        """The pipeline as JSON."""
        return self._spec

    # --- what it does -----------------------------------------------------------------------------------------------

    def to_yaml(self) -> str:
        """The whole pipeline, as the program takes it. ArgumentError where functions or sources in Python are part of
        it, which no text can hold."""
        self._users.refuse_yaml()
        return _core.canonical(self._spec)

    def explain(self) -> str:
        """What will run: source, order, operations, every optimisation with whether it applies and why; once it runs,
        also what was tuned, when and why."""
        if self._core:
            return self._core.explain()
        return _core.explain(self._spec, self._dataset, self._chosen, *self._on_device, self._decode is not None)

    def profile(self) -> dict[str, Any]:
        """What was measured since the threads started, also after close(): a dict of stages with samples, busy time and
        bytes; empty before the first batch."""
        text = self._core.profile() if self._core else self._past_profile
        return cast("dict[str, Any]", json.loads(text)) if text else {}

    def memory(self) -> dict[str, tuple[int, int]]:
        """Who of the running pipeline holds how many bytes, and may at most (0: no limit); empty at first."""
        return {who: (held, most) for who, held, most in self._core.memory()} if self._core else {}

    def bad_samples(self, most: int = 1000) -> list[BadSample]:
        """(id, location, reason) of the samples that this loader could not use so far, over all epochs, also after
        close(): by id and each once, the first `most` of them."""
        found = dict(self._past_bad)
        if self._core:
            found.update((bad[0], bad) for bad in self._core.bad_samples(sys.maxsize))
        return [bad for _, bad in sorted(found.items())[:whole("bad_samples(most)", most, 0)]]

    def write_quarantine(self, path: str | os.PathLike[str]) -> int:
        """Writes all of bad_samples() to the file `path`, for `unstarve pack --exclude`; how many they are.

        It is the program's own list (`train --quarantine`): one JSON object a line, {"file": "photos/cat/1.jpg",
        "offset": 0, "reason": "..."}. A file that was there is replaced, as a whole. Of several ranks each lists what
        it met itself: give each a file of its own.

        IoError where it cannot be written.
        """
        bad = [(number, reason) for number, _, reason in self.bad_samples(sys.maxsize)]
        _core.write_quarantine(os.fsdecode(path), self._dataset, bad)
        return len(bad)
