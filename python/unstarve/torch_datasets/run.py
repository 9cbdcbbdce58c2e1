"""The resume position of a loader over a torch dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from unstarve.arguments import MAX_EPOCH, check_int, check_state
from unstarve.errors import ArgumentError
from unstarve.workers.order import Order

STATE_VERSION = 1
# See Order.at.
Position: TypeAlias = "tuple[int, int, int]"


class DatasetRun:
    """The resume position of a DatasetLoader, and the dicts that contain it. Used by one thread.

    Args:
        order: The order of the samples.
        batch: Samples per batch of all ranks.
        identity: What loaders that continue the same run have in common: "seed", "shuffle" and "dataset", the number of
            samples of the dataset.
    """

    def __init__(self, order: Order, batch: int, identity: Mapping[str, Any]) -> None:
        self._order = order
        self._batch = batch
        self._identity = identity
        self._begun = False  # a loop has run in the epoch of `position`
        self.position: Position = (0, 0, 0)  # of the next batch

    def continue_at(self, position: Position) -> None:
        """Begins the next loop at `position`."""
        self.position = position
        self._begun = False

    def begin_loop(self) -> Position:
        """Returns the position where a loop begins: in the next epoch if the last loop was left early."""
        if self._begun:
            self.position = (self.position[0] + 1, 0, 0)
        self._begun = True
        return self.position

    def receive(self, position: Position) -> None:
        """Continues after the batch at `position`."""
        epoch, batch, offset = position
        if batch + 1 == self._order.batches(offset):
            self.continue_at((epoch + 1, 0, 0))
        else:
            self.position = (epoch, batch + 1, offset)

    def state_dict(self) -> dict[str, Any]:
        """Returns the position as a dict."""
        epoch, batch, offset = self.position
        return {"version": STATE_VERSION, "epoch": epoch, "samples": offset + batch * self._batch, **self._identity}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues at the position of a state. Raises ArgumentError if it is no state, or that of another run."""
        check_state(state, STATE_VERSION)
        for key, mine in self._identity.items():
            if state.get(key) != mine:
                raise ArgumentError(f"state: found {key} {state.get(key)!r}; expected {mine!r}, as in this loader")
        epoch = check_int("state: epoch", state.get("epoch"), 0, MAX_EPOCH)
        samples = check_int("state: samples", state.get("samples"), 0, self._identity["dataset"])
        self.continue_at((epoch, 0, samples) if self._order.batches(samples) else (epoch + 1, 0, 0))
