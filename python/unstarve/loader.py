"""Batches of a pipeline, epoch by epoch, as NumPy arrays or the tensors of a framework.

Same batches every run: order and augmentation are functions of (seed, epoch, sample), not of threads or timing. One
process, threads only, but for functions of the user's (unstarve.mapped); they run on from one epoch into the next, so
that epochs begin without a pause.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, overload

import numpy as np
import numpy.typing as npt

from unstarve import _core, notices, nvjpeg, state
from unstarve.arguments import MOST_EPOCH, normalisation, whole
from unstarve.errors import ArgumentError, CancelledError
from unstarve.users import UserCode

if TYPE_CHECKING:
    import torch

    from unstarve.jax import JaxLoader
    from unstarve.torch import TorchLoader

# images and labels of one batch, and what else was asked for; the loader's class says which shapes and dtypes
Batch: TypeAlias = "tuple[npt.NDArray[Any], ...]"
# mean and standard deviation per channel, over pixel values of 0..1
Normalisation: TypeAlias = "tuple[tuple[float, ...], tuple[float, ...]]"
# id, location and reason of a sample that could not be used
BadSample: TypeAlias = "tuple[int, str, str]"
# called with a number of bytes, gives a writable buffer's address and the object that keeps it
Allocate: TypeAlias = "Callable[[int], tuple[int, object]]"
# bytes that are kept on a device: for each value of a batch's images, and besides
OnDevice: TypeAlias = "tuple[int, int]"


# Those whose threads call Python: they end before the interpreter does.
_calling: weakref.WeakSet[Loader] = weakref.WeakSet()


@atexit.register
def _close_calling() -> None:
    for loader in list(_calling):
        loader.close()


class Core(Protocol):
    """What runs and makes the batches: _core.Loader, or workers (unstarve.mapped)."""

    @property
    def forked(self) -> bool:
        """Whether this process is a fork of the one that it runs in."""

    def next(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.uint64], npt.NDArray[np.int32] | None,
                            int, int, int, bool] | None:
        """Images and labels as Loader has them, ids (uint64 of shape (batch,)), sizes or files (int32, host_part), how
        many are valid, epoch, batch, whether it is the epoch's last; None after close(). Batches without a good
        sample are left out, but for the last one of an epoch, which is given without samples."""

    def close(self) -> None:
        """Ends it; by any thread."""

    def memory(self) -> list[tuple[str, int, int]]:
        """Who holds how many bytes, and may at most."""

    def progress(self) -> state.Progress:
        """How far it has come."""

    def profile(self) -> str:
        """What was measured, as JSON."""

    def explain(self) -> str:
        """What runs."""

    def bad_samples(self, most: int) -> list[BadSample]:
        """The first `most`, by id."""


class Loader:
    """An iterable over the batches of one epoch after the other. Made by `Pipeline.batch`.

    Iterating gives (images, labels): images of shape (batch, 3, height, width) or (batch, height, width, 3) in the
    pipeline's dtype, labels int64 of shape (batch,), all 0 where the data have none, or with batch operations float32
    of shape (batch, classes). The
    arrays are the loader's own memory, lent out: keep them as long as you like, memory grows with those you keep.
    What batch() was asked for comes besides, in this order: with `pad` sizes, int32 of shape (batch, 2), the height and
    width of each image before it was padded; with last="pad" valid, bool of shape (batch,), False for the copies that
    fill up a batch. `parts` names what there is.

    Under errors("skip") batches are shorter by the bad samples, and one without a good sample is left out: a loop then
    has fewer than len(loader) batches.

    Every `for` loop runs one epoch. One that was left early is over: the next loop begins the next epoch, or where
    `load_state_dict` says. Not for several threads at once.
    """

    mapped = False  # whether functions of the user's have a part in its samples

    def __init__(self, spec: dict[str, Any], dataset: _core.Dataset, chosen: _core.SampleSet | None = None,
                 users: UserCode | None = None) -> None:
        self._spec = json.dumps(spec)
        self._dataset = dataset
        self._users = UserCode.none(spec) if users is None else users
        if self._users.python_sources:
            _calling.add(self)
        self._batch_size: int = spec["batch"]["size"]
        self._dtype: str = spec.get("output", {}).get("type", "float32")
        self._layout: str = spec.get("output", {}).get("layout", "NCHW")
        batch = spec["batch"]
        pad = batch.get("pad", {}).get("to", "nothing")
        self._varied: bool = pad == "largest" or pad == "nothing" and _core.size_changes(self._spec)
        self._parts = ("images", "labels", *(("sizes",) if pad != "nothing" else ()),
                       *(("valid",) if batch.get("last") == "pad" else ()))
        # the samples that take part
        self._chosen = self._users.choose(self._spec, dataset) if chosen is None else chosen
        self._relaxed: bool = spec.get("execution", {}).get("order") == "relaxed"
        self._batches, self._samples = _core.epoch_of(self._spec, self._chosen)
        self._run = _core.RunState(self._spec, self._chosen, dataset)
        self._stretches: list[state.Stretch] = self._run.first_stretches()
        self._allocate: Allocate | None = None
        self._on_device: OnDevice = (0, 0)
        self._decode: _core.DecodeBalance | None = None
        self._core: Core | None = None
        self._core_at: state.At | None = None  # the position of the batch that _core gives next
        self._at = state.START  # of the batch that comes next
        self._progress: state.Progress | None = None  # up to _at, of the threads that ran last, in relaxed order
        self._past_profile = ""  # of the threads that ran last
        self._past_bad: dict[int, BadSample] = {}  # by id, of all threads that ran before
        self._begun = False  # a loop was in the epoch of _at
        self._given_epoch = 0
        self._turn = 0  # of the newest iterator

    def __len__(self) -> int:
        """Batches per epoch, of this rank; under errors("skip") those that may be left out are counted."""
        return self._batches

    def __repr__(self) -> str:
        return f"<unstarve.Loader: {self._dataset.format}, {len(self)} batches of {self._batch_size}>"

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            from unstarve.pipeline import Pipeline

            if not name.startswith("_") and hasattr(Pipeline, name):
                raise AttributeError(f"{name}() comes before batch(), which ends the chain: found it on a Loader, "
                                     "expected it on what batch() was called on", name=name, obj=self)
            if name in ("dataset", "batch_sampler", "sampler", "collate_fn"):
                raise AttributeError(f"{name} is a torch DataLoader's: found it on a Loader of arrays, expected "
                                     "to_torch()'s loader, which has it", name=name, obj=self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

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
        return tuple(output.get("mean", (0.0, 0.0, 0.0))), tuple(output.get("stddev", (1.0, 1.0, 1.0)))

    @property
    def device(self) -> dict[str, Any]:
        """What the pipeline says of the device that the batches are for, as Pipeline.device() took it: a dict of name
        ("" where it says none), and besides of what is not left to the host. to_torch() goes by it; this loader's own
        batches are on the host."""
        return {"name": "", **json.loads(self._spec).get("device", {})}

    @property
    def epoch(self) -> int:
        """The epoch that the next batch belongs to."""
        return self._at[0]

    @property
    def given_epoch(self) -> int:
        """The epoch that the batch given last belongs to."""
        return self._given_epoch

    def set_epoch(self, epoch: int, batch: int = 0) -> None:
        """The next loop runs this epoch, 0 or more, from its beginning or from its batch number `batch` on.

        ArgumentError when the epoch has no such batch, and for one in mid-epoch in relaxed order, where only a state
        tells which samples were used.
        """
        epoch, batch = whole("set_epoch(epoch)", epoch, 0, MOST_EPOCH), whole("set_epoch(batch)", batch, 0)
        if batch >= len(self):
            raise ArgumentError(f"set_epoch: batch {batch}, but an epoch has {len(self)}, from 0 on")
        if batch and self._relaxed:
            raise ArgumentError(f"set_epoch: batch {batch} in relaxed order, expected 0; load_state_dict() goes on in "
                                "mid-epoch")
        self._at = (epoch, batch, *state.START[2:])
        self._begun = False

    # --- iterating --------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Batch]:
        for images, labels, _, *more in self.batches():
            yield images, labels, *more
            del images, labels, more  # as in batches()

    def batches(self) -> Iterator[Batch]:
        """As iterating, with the samples' ids: (images, labels, ids, ...), ids uint64 of shape (batch,).

        Raises CancelledError in a loop that close() or a newer loop has ended, and what making a batch raises, behind
        the good batches before it.
        """
        self._turn += 1
        turn = self._turn
        if self._begun:
            self._at = state.beginning(self._at[0] + 1)
        self._begun = True
        while True:
            if turn != self._turn:
                raise CancelledError("this loop was ended by close() or by a newer loop over the same loader")
            core = self._core_here()
            try:
                batch = core.next() if turn == self._turn else None
                notices.warn()
            except BaseException:
                self._core_at = None  # what it gives next is not known: begin anew
                raise
            if batch is None:
                self._stop()
                raise CancelledError("the loader was closed while it was iterated")
            images, labels, ids, sizes, valid, epoch, index, last = batch
            self._given_epoch = epoch
            del core  # what is closed meanwhile is not kept by a loop that pauses
            self._core_at = self._at = state.beginning(epoch + 1) if last else (epoch, index + 1, *self._at[2:])
            self._progress = None
            if last:
                self._begun = False
            if len(ids) == 0:
                return  # of the epoch's last batch every sample was left out
            more: list[npt.NDArray[Any]] = [] if sizes is None else [sizes]
            if self._parts[-1] == "valid":
                more.append(np.arange(len(ids)) < valid)
            yield images, labels, ids, *more
            if last:
                return
            # What the loop let go of is free before the next is asked for.
            del batch, images, labels, ids, sizes, more

    def _core_here(self) -> Core:
        """The running loader, started anew where it does not stand at the next batch."""
        if self._core is not None and self._core.forked:
            self._core.next()  # tells what is wrong
        if self._core is None or self._core_at != self._at:
            self._stop()
            self._core = self._start()
            self._core_at = self._at
        return self._core

    def _start(self) -> Core:
        return _core.Loader(self._spec, self._dataset, *self._at, self._chosen, self._stretches, self._allocate,
                            *self._on_device, self._decode)

    def close(self) -> None:
        """Stops the threads and frees the memory; iterating starts them again. Also the end of a `with` block.

        From another thread it ends a loop that waits: CancelledError there.
        """
        self._turn += 1
        self._stop()

    def _stop(self) -> None:
        core, self._core, self._core_at = self._core, None, None
        if core is not None and not core.forked:
            core.close()
            if self._relaxed and self._progress is None:
                self._progress = core.progress()
            self._past_profile = core.profile()
            self._past_bad.update((bad[0], bad) for bad in core.bad_samples(sys.maxsize))

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- state ------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Where the run stands, after the last batch that was given: a dict of a few numbers, torch's convention.

        It may be taken at any batch, and loaded by loaders with any number of threads and ranks and any batch size:
        what was left of the epoch, over all ranks, is what they give.

        In relaxed order "window" has a bit for each sample up to the last that overtook one still due: at most 4096, or
        as many as the batches in flight hold. Of several ranks each then knows its own part only.
        """
        epoch, batch, offset, used = self._at
        return state.to_dict(self._run, self._progress_here() or (epoch, offset, used, batch * self._batch_size, b""),
                             self._stretches)

    def load_state_dict(self, state_dict: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        """The next loop goes on where `state_dict` was taken. ArgumentError when it was another data set or order,
        with what differs; data are the same wherever they lie, and not looked into.

        A list of the states of all ranks is what relaxed order needs where there were several: each knows what it gave
        itself alone. `torch.distributed.all_gather_object(states, loader.state_dict())` brings them together.

        Buckets stay those of the run that the state was taken of, so that each sample still comes once; batches of
        another size then cross from one to the next.

        The weights of a mixture may be others than they were: they hold from the end of the block of samples on that
        the state stands in (`explain` tells its length), and every source goes on where it was. A state of more than 8
        sources has no room for their weights; those from before a change are given by `un.mix(earlier=)`.
        """
        states = state.listed(state_dict)
        at, stretches, bucket_run = state.from_dicts(self._run, states)
        if bucket_run:  # the samples of the epoch are in the buckets of the run that began it
            self._stop()
            spec = json.loads(self._spec)
            spec["batch"]["bucket"]["run"] = bucket_run
            self._spec = json.dumps(spec)
            self._run = _core.RunState(self._spec, self._chosen, self._dataset)
        if stretches != self._stretches:
            self._stop()
            self._stretches = stretches
        self._at = at
        self._begun = False

    def _progress_here(self) -> state.Progress | None:
        if not self._relaxed or self._at[1] == 0:
            return None
        return self._progress or (self._core.progress() if self._core else None)

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

    # --- frameworks -------------------------------------------------------------------------------------------------

    @overload
    def to_torch(self, device: str | torch.device | None = None, *, normalize: Normalisation | None = None,
                 dtype: torch.dtype | None = None, channels_last: bool | None = None, names: None = None,
                 operations: str | None = None, decode: str | None = None,
                 decode_share: float | None = None) -> TorchLoader[tuple[torch.Tensor, ...]]: ...

    @overload
    def to_torch(self, device: str | torch.device | None = None, *, normalize: Normalisation | None = None,
                 dtype: torch.dtype | None = None, channels_last: bool | None = None, names: tuple[str, ...],
                 operations: str | None = None, decode: str | None = None,
                 decode_share: float | None = None) -> TorchLoader[dict[str, torch.Tensor]]: ...

    def to_torch(self, device: str | torch.device | None = None, *, normalize: Normalisation | None = None,
                 dtype: torch.dtype | None = None, channels_last: bool | None = None,
                 names: tuple[str, ...] | None = None,
                 operations: str | None = None, decode: str | None = None,
                 decode_share: float | None = None) -> TorchLoader[Any]:
        """The same batches as torch tensors on `device`, by a loader of its own; see unstarve.torch.TorchLoader. What
        is left out is as the pipeline says: `Pipeline.device`, normalize() and output()."""
        from unstarve.torch import TorchLoader

        return TorchLoader(self, device, normalize=normalize, dtype=dtype, channels_last=channels_last,
                           names=names, operations=operations, decode=decode, decode_share=decode_share)

    def to_jax(self, device: Any = None, *, normalize: Normalisation | None = None, dtype: Any = None,
               layout: str | None = None) -> JaxLoader:
        """The same batches as JAX arrays on `device`, by a loader of its own, with `normalize`, `dtype` and `layout`;
        see unstarve.jax.JaxLoader."""
        from unstarve.jax import JaxLoader

        return JaxLoader(self, device, normalize=normalize, dtype=dtype, layout=layout)

    def to_tf(self, *, normalize: Normalisation | None = None, dtype: Any = None, layout: str = "NHWC") -> Any:
        """The same batches as a tf.data.Dataset, by a loader of its own; see unstarve.tensorflow.dataset."""
        from unstarve.tensorflow import dataset

        return dataset(self, normalize=normalize, dtype=dtype, layout=layout)

    def with_output(self, dtype: str | None = None, layout: str | None = None, normalize: Normalisation | None = None,
                    allocate: Allocate | None = None, on_device: OnDevice = (0, 0)) -> Loader:
        """This loader with another element type `dtype`, `layout` or (mean, std) `normalize`, standing where this one
        stands.

        allocate: called with a number of bytes, gives a writable buffer's address and the object that keeps it; the
            batches are made there. At most two of them may be kept then.
        on_device: what is kept of batches on a device: memory_limit counts it, and memory() tells it.
        """
        spec = json.loads(self._spec)
        output = spec.setdefault("output", {})
        if dtype is not None:
            output["type"] = dtype
        if layout is not None:
            output["layout"] = layout
        if normalize is not None:
            output["mean"], output["stddev"] = normalisation(normalize)
        return self._standing_here(spec, allocate, on_device)

    @property
    def spec(self) -> str:
        """The pipeline as JSON."""
        return self._spec

    def for_device(self, device: dict[str, Any] | None) -> Loader:
        """This loader with another `device` of its pipeline, or none, standing where this one stands."""
        spec = json.loads(self._spec)
        spec.pop("device", None)
        if device is not None:
            spec["device"] = device
        return self._standing_here(spec, self._allocate, self._on_device)

    def host_part(self, operations: int, allocate: Allocate | None = None, on_device: OnDevice = (0, 0),
                  decode: _core.DecodeBalance | None = None) -> Loader:
        """This loader with the first so many operations alone, uint8 NHWC, standing where this one stands.

        allocate, on_device: as with_output() has them.
        decode: which samples stay files, for a device to decode, their bytes in their place in the batch. batches()
            then gives besides, in front of what batch() was asked for, files: int32 of shape (batch, 3), for each
            sample the bytes of its file, 0 where it has pixels, and the height and width of its image.
        """
        spec = json.loads(self._spec)
        spec["operations"] = spec.get("operations", [])[:operations]
        spec["output"] = {"type": "uint8", "layout": "NHWC"}
        spec.pop("device", None)
        made = self._standing_here(spec, allocate, on_device)
        made._decode = decode
        return made

    def device_operations(self, device: str, decode: _core.DecodeBalance | None) -> _core.DeviceOperations:
        """Those behind host_part(), made on `device`; decode: as there."""
        return _core.DeviceOperations(self._spec, self._dtype, device, decode, self._dataset,
                                      [] if decode is None else nvjpeg.libraries())

    def _standing_here(self, spec: dict[str, Any], allocate: Allocate | None, on_device: OnDevice) -> Loader:
        made = self._copy(spec)
        made._at, made._begun, made._allocate, made._stretches = self._at, self._begun, allocate, self._stretches
        made._progress, made._on_device = self._progress_here(), on_device
        return made

    def _copy(self, spec: dict[str, Any]) -> Loader:
        return Loader(spec, self._dataset, self._chosen, self._users)
