"""Python objects from one process to another: pickled, their large buffers through anonymous shared memory.

An Arena is a memfd: memory without a name, so that nothing is left in /dev/shm however a process ends, and the size
of /dev/shm is no limit. One process allocates slots in it and writes them once; the others map it. A slot's first byte
says whether it is lent; the reader clears it when the last array or tensor over the slot is gone, and the owner uses it
again: no message, no lock, no copy at the reader, no page faults for memory that was used before.

    chunk   [ slot | slot | ... ]            64 MiB or more, mapped as a whole; what is not touched costs nothing
    slot    [ state, 64 bytes | pickle | buffer | buffer | ... ]      each part aligned to 64 bytes

Linux only (memfd).
"""

from __future__ import annotations

import copyreg
import io
import mmap
import os
import pickle
import sys
import weakref
from collections.abc import Callable, MutableMapping
from typing import Any, TypeAlias

import numpy as np

_ALIGN = 64
_CHUNK_BYTES = 64 << 20
# Smaller buffers stay in the pickle, smaller messages in the socket: below it a copy costs less than the bookkeeping.
_SMALL_BUFFER_BYTES = 1 << 10
_INLINE_BYTES = 16 << 10
_PIECE_BYTES = 1 << 20
_FREE, _LENT = 0, 1


# functions that pickle a class, by the class
Reducers: TypeAlias = "MutableMapping[type, Callable[[Any], Any]]"


def _aligned(size: int) -> int:
    return (size + _ALIGN - 1) // _ALIGN * _ALIGN


class Arena:
    """The writing side. One process allocates, from one thread at a time."""

    def __init__(self, fd: int | None = None) -> None:
        self.fd = os.memfd_create("unstarve", os.MFD_CLOEXEC) if fd is None else fd
        self._end = 0
        self._chunks: dict[int, mmap.mmap] = {}  # by start
        self._free: list[tuple[int, int, int]] = []  # (start, offset, size), sorted
        self._lent: list[tuple[int, int, int]] = []  # as _free

    def take(self, size: int) -> tuple[int, int, mmap.mmap]:
        """A slot of at least `size` bytes, lent from now on: (start of the chunk, offset in it, the chunk's mmap)."""
        size = _aligned(_ALIGN + size)
        found = self._find(size)
        if found is None:
            self._sweep()
            found = self._find(size)
        if found is None:
            self._grow(size)
            found = self._find(size)
            assert found is not None
        start, offset, room = self._free.pop(found)
        if room > size:
            self._free.insert(found, (start, offset + size, room - size))
        self._lent.append((start, offset, size))
        chunk = self._chunks[start]
        chunk[offset] = _LENT
        return start, offset, chunk

    def _find(self, size: int) -> int | None:
        """The smallest free stretch that holds `size` bytes."""
        fitting = [(room, at) for at, (_, _, room) in enumerate(self._free) if room >= size]
        return min(fitting)[1] if fitting else None

    def _sweep(self) -> None:
        """Takes back the slots that their readers have released, and joins neighbours."""
        released = [slot for slot in self._lent if self._chunks[slot[0]][slot[1]] == _FREE]
        if not released:
            return
        gone = set(released)
        self._lent = [slot for slot in self._lent if slot not in gone]
        joined: list[tuple[int, int, int]] = []
        for start, offset, size in sorted(self._free + released):
            if joined and joined[-1][0] == start and joined[-1][1] + joined[-1][2] == offset:
                joined[-1] = (start, joined[-1][1], joined[-1][2] + size)
            else:
                joined.append((start, offset, size))
        self._free = joined

    def _grow(self, size: int) -> None:
        size = max(_CHUNK_BYTES, (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE)
        os.ftruncate(self.fd, self._end + size)
        self._chunks[self._end] = mmap.mmap(self.fd, size, offset=self._end)
        self._free.append((self._end, 0, size))
        self._end += size

    def close(self) -> None:
        """Gives the descriptor back; memory that is still mapped stays until its readers let go."""
        os.close(self.fd)
        self._chunks.clear()


class View:
    """The reading side of another process's arena.

    private: what is written to the arrays afterwards stays in this process (copy on write), and slots are never
        released; else slots are released when nothing refers to them any more.
    """

    def __init__(self, fd: int, private: bool = False) -> None:
        self._fd = fd
        self._private = private
        self._chunks: dict[int, mmap.mmap] = {}

    def chunk(self, start: int, size: int) -> mmap.mmap:
        found = self._chunks.get(start)
        if found is None:
            access = mmap.ACCESS_COPY if self._private else mmap.ACCESS_WRITE
            found = self._chunks[start] = mmap.mmap(self._fd, size, offset=start, access=access)
        return found

    def unpack(self, message: bytes) -> Any:
        """The object that pack() made `message` of. Its arrays and tensors are writable and lie in the arena."""
        place, head, sizes = pickle.loads(message)
        if place is None:
            return pickle.loads(head, buffers=[bytearray(buffer) for buffer in sizes])
        start, chunk_size, offset = place
        chunk = self.chunk(start, chunk_size)
        total = _aligned(head) + sum(map(_aligned, sizes))
        slot = np.frombuffer(chunk, np.uint8, total, offset + _ALIGN)
        if not self._private:
            weakref.finalize(slot, _release, chunk, offset).atexit = False
        whole = memoryview(slot)
        at, buffers = _aligned(head), []
        for size in sizes:
            buffers.append(whole[at:at + size])
            at += _aligned(size)
        return pickle.loads(whole[:head], buffers=buffers)

    def holds(self, message: bytes, head: bytes, buffers: list[memoryview]) -> bool:
        """Whether the slot of `message` is what store(head, buffers) would make."""
        (start, chunk_size, offset), size, sizes = pickle.loads(message)
        if size != len(head) or sizes != [buffer.nbytes for buffer in buffers]:
            return False
        chunk, at = self.chunk(start, chunk_size), offset + _ALIGN
        for stored in (memoryview(head), *buffers):
            part = np.frombuffer(stored, np.uint8)
            there = np.frombuffer(chunk, np.uint8, len(part), at)
            # In pieces: a comparison makes an array of its own.
            if not all(np.array_equal(part[i:i + _PIECE_BYTES], there[i:i + _PIECE_BYTES])
                       for i in range(0, len(part), _PIECE_BYTES)):
                return False
            at += _aligned(len(part))
        return True

    def release(self, message: bytes) -> None:
        """Gives back the slot of a message that nobody will unpack."""
        place, _, _ = pickle.loads(message)
        if place is not None:
            start, chunk_size, offset = place
            _release(self.chunk(start, chunk_size), offset)


def _release(chunk: mmap.mmap, offset: int) -> None:
    chunk[offset] = _FREE


# --- pickling --------------------------------------------------------------------------------------------------------


def pack(value: object, arena: Arena, inline: int = _INLINE_BYTES) -> bytes:
    """`value` as a message of a few bytes, what is more than `inline` bytes of it in a slot of `arena`."""
    head, buffers = dump(value)
    if len(head) + sum(buffer.nbytes for buffer in buffers) <= inline:
        return pickle.dumps((None, head, [bytes(buffer) for buffer in buffers]), 5)
    return store(head, buffers, arena)


def store(head: bytes, buffers: list[memoryview], arena: Arena) -> bytes:
    """As pack(), of what dump() gave, always in a slot."""
    sizes = [buffer.nbytes for buffer in buffers]
    start, offset, chunk = arena.take(_aligned(len(head)) + sum(map(_aligned, sizes)))
    whole = memoryview(chunk)
    at = offset + _ALIGN
    for part in (memoryview(head), *buffers):
        size = len(part)
        whole[at:at + size] = part
        at += _aligned(size)
    return pickle.dumps(((start, len(chunk), offset), len(head), sizes), 5)


def dump(value: object, table: Reducers | None = None) -> tuple[bytes, list[memoryview]]:
    """(pickle, buffers) of `value`: protocol 5, CPU tensors and arrays as flat buffers out of band."""
    buffers: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < _SMALL_BUFFER_BYTES:
            return True
        buffers.append(raw)
        return False

    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, 5, buffer_callback=keep)
    pickler.dispatch_table = reducers() if table is None else table
    pickler.dump(value)
    return stream.getvalue(), buffers


def reducers() -> Reducers:
    """How pickles are made: torch's tensors, where it is imported, as arrays are."""
    if "torch" not in sys.modules:
        return copyreg.dispatch_table
    from unstarve.workers import tensors

    return tensors.REDUCERS
