"""Start a program for which the kernel refuses process_vm_readv and process_vm_writev, as in some containers."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys

CALLS = {"x86_64": (310, 311), "aarch64": (270, 271)}
"""Numbers of both calls."""
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
REFUSED, ALLOWED = 0x00050001, 0x7FFF0000
"""EPERM, and what a filter returns for all other calls (linux/seccomp.h, linux/filter.h)."""


class Filter(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def refuse() -> None:
    """Refuse both calls to this process and to what it becomes."""
    library = ctypes.CDLL(None, use_errno=True)
    read, write = CALLS[platform.machine()]
    steps = [
        (LOAD, 0, 0, 0),
        (EQUAL, 1, 0, read),
        (EQUAL, 0, 1, write),
        (RETURN, 0, 0, REFUSED),
        (RETURN, 0, 0, ALLOWED),
    ]
    held = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = Filter(len(steps), ctypes.addressof(held))
    if library.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or library.prctl(SECCOMP, FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel has no seccomp filters")


if __name__ == "__main__":
    refuse()
    os.execvp(sys.argv[1], sys.argv[1:])
