"""Steps that configure how a pipeline runs: caches, bad samples, threads, memory, device. Their position is free."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Self

from unstarve.arguments import check_bool, check_int, check_nonnegative, check_size, reject_repeated
from unstarve.errors import ArgumentError
from unstarve.steps.base import Steps
from unstarve.steps.literals import CacheWhat, DecodeOn, DeliveryOrder, ErrorPolicy, OperationsOn, WorkerKind
from unstarve.suggestions import suggesting_methods


@suggesting_methods
class ExecutionSteps(Steps):
    """Part of unstarve.Pipeline: steps that may be anywhere in the chain."""

    def cache(self, what: CacheWhat = "encoded", *, folder: str | os.PathLike[str] = "", limit_mb: int = 1024,
              after: int = -1) -> Self:
        """Caches expensive results, always before the first random operation. Batches do not change.

        Args:
            what: "encoded": stored records, in memory. "pixels": decoded and resized images, in memory or in a file of
                `folder` that all processes of the host share. "auto": the cache that saves most of the time of a
                sample, measured on a few samples when the loader starts; none if none saves a tenth.
                `Loader.explain` reports the measurements.
            folder: Folder of the file of "pixels"; "" caches in memory.
            limit_mb: Largest size in units of 10^6 bytes.
            after: Number of operations to apply before pixels are cached. -1: all before the first random operation,
                or with "auto" the number that saves most: images that an operation enlarges are cached before it.
        """
        return self._with(None, "cache", cache={"what": what, "folder": os.fspath(folder), "limit_mb": limit_mb,
                                                "after": check_int("cache(after)", after, -1)})

    def errors(self, policy: ErrorPolicy = "fail", *, limit: int = 1000, rate: float = 1.0) -> Self:
        """Sets the policy for bad samples, such as damaged images.

        Args:
            policy: "fail" stops the run. "replace" loads the next good sample instead. "skip" makes the batch shorter
                and omits a batch without good samples; with several ranks, which must have equally many batches, such
                a batch is an InputError (use "replace" or larger batches). An epoch without good samples is one too.
            limit: Number of bad samples above which the run fails.
            rate: Fraction of bad samples, 0 to 1, above which the run fails. Checked from the 1000th sample on.
        """
        return self._with(None, "errors", errors={"policy": policy, "limit": limit, "rate": rate})

    def options(self, *, threads: int | None = None, prefetch: int | None = None,
                read_ahead: int | None = None, order: DeliveryOrder | None = None,
                memory_limit: int | str | None = None, autotune: bool | None = None, cpu_limit: int | None = None,
                workers: int | None = None, kind: WorkerKind | None = None) -> Self:
        """Configures threads, memory and delivery. Threads and prefetching never change a batch.

        Args:
            threads: Worker threads of the loader. Default or 0: autotuned while the loader runs, to the least CPU time
                that keeps the consumer from waiting; up to 64 if samples wait for I/O, up to the number of cores if
                they compute. `Loader.explain` reports the decisions. With a fixed number only read_ahead is autotuned.
            prefetch: Batches prepared before they are requested (2; the initial value if autotuned).
            read_ahead: Records read before the threads need them (autotuned).
            order: "exact": the same batches in every run. "relaxed": out-of-order delivery, ready samples bypass
                stragglers. Every epoch still has the same samples with the same pixels, but in other batches.
            memory_limit: Largest number of bytes of the pipeline, or a text such as "1GB" or "500MiB"; rounded down to
                a multiple of 10^6. It covers batches (also those that you still hold), scratch memory of the threads,
                records read ahead and caches in memory; `Loader.memory` lists the parts. Prefetch and the others are
                chosen to fit. A training loop that holds all batches that fit waits until it releases one.
            autotune: False: as many threads as usable cores, and read_ahead chosen once at the start.
            cpu_limit: Number of cores that autotuned threads may use (all usable ones).
            workers: With map(): number of workers that make the samples (all usable cores); 0 makes them in the
                calling thread. Of the other options only prefetch applies then (workers + 1).
            kind: With map(): "processes" or "threads" (the default without a global interpreter lock).

        Raises:
            ArgumentError: A value is out of range or was already set.
        """
        given = {"threads": threads, "prefetch": prefetch, "read_ahead": read_ahead, "order": order,
                 "autotune": autotune, "cpu_limit": cpu_limit}
        if autotune is not None:
            given["autotune"] = check_bool("options(autotune)", autotune)
        if memory_limit is not None:
            given["memory_limit_mb"] = check_size("options(memory_limit)", memory_limit) // 1_000_000
        if kind not in (None, "processes", "threads"):
            raise ArgumentError(f"options(kind): found {kind!r}; expected 'processes' or 'threads'")
        for key, now, before in (("workers", workers, self._users.workers), ("kind", kind, self._users.kind)):
            if now is not None and before is not None:
                reject_repeated("options", key, before, "options")
        result = self._with(None, "options",
                            execution={key: value for key, value in given.items() if value is not None})
        if workers is not None:
            result._users = dataclasses.replace(result._users, workers=check_int("options(workers)", workers, 0))
        if kind is not None:
            result._users = dataclasses.replace(result._users, kind=kind)
        return result

    def device(self, name: str, *, operations: OperationsOn = "host", decode: DecodeOn = "host",
               decode_share: float | None = None) -> Self:
        """Sets the device of the batches and which work runs there. to_torch() uses it; YAML stores it.

        Everything else ignores it and prepares whole batches on the host: NumPy arrays, to_jax(), to_tf(). The commands
        `unstarve bench` and `unstarve train` use the name only.

        Args:
            name: "cpu", "cuda" or "cuda:1".
            operations: "host", or "device" for the operations after the first one that gives all samples one size.
                One kernel computes them from the uint8 images that cross the bus, with bit-equal results
                (unstarve.device_operations).
            decode: "host", or with operations="device" an nvJPEG backend that takes part in decoding: "hybrid",
                "gpu_hybrid", "hardware". Its pixels differ slightly from the host's.
            decode_share: Fraction, 0 to 1, of the files supported by nvJPEG that it decodes, the same files in every
                run. None: chosen from measured rates, which differ from run to run.
        """
        requested: dict[str, Any] = {"name": str(name), "operations": operations, "decode": decode}
        if decode_share is not None:
            requested["decode_share"] = check_nonnegative("device(decode_share)", decode_share)
        return self._with(None, "device", device=requested)

    def passes(self, **switches: bool) -> Self:
        """Switches optimisations on or off by name, as `explain` lists them: .passes(crop_into_decode=False).

        Args:
            switches: True or False by the name of the pass.
        """
        return self._with(None, "passes",
                          passes={name: check_bool(f"passes({name})", on) for name, on in switches.items()})
