"""The run of a loader: the length of its epochs and the position from which it continues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unstarve import _core
from unstarve.errors import ArgumentError
from unstarve.loaders.engine import Engine
from unstarve.loaders.run_state import START, MixtureStretch, Position, Progress, epoch_start, to_dict


class LoaderRun:
    """The length of a loader's epochs, its resume position and the states that contain it.

    Threads: keep_progress() may be called from any thread, everything else by one thread at a time.

    Args:
        spec: The spec of the loader.
        epoch: Batches and samples per epoch of this rank.
        state: The run as the library describes it in state dicts.
    """

    def __init__(self, spec: Mapping[str, Any], epoch: tuple[int, int], state: _core.RunState) -> None:
        self.batch_size: int = spec["batch"]["size"]
        self.batches, self.samples = epoch
        self.state = state
        self.stretches: list[MixtureStretch] = state.first_stretches()  # weights of the mixture
        self.position = START  # of the next batch
        self.given_epoch = 0  # of the last batch received
        self._relaxed: bool = spec.get("execution", {}).get("order") == "relaxed"
        self._progress: Progress | None = None  # of the last engine up to `position`, in relaxed order
        self._begun = False  # a loop has run in the epoch of `position`

    def set_epoch(self, epoch: int, batch: int) -> None:
        """Continues with a batch of an epoch. Raises ArgumentError if that is no position of this run."""
        if batch >= self.batches:
            raise ArgumentError(f"set_epoch(batch): found {batch}; expected 0 to {self.batches - 1}")
        if batch and self._relaxed:
            raise ArgumentError(f"set_epoch(batch): found {batch} with order='relaxed'; expected 0. Use "
                                "load_state_dict() to resume within an epoch.")
        self.continue_at((epoch, batch, *START[2:]), self.stretches)

    def continue_at(self, position: Position, stretches: list[MixtureStretch]) -> None:
        """Continues at a position, with these weights of the mixture."""
        self.position, self.stretches = position, stretches
        self._begun = False

    def continue_from(self, other: LoaderRun, engine: Engine | None) -> None:
        """Continues where another run is, whose running engine is `engine`."""
        self.position, self.stretches = other.position, other.stretches
        self._begun, self._progress = other._begun, other._current_progress(engine)

    def begin_loop(self) -> None:
        """Begins a loop, with the next epoch if the last loop was left early."""
        if self._begun:
            self.position = epoch_start(self.position[0] + 1)
        self._begun = True

    def receive(self, epoch: int, index: int, last: bool, runs: bool) -> Position:
        """Returns the position after a batch, which becomes that of this run.

        `last`: the batch ends its epoch. `runs`: its engine still runs; otherwise the progress was kept when another
        thread closed it.
        """
        self.given_epoch = epoch
        self.position = epoch_start(epoch + 1) if last else (epoch, index + 1, *self.position[2:])
        if runs:
            self._progress = None
        if last:
            self._begun = False
        return self.position

    def keep_progress(self, engine: Engine) -> None:
        """Keeps the progress of an engine that was closed, of which the next state requires it in relaxed order."""
        if self._relaxed and self._progress is None:
            self._progress = engine.progress()

    def state_dict(self, engine: Engine | None) -> dict[str, Any]:
        """Returns the resume position as a dict, given the running engine."""
        epoch, batch, offset, used = self.position
        return to_dict(self.state,
                       self._current_progress(engine) or (epoch, offset, used, batch * self.batch_size, b""),
                       self.stretches)

    def _current_progress(self, engine: Engine | None) -> Progress | None:
        if not self._relaxed or self.position[1] == 0:
            return None
        return self._progress or (engine.progress() if engine else None)
