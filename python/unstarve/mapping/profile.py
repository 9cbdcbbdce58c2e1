"""The measurements of a run with map()."""

from __future__ import annotations

import json
import time

from unstarve.mapping.workers import MapWorkers
from unstarve.workers.map_job import MappedBatch


class MapProfile:
    """Counts samples and batches, and adds up the time of the workers. Used by one thread."""

    def __init__(self) -> None:
        self.tried = 0  # samples that were begun, including bad ones
        self._samples = self._batches = 0
        self._ns, self._begun = (0, 0), time.monotonic_ns()

    def add(self, batch: MappedBatch) -> None:
        """Adds a batch."""
        self.tried += batch.tried
        self._ns = self._ns[0] + batch.ns[0], self._ns[1] + batch.ns[1]
        self._batches += 1
        self._samples += len(batch.ids)

    def as_json(self, workers: MapWorkers) -> str:
        """Returns the profile as JSON, with two stages: the library and the functions."""
        names = ("read, decode, augment", "map")
        stages = [{"name": name, "samples": self.tried, "busy_ns": ns, "bytes": 0}
                  for name, ns in zip(names, self._ns, strict=True)]
        return json.dumps({"version": 1, "wall_ns": time.monotonic_ns() - self._begun, "samples": self._samples,
                           "batches": self._batches, "loader_threads": workers.count,
                           "prefetch_batches": workers.prefetch, "stages": stages})
