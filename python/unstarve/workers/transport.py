"""Sends Python objects between processes: pickled, with large buffers in anonymous shared memory.

An Arena is a memfd, memory without a name: nothing remains in /dev/shm however a process ends, and its size is not
limited by /dev/shm. One process allocates slots and writes them once; the others map them. The first byte of a slot
says whether it is in use. The reader clears it when the last array or tensor over the slot is deleted, and the owner
reuses the slot: no message, no lock, no copy in the reader, no page faults for memory that was used before.

    chunk   [ slot | slot | ... ]            64 MiB or more, mapped as a whole; untouched pages cost nothing
    slot    [ state, 64 bytes | pickle | (sizes) | buffer | buffer | ... ]    each part aligned to 64 bytes
            [ state, 64 bytes | buffer ]                              of reserve(), which a message refers to

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
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, TypeAlias

import numpy as np

_ALIGN = 64
_CHUNK_BYTES = 64 << 20
# Smaller buffers stay in the pickle, smaller messages in the socket: there a copy costs less than a slot.
_SMALL_BUFFER_BYTES = 1 << 10
_INLINE_BYTES = 16 << 10
_MOST_SIZES = 256  # of buffers in a message; more are in the slot: a socket limits the length of a message
_PIECE_BYTES = 1 << 20
_FREE, _IN_USE = 0, 1


# The function that pickles a class, by class.
Reducers: TypeAlias = "MutableMapping[type, Callable[[Any], Any]]"


# A buffer in a slot of its own: start and size of the chunk, offset of the slot, size of the buffer.
_Reserved: TypeAlias = "tuple[int, int, int, int]"


def _address(buffer: memoryview) -> int:
    address: int = np.frombuffer(buffer, np.uint8).__array_interface__["data"][0]
    return address


def _aligned(size: int) -> int:
    return (size + _ALIGN - 1) // _ALIGN * _ALIGN


class Arena:
    """The writer's side. One process allocates, from one thread at a time."""

    def __init__(self, fd: int | None = None) -> None:
        self.fd = os.memfd_create("unstarve", os.MFD_CLOEXEC) if fd is None else fd
        self._end = 0
        self._chunks: dict[int, mmap.mmap] = {}  # by start
        self._free: list[tuple[int, int, int]] = []  # (start, offset, size), sorted
        self._used: list[tuple[int, int, int]] = []  # as _free
        self._reserved: dict[int, tuple[int, int, mmap.mmap]] = {}  # by address of the contents: slots of reserve()

    def take(self, size: int) -> tuple[int, int, mmap.mmap]:
        """Allocates a slot of at least `size` bytes: (start of the chunk, offset in it, mmap of the chunk)."""
        size = _aligned(_ALIGN + size)
        self._sweep()
        found = self._find(size)
        if found is None:
            self._grow(size)
            found = self._find(size)
            assert found is not None
        start, offset, room = self._free.pop(found)
        if room > size:
            self._free.insert(found, (start, offset + size, room - size))
        self._used.append((start, offset, size))
        chunk = self._chunks[start]
        chunk[offset] = _IN_USE
        return start, offset, chunk

    def reserve(self, size: int) -> memoryview:
        """Allocates writable memory for a buffer of the next message.

        If pack() finds the buffer in its object, the message refers to the memory instead of copying it. Otherwise the
        memory is free after pack().
        """
        start, offset, chunk = self.take(size)
        memory = memoryview(chunk)[offset + _ALIGN:offset + _ALIGN + size]
        self._reserved[_address(memory)] = start, offset, chunk
        return memory

    def claim(self, buffer: memoryview) -> _Reserved | None:
        """Returns where a buffer of reserve() is, or None for any other buffer. It then belongs to the message."""
        found = self._reserved.pop(_address(buffer), None) if self._reserved else None
        return None if found is None else (found[0], len(found[2]), found[1], buffer.nbytes)

    def settle(self) -> None:
        """Frees the memory of reserve() that no message refers to."""
        for _, offset, chunk in self._reserved.values():
            chunk[offset] = _FREE
        self._reserved.clear()

    def _find(self, size: int) -> int | None:
        """Returns the index of the first free range of at least `size` bytes: memory that was used before, if any."""
        return next((at for at, (_, _, room) in enumerate(self._free) if room >= size), None)

    def _sweep(self) -> None:
        """Reclaims the slots that readers have released and joins adjacent ranges."""
        released = [slot for slot in self._used if self._chunks[slot[0]][slot[1]] == _FREE]
        if not released:
            return
        gone = set(released)
        self._used = [slot for slot in self._used if slot not in gone]
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
        """Closes the descriptor. Mapped memory remains until the readers release it."""
        os.close(self.fd)
        self._chunks.clear()


class View:
    """The reader's side of another process's arena.

    Args:
        fd: Descriptor of the arena.
        private: Map copy-on-write, so that changes stay in this process, and never release slots. Otherwise a slot is
            released when nothing refers to it.
    """

    def __init__(self, fd: int, private: bool = False) -> None:
        self.fd = fd
        self._private = private
        self._chunks: dict[int, mmap.mmap] = {}

    def chunk(self, start: int, size: int) -> mmap.mmap:
        found = self._chunks.get(start)
        if found is None:
            access = mmap.ACCESS_COPY if self._private else mmap.ACCESS_WRITE
            found = self._chunks[start] = mmap.mmap(self.fd, size, offset=start, access=access)
        return found

    def unpack(self, message: bytes) -> Any:
        """Returns the object of a message of pack(). Its arrays and tensors are writable views of the arena."""
        slot_of, head, sizes = pickle.loads(message)
        if slot_of is None:
            return pickle.loads(head, buffers=[self._slot(*buffer) if isinstance(buffer, tuple) else bytearray(buffer)
                                               for buffer in sizes])
        start, chunk_size, offset = slot_of
        at, sizes = self._sizes(slot_of, head, sizes)
        total = at + sum(_aligned(size) for size in sizes if isinstance(size, int))
        whole = self._slot(start, chunk_size, offset, total)
        buffers = []
        for size in sizes:
            if isinstance(size, tuple):
                buffers.append(self._slot(*size))
                continue
            buffers.append(whole[at:at + size])
            at += _aligned(size)
        return pickle.loads(whole[:head], buffers=buffers)

    def _sizes(self, slot_of: tuple[int, int, int], head: int, sizes: list[Any] | int) -> tuple[int, list[Any]]:
        """Returns where the buffers begin in a slot, and their sizes. `sizes`: the list, or its length in the slot."""
        if not isinstance(sizes, int):
            return _aligned(head), sizes
        start, chunk_size, offset = slot_of
        begin = offset + _ALIGN + _aligned(head)
        return _aligned(head) + _aligned(sizes), pickle.loads(self.chunk(start, chunk_size)[begin:begin + sizes])

    def _slot(self, start: int, chunk_size: int, offset: int, size: int) -> memoryview:
        """Returns the contents of a slot, which is released when nothing refers to them."""
        chunk = self.chunk(start, chunk_size)
        slot = np.frombuffer(chunk, np.uint8, size, offset + _ALIGN)
        if not self._private:
            weakref.finalize(slot, _release, chunk, offset, os.getpid()).atexit = False
        return memoryview(slot)

    def holds(self, message: bytes, head: bytes, buffers: list[memoryview]) -> bool:
        """Returns whether the slot of `message` has the contents that store(head, buffers) would write."""
        slot_of, size, sizes = pickle.loads(message)
        if size != len(head):
            return False
        begin, sizes = self._sizes(slot_of, size, sizes)
        if sizes != [buffer.nbytes for buffer in buffers]:
            return False
        start, chunk_size, offset = slot_of
        chunk, at = self.chunk(start, chunk_size), 0
        for stored in (memoryview(head), *buffers):
            part = np.frombuffer(stored, np.uint8)
            there = np.frombuffer(chunk, np.uint8, len(part), offset + _ALIGN + at)
            # In pieces, because a comparison allocates an array.
            if not all(np.array_equal(part[i:i + _PIECE_BYTES], there[i:i + _PIECE_BYTES])
                       for i in range(0, len(part), _PIECE_BYTES)):
                return False
            at = begin if at == 0 else at + _aligned(len(part))
        return True

    def release(self, message: bytes) -> None:
        """Releases the slots of a message that will not be unpacked."""
        slot_of, head, sizes = pickle.loads(message)
        if slot_of is not None:
            _, sizes = self._sizes(slot_of, head, sizes)
        for start, chunk_size, offset, *_ in [*([] if slot_of is None else [slot_of]),
                                              *(size for size in sizes if isinstance(size, tuple))]:
            _release(self.chunk(start, chunk_size), offset, os.getpid())


def _release(chunk: mmap.mmap, offset: int, reader: int) -> None:
    if os.getpid() == reader:  # not in a fork of the reader, which may still use the slot
        chunk[offset] = _FREE


# --- pickling --------------------------------------------------------------------------------------------------------


def pack(value: object, arena: Arena, inline: int = _INLINE_BYTES) -> bytes:
    """Returns `value` as a short message. If it has more than `inline` bytes, they are in a slot of `arena`."""
    try:
        head, buffers = dump(value)
        parts = [arena.claim(buffer) or buffer for buffer in buffers]
        if len(head) + sum(part.nbytes for part in parts if isinstance(part, memoryview)) <= inline:
            return pickle.dumps((None, head, [bytes(part) if isinstance(part, memoryview) else part
                                              for part in parts]), 5)
        return store(head, parts, arena)
    finally:
        arena.settle()


def store(head: bytes, buffers: Sequence[memoryview | _Reserved], arena: Arena) -> bytes:
    """As pack(), for a result of dump(), always in a slot. Reserved buffers stay where they are."""
    sizes = [buffer.nbytes if isinstance(buffer, memoryview) else buffer for buffer in buffers]
    inner = [buffer for buffer in buffers if isinstance(buffer, memoryview)]
    listed = pickle.dumps(sizes, 5) if len(sizes) > _MOST_SIZES else b""
    parts = [memoryview(head), memoryview(listed), *inner]
    start, offset, chunk = arena.take(sum(_aligned(part.nbytes) for part in parts))
    whole = memoryview(chunk)
    at = offset + _ALIGN
    for part in parts:
        size = len(part)
        whole[at:at + size] = part
        at += _aligned(size)
    return pickle.dumps(((start, len(chunk), offset), len(head), len(listed) or sizes), 5)


def dump(value: object, table: Reducers | None = None) -> tuple[bytes, list[memoryview]]:
    """Returns (pickle, buffers) of `value`: protocol 5, with CPU tensors and arrays as out-of-band buffers."""
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
    """Returns the reducers for pickling; torch tensors, if torch is imported, are pickled like arrays."""
    if "torch" not in sys.modules:
        return copyreg.dispatch_table
    from unstarve.workers import tensor_pickling

    return tensor_pickling.REDUCERS
