"""The functions in a program file: from its symbols and, for functions without any, from its unwinding table."""

import mmap
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_MAGIC = b"\x7fELF\x02\x01"
"""Start of a 64-bit little-endian ELF file."""
_HEADER = struct.Struct("16x2HI3QI6H")
_PART = struct.Struct("2I6Q")
_SECTION = struct.Struct("2I4Q2I2Q")
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("part", "<u2"), ("at", "<u8"), ("size", "<u8")]
)
_SYMBOL_TABLES = (2, 11)
_FUNCTIONS = (2, 10)
"""Kinds of symbols: functions, and indirect functions that are resolved at load time."""
_UNWINDING = 0x6474E550
"""PT_GNU_EH_FRAME: the part that holds .eh_frame_hdr."""
_ENCODING = bytes((1, 0x1B, 0x03, 0x3B))
"""Version 1; table of 32-bit pairs sorted by address, relative to the header, as every linker writes it."""


def _none() -> Integers:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class ProgramFile:
    """The functions in a file; empty unless it is a 64-bit little-endian ELF file.

    References: System V Application Binary Interface; Linux Standard Base, `.eh_frame_hdr`.
    """

    begins: Integers = field(default_factory=_none)
    """Start addresses of the functions that have symbols, in order."""
    ends: Integers = field(default_factory=_none)
    starts: Integers = field(default_factory=_none)
    """Start addresses of all functions that can be unwound, in order."""

    def has_symbol(self, address: int) -> bool:
        """Return whether an address is inside a function with a symbol."""
        place = int(np.searchsorted(self.begins, address, side="right")) - 1
        return place >= 0 and address < self.ends[place]

    def start(self, address: int) -> int | None:
        """Return the start of the function that contains an address; None if not known."""
        place = int(np.searchsorted(self.starts, address, side="right")) - 1
        return int(self.starts[place]) if place >= 0 else None


def read(path: Path) -> ProgramFile:
    """Read the functions in a file."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[:6] != _MAGIC:
                return ProgramFile()
            header = _HEADER.unpack_from(data)
            begins, ends = _symbols(data, header[5], header[10], header[11])
            return ProgramFile(begins, ends, _starts(data, header[4], header[8], header[9]))
    except (OSError, ValueError, struct.error):  # missing, empty or truncated
        return ProgramFile()


def _symbols(data: mmap.mmap, at: int, size: int, count: int) -> tuple[Integers, Integers]:
    """Return starts and ends of the functions in the symbol tables, in order."""
    tables = []
    for section in range(count):
        _, kind, _, _, offset, length, *_ = _SECTION.unpack_from(data, at + section * size)
        if kind in _SYMBOL_TABLES:
            table = np.frombuffer(data[offset : offset + length], _SYMBOL, length // _SYMBOL.itemsize)
            tables.append(table[np.isin(table["info"] & 15, _FUNCTIONS) & (table["size"] > 0)])
    if not tables:
        return _none(), _none()
    symbols = np.unique(
        np.concatenate([np.stack([table["at"], table["at"] + table["size"]], 1) for table in tables]), axis=0
    )
    return symbols[:, 0].astype(np.int64), np.maximum.accumulate(symbols[:, 1].astype(np.int64))


def _starts(data: mmap.mmap, at: int, size: int, count: int) -> Integers:
    """Return the first column of the pairs in .eh_frame_hdr, after its header, a pointer and their number."""
    for part in range(count):
        kind, _, offset, address, _, length, *_ = _PART.unpack_from(data, at + part * size)
        if kind == _UNWINDING and length >= 12 and data[offset : offset + 4] == _ENCODING:
            pairs = min(int.from_bytes(data[offset + 8 : offset + 12], "little"), (length - 12) // 8)
            table = np.frombuffer(data[offset + 12 : offset + 12 + 8 * pairs], "<i4")
            starts: Integers = table[::2].astype(np.int64) + address
            return starts
    return _none()
