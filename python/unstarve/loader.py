"""Batches of a pipeline, epoch by epoch, as NumPy arrays: iterated, resumed, closed. What a loader tells of itself is
in unstarve.telling, what it gives in the forms of frameworks in unstarve.converting.

Same batches every run: order and augmentation are functions of (seed, epoch, sample), not of threads or timing. One
process, threads only, but for functions of the user's (unstarve.mapped); they run on from one epoch into the next, so
that epochs begin without a pause.
"""

from __future__ import annotations

import atexit
import json
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from unstarve import _core, notices, state
from unstarve.arguments import MOST_EPOCH, whole
from unstarve.converting import Converting
from unstarve.errors import ArgumentError, CancelledError
from unstarve.running import Allocate, BadSample, Batch, Core, OnDevice
from unstarve.spec_text import spec_text
from unstarve.telling import Telling
from unstarve.users import UserCode

# Those whose threads call Python: they end before the interpreter does.
_calling: weakref.WeakSet[Loader] = weakref.WeakSet()


@atexit.register
def _close_calling() -> None:
    for loader in list(_calling):
        loader.close()


class Loader(Telling, Converting):
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
        self._spec = spec_text(spec)
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
        self._shuffled: bool = spec.get("order", {}).get("shuffle", True)
        self._copies_ended: set[state.At] = set()  # where copies began that came to the end of an epoch
        self._made_from: list[tuple[set[state.At], state.At]] = []  # those sets of what this is a copy of; where
        self._turn = 0  # of the newest iterator

    def __len__(self) -> int:
        """Batches per epoch, of this rank; under errors("skip") those that may be left out are counted."""
        return self._batches

    def __repr__(self) -> str:
        return f"<unstarve.Loader: {self._dataset.format}, {len(self)} batches of {self._batch_size}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Loader holds threads and their memory and is neither copied nor pickled; expected one of "
                        "its own in each process, as of the same steps or un.from_yaml(loader.to_yaml())")

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
                for ended, at in self._made_from:
                    ended.add(at)
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
            self._spec = spec_text(spec)
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

    def _standing_here(self, spec: dict[str, Any], allocate: Allocate | None, on_device: OnDevice) -> Loader:
        made = self._copy(spec)
        made._at, made._begun, made._allocate, made._stretches = self._at, self._begun, allocate, self._stretches
        made._progress, made._on_device = self._progress_here(), on_device
        made._made_from = [*self._made_from, (self._copies_ended, self._at)]
        return made

    def _warn_of_repeating(self, call: str) -> None:
        if self._shuffled and self._at in self._copies_ended:
            notices.tell(f"{call} again, in epoch {self._at[0]} again: each call makes a loader of its own, from where "
                         "this one stands, and the one before has run an epoch of the same order and pixels; call it "
                         "once, before the loop over epochs, or this loader's set_epoch() before each call")

    def _copy(self, spec: dict[str, Any]) -> Loader:
        return Loader(spec, self._dataset, self._chosen, self._users)
