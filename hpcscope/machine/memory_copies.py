"""Whether processes of this host may read each other's memory, as MPI libraries do for large messages."""

import ctypes
import os

CALL = "process_vm_readv"


class _Piece(ctypes.Structure):
    """`struct iovec`: an address and a length."""

    _fields_ = [("address", ctypes.c_void_p), ("length", ctypes.c_size_t)]  # the name that ctypes requires


def refusal() -> str:
    """Return the kernel's error if it refuses such copies altogether; empty if it does not.

    A process may always read its own memory (process_vm_readv(2)), unless a filter, such as the seccomp profile of
    a container, refuses the call.
    """
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(8)
    piece = _Piece(ctypes.addressof(buffer), 8)
    here = ctypes.byref(piece)
    if not hasattr(library, CALL) or getattr(library, CALL)(os.getpid(), here, 1, here, 1, 0) >= 0:
        return ""
    return os.strerror(ctypes.get_errno())
