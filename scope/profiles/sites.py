"""Call sites: the same place in a program has another address in every process, and a name in its symbols.

A program in Python has the places themselves.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scope.profiles.profile import NOWHERE, Profile
from scope.profiles.records import Site

Frame = tuple[str, int, str]
"""A place in a program: the path of the module and the address as its symbols count it, or the path of the source,
the line and the function."""

Addresses = NDArray[np.uint64]

_PATIENCE_S = 30
_PLACE = 1 << 63
"""Of an address: the rest is a row of the table of places. No address of a program has this bit."""


class Sites:
    """The places of all processes, each with one number."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[Frame, ...], int] = {}

    def of(self, profile: Profile) -> NDArray[np.int64]:
        """Return for each row of a profile's table of sites the number of that place, -1 for rows not in use."""
        rows = profile.tables["sites"]
        modules = np.sort(profile.tables["modules"], order="begin")
        begins = modules["begin"].astype(np.uint64)
        ends = modules["end"].astype(np.uint64)
        biases = modules["bias"].astype(np.uint64)
        paths = [bytes(path).decode(errors="replace") for path in modules["path"]]
        places = [_place_of(row) for row in profile.tables["places"]]
        found = np.full(len(rows), -1, np.int64)
        for index, row in enumerate(rows):
            if row["used"]:
                addresses = row["frames"][: int(row["depth"])]
                frames = tuple(
                    _frame_of_place(int(one), places)
                    if int(one) & _PLACE
                    else _frame(int(one), begins, ends, biases, paths)
                    for one in addresses
                )
                found[index] = self.numbers.setdefault(frames, len(self.numbers))
        return found

    def named(self) -> list[Site]:
        """Return the places by number, with the names that the programs' symbols give them."""
        names = _names({frame for frames in self.numbers for frame in frames})
        return [Site(frames=[names[frame] for frame in frames]) for frames in self.numbers]


def renumbered(sites: NDArray[np.uint32], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Translate a profile's own numbers of sites; -1 where there is none."""
    known = sites < min(len(numbers), NOWHERE)
    return np.where(known, numbers[np.where(known, sites, 0)] if len(numbers) else -1, -1)


def _frame(address: int, begins: Addresses, ends: Addresses, biases: Addresses, paths: Sequence[str]) -> Frame:
    """Say in which module an address lies, and where its file has that place."""
    place = int(np.searchsorted(begins, np.uint64(address), side="right")) - 1
    if place < 0 or address >= int(ends[place]):
        return "", address, ""
    return paths[place], address - int(biases[place]), ""


def _place_of(row: np.void) -> Frame:
    file, function = (bytes(row[name]).decode(errors="replace") for name in ("file", "function"))
    return file, int(row["line"]), function or "?"


def _frame_of_place(address: int, places: Sequence[Frame]) -> Frame:
    number = address - _PLACE
    return places[number] if number < len(places) else ("", 0, "?")


def _names(frames: Iterable[Frame]) -> dict[Frame, str]:
    by_module: dict[str, list[int]] = defaultdict(list)
    names: dict[Frame, str] = {}
    for path, number, function in sorted(frames):
        if function:
            names[path, number, function] = f"{function} ({Path(path).name}:{number})"
        else:
            by_module[path].append(number)
    for path, addresses in by_module.items():
        known = _symbols(path, addresses)
        for address in addresses:
            names[path, address, ""] = known.get(address) or f"{Path(path).name or 'unknown'}+{address:#x}"
    return names


def _symbols(path: str, addresses: Sequence[int]) -> dict[int, str]:
    """Ask addr2line for `function (file:line)` of each return address; empty without it or without symbols."""
    tool = shutil.which("addr2line")
    if tool is None or not path or not Path(path).is_file():
        return {}
    # A return address is that of the next instruction, which may belong to another line.
    asked = "".join(f"{address - 1:#x}\n" for address in addresses)
    try:
        answer = subprocess.run(
            [tool, "-f", "-C", "-s", "-e", path],
            input=asked,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    lines = answer.stdout.splitlines()
    if len(lines) != 2 * len(addresses):
        return {}
    return {
        address: _place(function, line, Path(path).name)
        for address, function, line in zip(addresses, lines[::2], lines[1::2], strict=True)
        if function != "??"
    }


def _place(function: str, line: str, module: str) -> str:
    where = line.partition(" (discriminator")[0]
    return f"{function} ({module if where.startswith('?') else where.removesuffix(':?')})"
