"""The engines of a loader, one after another."""

from __future__ import annotations

import sys

from unstarve.loaders.engine import BadSample, Engine
from unstarve.loaders.run_state import Position


class Engines:
    """The running engine of a loader, and the reports of the earlier ones.

    Threads: stop() may be called from any thread, everything else by one thread at a time.
    """

    def __init__(self) -> None:
        self.running: Engine | None = None
        self.position: Position | None = None  # of the next batch of `running`; None if unknown
        self._past_profile = ""  # of the last engine
        self._past_bad: dict[int, BadSample] = {}  # by id, of all previous engines

    def at(self, position: Position) -> Engine | None:
        """Returns the running engine if its next batch is that at `position`. Raises ArgumentError in a fork."""
        engine = self.running
        if engine is not None and engine.forked:
            engine.next()  # raises the error that explains the fork
        return engine if self.position == position else None

    def begin(self, engine: Engine, position: Position) -> Engine:
        """Returns `engine`, which runs from now on, and whose next batch is that at `position`."""
        self.running, self.position = engine, position
        return engine

    def stop(self) -> Engine | None:
        """Closes the running engine and keeps its reports. Returns it, or None if there was none in this process."""
        engine, self.running, self.position = self.running, None, None
        if engine is None or engine.forked:
            return None
        engine.close()
        self._past_profile = engine.profile()
        self._past_bad.update((bad[0], bad) for bad in engine.bad_samples(sys.maxsize))
        return engine

    def profile(self) -> str:
        """Returns the measurements of the last engine as JSON; "" before the first one."""
        return self.running.profile() if self.running else self._past_profile

    def bad_samples(self) -> list[BadSample]:
        """Returns the bad samples of all engines, ordered by id, without repetitions."""
        found = dict(self._past_bad)
        if self.running:
            found.update((bad[0], bad) for bad in self.running.bad_samples(sys.maxsize))
        return [bad for _, bad in sorted(found.items())]
