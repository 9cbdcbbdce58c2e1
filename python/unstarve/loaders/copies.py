"""The copies of a loader that to_torch(), to_jax() and to_tf() return."""

from __future__ import annotations

from collections.abc import Sequence

from unstarve import notices
from unstarve.loaders.run_state import Position


class Copies:
    """Knows at which positions copies of a loader began that have finished an epoch.

    Args:
        originals: The loaders of which this one is a copy: the start positions of the copies of each that have finished
            an epoch, and the position at which it was copied.
    """

    def __init__(self, originals: Sequence[tuple[set[Position], Position]] = ()) -> None:
        self._originals = originals
        self._finished: set[Position] = set()  # start positions of copies that finished an epoch

    def copied(self, position: Position) -> Copies:
        """Returns the record of a new copy, which begins at `position`."""
        return Copies([*self._originals, (self._finished, position)])

    def finish_epoch(self) -> None:
        """Called when the loader has finished an epoch."""
        for finished, position in self._originals:
            finished.add(position)

    def warn_if_repeated(self, call: str, position: Position) -> None:
        """Warns if an earlier copy has already run the epoch that another copy would begin with."""
        if position in self._finished:
            notices.warn(f"{call} was called again at epoch {position[0]}: every call returns a new loader at "
                         "the position of this one, and the previous loader has already run an epoch of the same order "
                         "and pixels. Call it once, before the loop over epochs, or call this loader's set_epoch() "
                         "before each call.")
