"""Denies a system call to a process and its children, as containers do: a seccomp filter set by prctl."""

import ctypes
import os
import platform
import struct
from collections.abc import Callable

import pytest

IO_URING_SETUP = 425  # the same number on every architecture

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _MODE_FILTER = 22, 38, 2  # linux/prctl.h, linux/seccomp.h
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS; BPF_JMP | BPF_JEQ; BPF_RET
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def denying(call: int, answer: int | None) -> Callable[[], None]:
    """Returns a preexec_fn for subprocess with which system call number `call` fails with the errno `answer`; None
    kills the process that makes it. Skips the test on unknown architectures."""
    architecture = _AUDIT_ARCH.get(platform.machine())
    if architecture is None:
        pytest.skip(f"no seccomp filter is known here for {platform.machine()}")
    library = ctypes.CDLL(None, use_errno=True)
    result = _KILL if answer is None else _ERRNO | answer
    instructions = [
        (_LOAD, 0, 0, 4),  # seccomp_data.arch
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _ALLOW),  # another architecture numbers its calls in another way
        (_LOAD, 0, 0, 0),  # seccomp_data.nr
        (_JUMP_EQUAL, 0, 1, call),
        (_RETURN, 0, 0, result),
        (_RETURN, 0, 0, _ALLOW),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in instructions))
    # struct sock_fprog: the number of instructions and, aligned, their address.
    described = ctypes.create_string_buffer(struct.pack("HP", len(instructions), ctypes.addressof(program)))

    def deny(_keep: object = program) -> None:
        for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _MODE_FILTER, described, 0, 0)):
            if library.prctl(*arguments) != 0:
                raise OSError(ctypes.get_errno(), "prctl: " + os.strerror(ctypes.get_errno()))

    return deny
