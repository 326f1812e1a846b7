"""The names in a program or library (ELF), read without the tools of a compiler."""

import mmap
import struct
from pathlib import Path
from typing import NamedTuple

_LOAD, _DYNAMIC = 1, 2
_NEEDED, _STRINGS, _SONAME = 1, 5, 14


class Names(NamedTuple):
    """The names by which libraries are found."""

    soname: str = ""
    """Its own name; empty without one."""
    needed: tuple[str, ...] = ()
    """The names of the libraries that it needs."""


def names(path: Path) -> Names:
    """Return the names in a file; none unless it is a dynamically linked 64-bit ELF file."""
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if content[:5] != b"\x7fELF\x02":
            return Names()
        order = "<" if content[5] == 1 else ">"
        (table,) = struct.unpack_from(f"{order}Q", content, 32)
        size, count = struct.unpack_from(f"{order}HH", content, 54)
        segments = [struct.unpack_from(f"{order}IIQQQQ", content, table + n * size) for n in range(count)]
        _, _, start, _, _, length = next(segment for segment in segments if segment[0] == _DYNAMIC)
        entries = list(struct.iter_unpack(f"{order}QQ", content[start : start + length // 16 * 16]))
        address = next(value for tag, value in entries if tag == _STRINGS)
        strings = next(
            offset + address - begin
            for kind, _, offset, begin, _, bytes_ in segments
            if kind == _LOAD and begin <= address < begin + bytes_
        )
        said = {
            wanted: [_text(content, strings + value) for tag, value in entries if tag == wanted]
            for wanted in (_SONAME, _NEEDED)
        }
    except (OSError, struct.error, ValueError, StopIteration):
        return Names()
    return Names("".join(said[_SONAME][:1]), tuple(said[_NEEDED]))


def _text(content: mmap.mmap, start: int) -> str:
    return content[start : content.find(b"\0", start)].decode(errors="replace")
