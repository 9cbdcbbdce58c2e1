"""Describes what to load, step by step; nothing runs before the loader is iterated.

    loader = un.open("photos/train").shuffle(seed=0).decode().random_resized_crop(224).flip().batch(256)

A Pipeline never changes: every step gives a new one, so that a common beginning can be shared. It is plain data, equal
to the YAML that the program takes (`to_yaml`, `from_yaml`).
"""

from __future__ import annotations

import copy
import json
import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from unstarve import _core, notices
from unstarve.errors import ArgumentError
from unstarve.loader import Loader

# Mean and standard deviation per channel of the training images over 0..1, as torchvision's references use them.
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))

# Classes by name or number: one of them, or several.
Labels: TypeAlias = "str | int | Iterable[str | int]"

# What may follow what: a step's place in the chain; steps of one place may stand in any order.
_PLACES = {"filter": 1, "take": 2, "shuffle": 3, "sequential": 3, "shard": 3, "repeat": 3, "balance": 3, "decode": 4,
           "operation": 5, "normalize": 6, "output": 6, "batch_operation": 7}


def open(path: str | os.PathLike[str], split: str = "") -> Pipeline:  # noqa: A001  (un.open is the name people expect)
    """Opens a data set in place, whatever its format, and begins a pipeline over all its samples in shuffled order.

    path: a folder of classes, shards (a file, a glob, "train-{000..007}.tar", a folder of them), CIFAR or MNIST
        binaries, a CSV or JSON-lines manifest, an http(s)://, s3:// or gs:// URL, or "synthetic:images=2000,size=32".
    split: "train", "test", ... of data that have splits; "" for everything.

    Raises IoError when nothing is there, InputError when nothing recognises it. Warns (DataWarning) of what is odd about
    data that can be read.
    """
    path = os.fspath(path)
    dataset = _core.open(path, split)
    notices.warn()
    return Pipeline({"source": {"path": path, "split": split}}, dataset)


def mix(pipelines: Iterable[Pipeline], weights: Iterable[float] | None = None, *, epoch: int | None = None) -> Pipeline:
    """Several pipelines of `open`, with their `filter` and `take`, as one. Classes are merged by name.

    weights: the sources' shares, one number each. The samples come in blocks, of 64 or some more for weights of a few
        digits, in which each source has its share exactly (`explain` tells the numbers); a source that is through
        begins anew, in another order and augmented anew. Without weights all samples of all sources come once an epoch.
    epoch: samples of an epoch; as many as all sources together where it is left out.
    """
    pipelines = list(pipelines)
    for one in pipelines:
        if not isinstance(one, Pipeline) or set(one._spec) != {"source"}:
            raise ArgumentError(f"mix: found {one!r}, expected pipelines of open(), filter() and take() alone")
    sources = [copy.deepcopy(one._spec["source"]) for one in pipelines]
    if weights is not None:
        shares = list(weights)
        if len(shares) != len(sources):
            raise ArgumentError(f"mix: found {len(shares)} weights for {len(sources)} pipelines, expected one each")
        for i, (source, weight) in enumerate(zip(sources, shares, strict=True)):
            source["weight"] = _number(f"mix(weights[{i}])", weight)
    spec: dict[str, Any] = {"mix": sources}
    if epoch is not None:
        spec["order"] = {"epoch": _whole("mix(epoch)", epoch, 1)}
    dataset = _core.concatenate([one._dataset for one in pipelines], [source["path"] for source in sources])
    _core.check(json.dumps(spec))
    return Pipeline(spec, dataset, _PLACES["take"], "mix")


def from_yaml(text: str, dataset: _core.Dataset | None = None) -> Loader:
    """The Loader of a pipeline's YAML (what `to_yaml` wrote, or one written by hand). InputError names a wrong node.

    Under a launcher (RANK and WORLD_SIZE in the environment) those count, whatever rank the text was written by.
    """
    import yaml

    spec = yaml.safe_load(_core.canonical(text))
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        spec["order"]["rank"], spec["order"]["world"] = _rank_and_world()
    if dataset is None:
        dataset = _core.open_sources(text)
        notices.warn()
    return Loader(spec, dataset)


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a pipeline's YAML: every node with its type, range, default and meaning.

    It is made of what reads and checks pipelines. `unstarve explain --schema` prints the same.
    """
    return cast("dict[str, Any]", json.loads(_core.schema()))


class Pipeline:
    """A data set and the steps from its records to samples. Made by `unstarve.open`; ended by `batch`."""

    def __init__(self, spec: dict[str, Any], dataset: _core.Dataset, place: int = 0, last: str = "open") -> None:
        self._spec = spec
        self._dataset = dataset
        self._place = place
        self._last = last

    def __len__(self) -> int:
        """Samples of the data set, before filter and take."""
        return len(self._dataset)

    def __repr__(self) -> str:
        return f"<unstarve.Pipeline: {self._dataset.format}, {len(self)} samples>"

    @property
    def classes(self) -> list[str]:
        """Class names in the order of their labels; empty where the format has none."""
        return list(self._dataset.classes)

    def read(self, index: int) -> dict[str, int | bytes | npt.NDArray[np.uint8]]:
        """Record `index` as it is stored: a dict of its fields, encoded images as bytes, pixels as uint8 HWC."""
        index = int(index)
        if not 0 <= index < len(self):
            raise IndexError(f"record {index} of {len(self)}")
        return self._dataset.read(index)

    def location(self, index: int) -> str:
        """Where record `index` lies: file and offset or member."""
        return self._dataset.location(index)

    # --- which samples take part ------------------------------------------------------------------------------------

    def filter(self, labels: Labels | None = None, *, drop_labels: Labels | None = None, min_side: int | None = None,
               max_side: int | None = None, max_aspect: float | None = None) -> Pipeline:
        """The samples that pass every bound that is given. Decided once, when the loader is made, not per epoch.

        labels, drop_labels: class names or numbers that are kept, that are left out. Told by the index of folders and
            arrays; of shards the records are read once.
        min_side, max_side: of the shorter side at least, of the longer side at most, in pixels; max_aspect: longer side
            / shorter side at most. These read the header of every image once, in parallel.

        A sample whose header cannot be read passes: `errors` says what it does when its turn comes.
        """
        given: dict[str, Any] = {"labels": labels, "drop_labels": drop_labels, "min_side": min_side, "max_side": max_side,
                 "max_aspect": max_aspect}
        bounds = {key: value for key, value in given.items() if value is not None}
        for key in ("labels", "drop_labels"):
            if key in bounds:
                values = bounds[key]
                bounds[key] = [str(v) for v in ([values] if isinstance(values, str | int) else values)]
        if not bounds or not all(bounds.get(key, [0]) for key in ("labels", "drop_labels")):
            raise ArgumentError("filter: nothing to filter by, expected labels, drop_labels, min_side, max_side or "
                                "max_aspect")
        for key in {"min_side", "max_side"} & bounds.keys():
            bounds[key] = _whole(f"filter({key})", bounds[key], 1)
        if max_aspect is not None:
            bounds["max_aspect"] = _number("filter(max_aspect)", max_aspect)
        before = self._spec.get("source", {}).get("filter", {})
        for key in bounds:
            if key in before:
                raise ArgumentError(f"filter: {key} was given before; expected each once")
        return self._with("filter", source={"filter": {**before, **bounds}})

    def take(self, n: int) -> Pipeline:
        """The first `n` samples, as stored, that pass the filter; all of them where there are fewer."""
        return self._with("take", source={"take": _whole("take(n)", n, 1)})

    # --- order ------------------------------------------------------------------------------------------------------

    def shuffle(self, seed: int = 0, *, window: int = 0) -> Pipeline:
        """All samples in an order that depends on (seed, epoch) alone: another one every epoch, no list in memory.

        window: shuffled in windows of so many samples, made of runs of 64 as they are stored, in random order; for
            disks and servers that read runs much faster than samples one by one. 0 shuffles all.
        """
        return self._with("shuffle", order={"shuffle": True, "seed": _whole("shuffle(seed)", seed, 0),
                                            "window": _whole("shuffle(window)", window, 0)})

    def sequential(self) -> Pipeline:
        """The samples in the order in which they are stored."""
        return self._with("sequential", order={"shuffle": False, "window": 0})

    def repeat(self, n: int) -> Pipeline:
        """`n` passes in one epoch, each in another order and augmented anew; batches may cross from one to the next."""
        return self._with("repeat", order={"repeat": _whole("repeat(n)", n, 1)})

    def balance(self, weights: Mapping[str | int, float] | None = None, *, epoch: int | None = None) -> Pipeline:
        """Every class equally often, whatever it has of samples: those of small classes come again, augmented anew.

        weights: {class name or number: share} for classes that are to come more or less often than the others, whose
            share is 1; 0 leaves a class out.
        epoch: samples of an epoch; as many as take part where it is left out.
        """
        order: dict[str, Any] = {"balance": True}
        if weights:
            order["class_weights"] = {str(key): _number(f"balance(weights[{key!r}])", value)
                                      for key, value in weights.items()}
        if epoch is not None:
            order["epoch"] = _whole("balance(epoch)", epoch, 1)
        return self._with("balance", order=order)

    def shard(self, rank: int | None = None, world: int | None = None) -> Pipeline:
        """This process's part: rank of `world`. Every rank gets equally many batches.

        Without this step, or without arguments, RANK and WORLD_SIZE of the environment count, as torchrun sets them.
        """
        if (rank is None) != (world is None):
            raise ArgumentError("shard: give both rank and world, or neither")
        if rank is None or world is None:
            rank, world = _rank_and_world()
        return self._with("shard", order={"rank": _whole("shard(rank)", rank, 0),
                                          "world": _whole("shard(world)", world, 1)})

    # --- decoding and operations ------------------------------------------------------------------------------------

    def decode(self, *, crop_only: bool = True, reduced_scale: bool = False) -> Pipeline:
        """JPEG and PNG to upright RGB. May be left out: encoded images are decoded anyway.

        crop_only: decode only the part that the first operation reads; exact.
        reduced_scale: decode at 1/2, 1/4 or 1/8 where that is still at least the target size; approximate.
        """
        return self._with("decode", decode={"crop_only": bool(crop_only), "reduced_scale": bool(reduced_scale)})

    def random_resized_crop(self, size: int, *, scale: tuple[float, float] = (0.08, 1.0),
                            ratio: tuple[float, float] = (3 / 4, 4 / 3)) -> Pipeline:
        """A random part, resized to size x size (antialiased bilinear), as torchvision's RandomResizedCrop draws it.

        scale: part of the area, least and most. ratio: width / height, least and most.
        """
        return self.operation("random_resized_crop", size=size, scale=scale, ratio=ratio)

    def resize(self, size: int | tuple[int, int]) -> Pipeline:
        """To a short side of `size`, or to (height, width) exactly; antialiased bilinear, as Pillow does it."""
        return self.operation("resize", size=size)

    def center_crop(self, size: int) -> Pipeline:
        """The middle `size` x `size`, with black around where the image is smaller."""
        return self.operation("center_crop", size=size)

    def pad_crop(self, size: int, padding: int = 4) -> Pipeline:
        """A random size x size part of the image with a black border of `padding` pixels, as CIFAR training uses."""
        return self.operation("pad_crop", size=size, padding=padding)

    def flip(self, p: float = 0.5) -> Pipeline:
        """Mirrors left and right with probability `p`."""
        return self.operation("horizontal_flip", probability=p)

    def operation(self, name: str, **parameters: float | Sequence[float]) -> Pipeline:
        """Any operation by its name, as `unstarve.operations()` lists them. ArgumentError when it makes no sense."""
        values = {key: list(value) if isinstance(value, Sequence) else value for key, value in parameters.items()}
        step = {name: values}
        _core.check(json.dumps({"operations": [step]}))
        made = self._with("operation", name)
        made._spec["operations"] = [*made._spec.get("operations", []), step]
        return made

    def normalize(self, mean: Iterable[float], std: Iterable[float]) -> Pipeline:
        """float32 values (pixel / 255 - mean) / std per channel, made while the sample is written into its batch."""
        return self._with("normalize", output={"type": "float32", "mean": _channels("mean", mean),
                                               "stddev": _channels("std", std)})

    def output(self, dtype: str = "float32", layout: str = "NCHW") -> Pipeline:
        """The batch's element type ("uint8", "float32", "bfloat16") and layout ("NCHW", "NHWC")."""
        return self._with("output", output={"type": dtype, "layout": layout})

    # --- on whole batches: labels become targets, float32 of shape (batch, classes) ------------------------------------

    def one_hot(self) -> Pipeline:
        """Targets of zeros with a one at the label, instead of labels."""
        return self.batch_operation("one_hot")

    def label_smoothing(self, epsilon: float = 0.1) -> Pipeline:
        """Targets of which a part `epsilon` is spread over all classes."""
        return self.batch_operation("label_smoothing", epsilon=epsilon)

    def mixup(self, alpha: float = 0.2, p: float = 1.0) -> Pipeline:
        """Each sample and its target blended with the one before it in the batch, by one draw of Beta(alpha, alpha)."""
        return self.batch_operation("mixup", alpha=alpha, probability=p)

    def cutmix(self, alpha: float = 1.0, p: float = 1.0) -> Pipeline:
        """A box of each sample from the one before it in the batch; the targets follow its area."""
        return self.batch_operation("cutmix", alpha=alpha, probability=p)

    def batch_operation(self, name: str, **parameters: float) -> Pipeline:
        """Any operation on whole batches by its name, as `unstarve.batch_operations()` lists them."""
        step = {name: parameters}
        _core.check(json.dumps({"batch_operations": [step]}))
        made = self._with("batch_operation", name)
        made._spec["batch_operations"] = [*made._spec.get("batch_operations", []), step]
        return made

    # --- how it runs: may stand anywhere ----------------------------------------------------------------------------

    def cache(self, what: str = "encoded", *, folder: str | os.PathLike[str] = "", limit_mb: int = 1024) -> Pipeline:
        """Keeps what is dear to make again, up to limit_mb * 10^6 bytes, always before the first random operation.

        what: "encoded" (records as stored, in memory) or "pixels" (decoded and resized, in memory, or in a file of
            `folder` that all processes of the host share).
        """
        return self._with(None, cache={"what": what, "folder": os.fspath(folder), "limit_mb": limit_mb})

    def errors(self, policy: str = "fail", *, limit: int = 1000, rate: float = 1.0) -> Pipeline:
        """What a bad sample does: "fail" the run, "skip" it, or "replace" it by the next good one.

        limit: more bad samples than this fail the run; rate: so does a greater part than this of all samples read.
        """
        return self._with(None, errors={"policy": policy, "limit": limit, "rate": rate})

    def options(self, *, threads: int | None = None, prefetch: int | None = None,
                read_ahead: int | None = None, order: str | None = None, memory_limit: int | None = None,
                autotune: bool | None = None, cpu_limit: int | None = None) -> Pipeline:
        """threads: of the loader. Left out or 0, they are tuned while it runs, so that you wait as little as may be at
            the least CPU: up to 64 where samples sleep, no more than cores where they compute. `Loader.explain` tells
            what was decided, and why. No bit of a batch depends on it.
        prefetch: batches made ahead (2; where tuned, to begin with). read_ahead: records read before the threads ask
            for them, so many at once (as the data reward it).
        autotune: False for as many threads as usable cores, for good. cpu_limit: cores that tuned threads may keep busy
            (all usable ones).

        order: "exact" (the same batches in every run), or "relaxed": samples that are ready overtake others that take
            long. Every epoch has the same samples, and a sample the same pixels, but they meet in other batches.

        memory_limit: bytes (counted in whole 10^6) that the pipeline may hold at most: batches, those you keep included,
            the threads' scratch, records read ahead, a cache in memory; `Loader.memory` tells who holds what. Prefetch
            and the others are chosen to fit. A loop that keeps more batches than fit waits until it lets one go.
        """
        given = {"threads": threads, "prefetch": prefetch, "read_ahead": read_ahead, "order": order,
                 "autotune": autotune, "cpu_limit": cpu_limit}
        if memory_limit is not None:
            given["memory_limit_mb"] = _whole("options(memory_limit)", memory_limit, 1_000_000) // 1_000_000
        return self._with(None, execution={key: value for key, value in given.items() if value is not None})

    def passes(self, **switches: bool) -> Pipeline:
        """Switches optimisations by their name, as `explain` lists them: .passes(crop_into_decode=False)."""
        return self._with(None, passes={name: bool(on) for name, on in switches.items()})

    # --- the end ----------------------------------------------------------------------------------------------------

    def batch(self, size: int, *, last: str | None = None, drop_last: bool | None = None,
              pad: bool | tuple[int, int] = False, pad_value: int = 0, bucket: int = 0) -> Loader:
        """The Loader of batches of `size` samples.

        last: what the last batch of an epoch does, for which fewer samples are left: "drop" (as usual), "keep" it shorter,
            or "pad" it to full size with copies of its own samples; batches then have a third array, `valid`, which tells
            them apart. Batches that are short by bad samples are padded, too. drop_last, as torch says it: True is
            "drop", False is "keep".
        pad: True fills images up, to the right and below, to the greatest height and width in their batch, (height, width)
            to that; batches then have an array of the images' own sizes besides. Without it all must have one size.
            True reads the header of every image once, when the loader is made, unless an operation gives all one size.
        pad_value: of the padding, 0 to 255, a pixel before normalisation.
        bucket: so many samples of an epoch's order, in turn, are grouped by height and width, so that images of similar
            sizes meet and little is padded: a few dozen batches, of all ranks, do. Each sample still comes once an epoch.
            To resume costs a few milliseconds per 10,000 samples of it.
        """
        if last is None:
            last = "keep" if drop_last is not None and not drop_last else "drop"
        elif drop_last is not None:
            raise ArgumentError("batch: found both last and drop_last, expected one of them")
        batch: dict[str, Any] = {"size": _whole("batch(size)", size, 1), "last": last}
        if pad is not False:
            batch["pad"] = {"to": "largest", "value": pad_value}
            if pad is not True:
                batch["pad"].update(to="size", size=[_whole("batch(pad)", side, 1) for side in pad])
        if bucket:
            batch["bucket"] = {"window": _whole("batch(bucket)", bucket, 1)}
        made = self._with(None, batch=batch)
        order = made._spec.setdefault("order", {})
        if "world" not in order:
            order["rank"], order["world"] = _rank_and_world()
        return Loader(made._spec, made._dataset)

    def to_yaml(self) -> str:
        """The pipeline so far, as the program takes it."""
        return _core.canonical(json.dumps(self._spec))

    def _with(self, step: str | None, name: str | None = None, **nodes: dict[str, Any]) -> Pipeline:
        name = name or step
        place = self._place if step is None else _PLACES[step]
        if place < self._place:
            raise ArgumentError(f"{name}() after {self._last}(): expected before it; the order is filter, take, "
                                "shuffle and shard, decode, operations, normalize and output, operations on the "
                                "batch, batch")
        if "source" in nodes and "mix" in self._spec:
            raise ArgumentError(f"{name}() after mix(): expected on the pipelines that are mixed")
        spec = copy.deepcopy(self._spec)
        for node, values in nodes.items():
            spec.setdefault(node, {}).update(values)
        # What makes no sense is refused where it is written, with the node's path.
        _core.check(json.dumps({node: spec[node] for node in nodes}))
        return Pipeline(spec, self._dataset, place, self._last if name is None else name)


def _whole(what: str, value: object, least: int) -> int:
    """`value` as a whole number of `least` or more; ArgumentError, beginning with `what`, for anything else."""
    try:
        whole = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f"{what}: found {value!r}, expected a whole number") from None
    if whole < least:
        raise ArgumentError(f"{what}: found {whole}, expected {least} or more")
    return whole


def _number(what: str, value: Any) -> float:
    try:
        weight = float(value)
    except (TypeError, ValueError):
        weight = math.nan
    if not math.isfinite(weight) or weight < 0:
        raise ArgumentError(f"{what}: found {value!r}, expected a number of 0 or more")
    return weight


def _channels(what: str, values: Iterable[float]) -> list[float]:
    numbers = [float(value) for value in values]
    if len(numbers) != 3:
        raise ArgumentError(f"{what}: found {len(numbers)} numbers, expected three, one per channel")
    return numbers


def _rank_and_world() -> tuple[int, int]:
    """RANK and WORLD_SIZE of the environment, (0, 1) without them."""
    rank, world = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if rank is None or world is None:
        return 0, 1
    try:
        return int(rank), int(world)
    except ValueError:
        raise ArgumentError(f"RANK={rank!r}, WORLD_SIZE={world!r} in the environment: expected whole numbers") from None
