"""Describes what to load, step by step; nothing runs before the loader is iterated.

    loader = un.open("photos/train").shuffle(seed=0).decode().random_resized_crop(224).flip().batch(256)

A Pipeline never changes: every step gives a new one, so that a common beginning can be shared. Operations, map() and
filter() by functions add to those before; any other step says its part of the pipeline once, and a second one that
would replace it is refused, as a key is that stands twice in YAML. It is plain data, equal to the YAML that the program
takes (`to_yaml`, `from_yaml`), but where functions of yours are part of it.
"""

from __future__ import annotations

import copy
import dataclasses
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import numpy as np
import numpy.typing as npt

from unstarve import _core
from unstarve.arguments import flag, last_batch, number, rank_and_world, refuse_again, whole
from unstarve.choosing import Choosing
from unstarve.errors import ArgumentError
from unstarve.functions import Function
from unstarve.loader import Loader
from unstarve.operating import Operating
from unstarve.spec_text import spec_text
from unstarve.users import UserCode

# Mean and standard deviation per channel of the training images over 0..1, as torchvision's references use them.
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))

# What may follow what: a step's place in the chain; steps of one place may stand in any order.
PLACES = {"filter": 1, "take": 2, "shuffle": 3, "sequential": 3, "shard": 3, "repeat": 3, "balance": 3, "decode": 4,
          "operation": 5, "normalize": 6, "output": 6, "map": 7, "batch_operation": 7}


class Pipeline(Choosing, Operating):
    """A data set and the steps from its records to samples. Made by `unstarve.open`; ended by `batch`, whose Loader is
    what is iterated."""

    def __init__(self, spec: dict[str, Any], dataset: _core.Dataset, users: UserCode, place: int = 0,
                 last: str = "open", given: Mapping[str, str] | None = None) -> None:
        self._spec = spec
        self._dataset = dataset
        self._users = users
        self._place = place
        self._last = last
        self._given = given or {}  # for each node of the spec that a step has set, by its path, the step

    def __len__(self) -> int:
        """Samples of the data set, before filter and take."""
        return len(self._dataset)

    def __repr__(self) -> str:
        return f"<unstarve.Pipeline: {self._dataset.format}, {len(self)} samples>"

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            if not name.startswith("_") and hasattr(Loader, name):
                raise AttributeError(f"{name} is a Loader's: found it on a Pipeline, expected it behind batch(), which "
                                     "makes the loader", name=name, obj=self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    @property
    def classes(self) -> list[str]:
        """Class names in the order of their labels; empty where the format has none."""
        return list(self._dataset.classes)

    def read(self, index: int) -> dict[str, int | bytes | npt.NDArray[np.uint8]]:
        """Record `index` as it is stored: a dict of its fields, encoded images as bytes, pixels as uint8 HWC.
        IndexError for one that is not there."""
        return self._dataset.read(self._record(index))

    def location(self, index: int) -> str:
        """Where record `index` lies: file and offset or member. IndexError for one that is not there."""
        return self._dataset.location(self._record(index))

    def _record(self, index: int) -> int:
        number = operator.index(index)
        if not 0 <= number < len(self):
            raise IndexError(f"record {number} of {len(self)}")
        return number

    # A Pipeline never changes, so that it is its own copy.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Pipeline holds its open data and is not pickled; expected un.open() and the steps in each "
                        "process, or the text of to_yaml() sent there")

    # --- functions of yours -----------------------------------------------------------------------------------------

    def map(self, function: Callable[..., Any]) -> Self:
        """function(image, label) on every sample: gives its image, or (image, label). Several are applied in turn.

        image: what the steps before make of it: uint8 (height, width, 3), or where normalize() or output() stand before
            this step, an array of that dtype and layout, (3, height, width) unless it says "NHWC". label: an int.
        What it gives: an array, a tensor on the processor, or a number, of one shape and dtype for all samples. Batches
        are these stacked.

        rng: a function with an argument of this name gets a numpy.random.Generator that follows from (seed, epoch,
            sample). So do the global generators of random, numpy.random and torch, unless worker threads share them.

        It runs in helper processes, or in threads where the interpreter has no global lock: options(workers=, kind=).
        For processes it must be picklable: of the top level of a module, no lambda. What it raises is raised where the
        batch is asked for, with its traceback, in its turn; with errors("skip") or ("replace") such a sample is bad.
        """
        functions = (*self._users.functions, Function.of(function, len(self._users.functions)))
        made = self._with("map")
        made._users = dataclasses.replace(self._users, functions=functions)
        return made

    # --- how it runs: may stand anywhere ----------------------------------------------------------------------------

    def cache(self, what: str = "encoded", *, folder: str | os.PathLike[str] = "", limit_mb: int = 1024,
              after: int = -1) -> Self:
        """Keeps what is dear to make again, up to limit_mb * 10^6 bytes, always before the first random operation.

        what: "encoded" (records as stored, in memory), "pixels" (decoded and resized, in memory, or in a file of
            `folder` that all processes of the host share), or "auto": the one that saves most of a sample's time, by
            what some samples cost with each when a loader starts, or none where none saves a tenth (`Loader.explain`
            tells the figures). No bit of a batch depends on it.
        after: pixels are kept after so many operations; -1: after all before the first random one, or with "auto" where
            that pays most: images that an operation makes larger are better kept before it.
        """
        return self._with(None, "cache", cache={"what": what, "folder": os.fspath(folder), "limit_mb": limit_mb,
                                                "after": whole("cache(after)", after, -1)})

    def errors(self, policy: str = "fail", *, limit: int = 1000, rate: float = 1.0) -> Self:
        """What a bad sample does.

        policy: "fail" the run, "skip" it, or "replace" it by the next good one. Skipping makes its batch shorter, and
            leaves out a batch without one good sample; where other ranks have that batch it is an InputError, since all
            must have equally many: take "replace", or larger batches. So is an epoch without one good sample.
        limit: more bad samples than this fail the run; rate: so does a greater part than this of all samples read, from
            the 1000th on.
        """
        return self._with(None, "errors", errors={"policy": policy, "limit": limit, "rate": rate})

    def options(self, *, threads: int | None = None, prefetch: int | None = None,
                read_ahead: int | None = None, order: str | None = None, memory_limit: int | None = None,
                autotune: bool | None = None, cpu_limit: int | None = None, workers: int | None = None,
                kind: Literal["processes", "threads"] | None = None) -> Self:
        """threads: of the loader. Left out or 0, they are tuned while it runs, so that you wait as little as may be at
            the least CPU: up to 64 where samples sleep, no more than cores where they compute. `Loader.explain` tells
            what was decided, and why. No bit of a batch depends on it. Given, they stay, and read_ahead alone is tuned.
        prefetch: batches made ahead (2; where tuned, to begin with). read_ahead: records read before the threads ask
            for them, so many at once (as the data reward it).
        autotune: False for as many threads as usable cores, and as many reads as the data reward at the start, for
            good.
        cpu_limit: cores that tuned threads may keep busy (all usable ones).

        order: "exact" (the same batches in every run), or "relaxed": samples that are ready overtake others that take
            long. Every epoch has the same samples, and a sample the same pixels, but they meet in other batches.

        memory_limit: bytes (counted in whole 10^6) that the pipeline may hold at most: batches, those you keep
            included, the threads' scratch, records read ahead, a cache in memory; `Loader.memory` tells who holds what.
            Prefetch and the others are chosen to fit. A loop that keeps more batches than fit waits until it lets one
            go.

        workers: with map(), how many make the samples (all usable cores); 0 makes them where they are asked for. kind:
            "processes" or "threads" (threads where the interpreter has no global lock). Of the others prefetch alone
            goes with it: batches made ahead (one more than workers).

        ArgumentError for values out of range, and for one that was given before.
        """
        given = {"threads": threads, "prefetch": prefetch, "read_ahead": read_ahead, "order": order,
                 "autotune": autotune, "cpu_limit": cpu_limit}
        if autotune is not None:
            given["autotune"] = flag("options(autotune)", autotune)
        if memory_limit is not None:
            given["memory_limit_mb"] = whole("options(memory_limit)", memory_limit, 1_000_000) // 1_000_000
        if kind not in (None, "processes", "threads"):
            raise ArgumentError(f"options(kind): found {kind!r}, expected 'processes' or 'threads'")
        for key, now, before in (("workers", workers, self._users.workers), ("kind", kind, self._users.kind)):
            if now is not None and before is not None:
                refuse_again("options", key, before, "options")
        made = self._with(None, "options",
                          execution={key: value for key, value in given.items() if value is not None})
        if workers is not None:
            made._users = dataclasses.replace(made._users, workers=whole("options(workers)", workers, 0))
        if kind is not None:
            made._users = dataclasses.replace(made._users, kind=kind)
        return made

    def device(self, name: str, *, operations: str = "host", decode: str = "host",
               decode_share: float | None = None) -> Self:
        """The device that the batches are for, and what of the work is done there: to_torch() goes by it, and YAML has
        it. All else makes whole batches on the host, as it does without it: NumPy arrays, to_jax(), to_tf(); and of the
        program's verbs `bench` and `train` take the name alone.

        name: "cpu", "cuda" or "cuda:1".
        operations: "host", or "device" for those after the first that gives all samples one size: the same bits, made
            by one kernel of the uint8 images that crossed the bus (unstarve.on_device).
        decode: "host", or with operations="device" a back end of nvJPEG that takes part: "hybrid", "gpu_hybrid",
            "hardware". Its pixels differ a little from the host's, and no GPU has run it yet.
        decode_share: of the files that nvJPEG can take, 0 to 1, the same ones in every run; None: as many as measured
            rates say, which differ from run to run.
        """
        asked: dict[str, Any] = {"name": str(name), "operations": operations, "decode": decode}
        if decode_share is not None:
            asked["decode_share"] = number("device(decode_share)", decode_share)
        return self._with(None, "device", device=asked)

    def passes(self, **switches: bool) -> Self:
        """Switches optimisations by their name, as `explain` lists them: .passes(crop_into_decode=False)."""
        return self._with(None, "passes", passes={name: flag(f"passes({name})", on) for name, on in switches.items()})

    # --- the end ----------------------------------------------------------------------------------------------------

    def batch(self, size: int, *, last: str | None = None, drop_last: bool | None = None,
              pad: bool | tuple[int, int] = False, pad_value: int = 0, bucket: int = 0) -> Loader:
        """The Loader of batches of `size` samples.

        last: what the last batch of an epoch does, for which fewer samples are left: "drop" (as usual), "keep" it
            shorter, or "pad" it to full size with copies of its own samples; batches then have a third array, `valid`,
            which tells them apart. Batches that are short by bad samples are padded, too. drop_last, as torch says it:
            True is "drop", False is "keep".
        pad: True fills images up, to the right and below, to the greatest height and width in their batch, (height,
            width) to that; batches then have an array of the images' own sizes besides. Without it all must have one
            size. True needs the size of every image when the loader is made, as filter(max_side) does, unless an
            operation gives all one size.
        pad_value: of the padding, 0 to 255, a pixel before normalisation.
        bucket: so many samples of an epoch's order, in turn, are grouped by height and width, so that images of similar
            sizes meet and little is padded: a few dozen batches, of all ranks, do. Each sample still comes once an
            epoch. To resume costs some ten milliseconds per 10,000 samples of it.

        Raises ArgumentError where the steps make no pipeline of these data: no full batch, images of several sizes.
        """
        batch: dict[str, Any] = {"size": whole("batch(size)", size, 1), "last": last_batch(last, drop_last)}
        if pad is not False:
            batch["pad"] = {"to": "largest", "value": pad_value}
            if pad is not True and not isinstance(pad, Iterable):
                raise ArgumentError(f"batch(pad): found {pad!r}, expected True, False or (height, width)")
            if pad is not True:
                batch["pad"].update(to="size", size=[whole("batch(pad)", side, 1) for side in pad])
        if bucket:
            batch["bucket"] = {"window": whole("batch(bucket)", bucket, 1)}
        made = self._with(None, "batch", batch=batch)
        order = made._spec.setdefault("order", {})
        if "world" not in order:
            order["rank"], order["world"] = rank_and_world()
        if not self._users.functions:
            if self._users.workers is not None or self._users.kind is not None:
                raise ArgumentError("options(workers, kind) without map(): the library's own threads make the samples; "
                                    "expected options(threads=), or better none")
            return Loader(made._spec, made._dataset, None, self._users)
        if "output" not in made._spec:
            made._spec["output"] = {"type": "uint8", "layout": "NHWC"}
        from unstarve.mapped import MappedLoader

        return MappedLoader(made._spec, made._dataset, None, self._users)

    def to_yaml(self) -> str:
        """The pipeline so far, as the program takes it. ArgumentError where Python is part of it."""
        self._users.refuse_yaml()
        return _core.canonical(spec_text(self._spec))

    def _with(self, step: str | None, name: str | None = None, **nodes: dict[str, Any]) -> Self:
        name = name or step
        place = self._place if step is None else PLACES[step]
        if place < self._place:
            raise ArgumentError(f"{name}() after {self._last}(): expected before it; the order is filter, take, "
                                "shuffle and shard, decode, operations, normalize and output, map or operations on "
                                "the batch, batch")
        if "source" in nodes and "mix" in self._spec:
            raise ArgumentError(f"{name}() after mix(): expected on the pipelines that are mixed")
        spec, given = copy.deepcopy(self._spec), dict(self._given)
        for node, values in nodes.items():
            _set_once(spec.setdefault(node, {}), values, node, name or "", given)
        # What makes no sense is refused where it is written, with the node's path.
        _core.check(spec_text({node: spec[node] for node in nodes}))
        return type(self)(spec, self._dataset, self._users, place, name if step and name else self._last, given)


def _set_once(node: dict[str, Any], values: Mapping[str, Any], path: str, step: str, given: dict[str, str]) -> None:
    """Takes `values` into the spec's `node` at `path`. ArgumentError where a step has set one of them before, since it
    would be forgotten."""
    for key, value in values.items():
        here = f"{path}.{key}"
        if isinstance(value, dict):
            _set_once(node.setdefault(key, {}), value, here, step, given)
        elif here in given:
            refuse_again(step, here, node[key], given[here])
        else:
            node[key], given[here] = value, step
