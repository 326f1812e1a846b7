"""Call sites: the same place in a program has a different address in every process, and a name in its symbols.

For Python programs, the profile has the places themselves. A call path is a site with several frames; frames that
only pass calls on to MPI are removed if the path shows their caller.
"""

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import NDArray

from hpcscope.programs.profiles import elf
from hpcscope.programs.profiles.profile import NOWHERE, Integers, Profile, Rows
from hpcscope.programs.profiles.records import CallSite

Frame = tuple[str, int, str]
"""A place in a program: path of the module, address in its file, and an empty text; or path of the source,
line and function."""

MONITOR = "libscope-monitor.so"
_PATIENCE_S = 30
_PLACE = 1 << 63
"""Address bit that marks a row in the table of places; addresses of a program never have this bit."""
_OUTSIDE = re.compile(r"_start|__libc_start\w*|__libc_init_first|start_thread|(__)?clone3?")
"""Functions of the C library that call the program's first function."""
_MPI_LIBRARY = re.compile(r"lib(p?mpi|open-|mpich|fmpich|oshmem|scope-collectives)")
"""File names of MPI libraries, and of libraries between program and MPI."""
_ABOUT_MPI = re.compile(r"(?:^|[^a-zA-Z])[pP]?(?:mpi|MPI|Mpi)|(?:mpi|MPI|Mpi)(?:$|[^a-zA-Z])|[a-z](?:MPI|Mpi)")
"""`mpi` as a word, or at the start or end of one, in the name of a function: mpi_send_t, xmpi_sum,
__mpi__r8_v::send_t, CommMPI::send; but neither `compile` nor `simpinge`."""
_CLONE = re.compile(r"(\.(constprop|isra|part|cold|lto_priv|localalias|_omp_fn|\d+)(\.\d+)*)+$")
"""Suffixes that compilers append to the names of functions that they have specialized, split or outlined."""
_MODULES = (
    re.compile(r"__(?P<module>\w+?)_MOD_(?P<name>\w+)"),  # GNU
    re.compile(r"(?P<module>[a-z]\w*?)_mp_(?P<name>\w+?)_?"),  # Intel
    re.compile(r"_QM(?P<module>[a-z0-9_]+)(?:F[a-z0-9_]+)?P(?P<name>[a-z0-9_]+)"),  # LLVM
)
"""Symbols of module procedures by Fortran compiler."""
_FORTRAN_SOURCE = re.compile(r".*\.(f|for|ftn|f77|f90|f95|f03|f08)(:\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Name:
    """The name of a frame from its symbols."""

    function: str
    """Name without arguments; `app+0x1234` without symbols."""
    where: str = ""
    """`halo.c:120`, or the file of the module if the source is not known; empty without symbols."""
    module: str = ""
    """File name of the module, without its directory."""

    @property
    def is_in_source(self) -> bool:
        """Whether the source is known."""
        return self.where not in ("", self.module)

    @cached_property
    def text(self) -> str:
        """The name with its place: `exchange (halo.c:120)`."""
        return f"{self.function} ({self.where})" if self.where else self.function


@dataclass(frozen=True)
class Named:
    """The paths of all processes with their names."""

    paths: list[tuple[Name, ...]]
    """Paths by number from `Sites.of`, innermost frame first, without wrappers and the C library's start code."""
    sites: list[CallSite]
    """Distinct call sites."""
    number: Integers
    """For each path, the index of its call site in `sites`, or -1."""


class Sites:
    """The distinct paths of all processes, numbered."""

    def __init__(self) -> None:
        self._frames: dict[Frame, int] = {}
        self._paths: dict[tuple[int, ...], int] = {}
        self._calling: set[int] = set()

    def of(self, profile: Profile) -> Integers:
        """Return the path number of each row in a profile's table of sites, -1 for rows not in use."""
        found = self._numbers(profile, profile.tables["sites"])
        self._calling.update(found.tolist())
        return found

    def of_samples(self, profile: Profile) -> Integers:
        """Return the number of the computing path of each row in a profile's table of samples."""
        return self._numbers(profile, profile.tables["samples"])

    def named(self, wrappers: Sequence[str] = ()) -> Named:
        """Return the paths with names from the programs' symbols.

        `wrappers`: shell patterns for functions and modules that only pass calls on to MPI, in addition to those
        recognized by themselves: files of MPI libraries, functions with `mpi` in their name.
        """
        names = _names(self._frames)
        frames = [names[frame] for frame in self._frames]
        paths = []
        for number, path in enumerate(self._paths):
            inside = _inside([name for index in path for name in frames[index]])
            paths.append(tuple(unwrapped(inside, wrappers) if number in self._calling else _computing(inside)))
        texts = [tuple(name.text for name in path) for path in paths]
        calling = (text for number, text in enumerate(texts) if number in self._calling)
        distinct = {text: number for number, text in enumerate(dict.fromkeys(calling))}
        return Named(
            paths=paths,
            sites=[CallSite(frames=list(text)) for text in distinct],
            number=np.array([distinct.get(text, -1) for text in texts], np.int64),
        )

    def _numbers(self, profile: Profile, rows: Rows) -> Integers:
        found = np.full(len(rows), -1, np.int64)
        used = np.flatnonzero(rows["used"])
        if not len(used):
            return found
        addresses = rows["frames"][used].astype(np.uint64)
        valid = np.arange(addresses.shape[1]) < rows["depth"][used][:, None]
        distinct, place = np.unique(addresses[valid], return_inverse=True)
        numbers = np.array(
            [self._frames.setdefault(frame, len(self._frames)) for frame in _frames_of(profile, distinct)],
            np.int64,
        )[place]
        ends = np.cumsum(valid.sum(axis=1))
        for row, path in zip(used, np.split(numbers, ends[:-1]), strict=True):
            found[row] = self._paths.setdefault(tuple(path.tolist()), len(self._paths))
        return found


def renumbered(sites: NDArray[np.uint32], numbers: Integers) -> Integers:
    """Translate a profile's own site numbers; -1 if there is no site."""
    known = sites < min(len(numbers), NOWHERE)
    return np.where(known, numbers[np.where(known, sites, 0)] if len(numbers) else -1, -1)


def unwrapped(path: Sequence[Name], wrappers: Sequence[str] = ()) -> Sequence[Name]:
    """Return a path without the innermost frames that only pass the call on to MPI; the outermost frame stays."""
    first = 0
    while first < len(path) - 1 and _passes_on(path[first], wrappers):
        first += 1
    return path[first:]


def is_about_mpi(place: str) -> bool:
    """Return whether a frame of `CallSite.frames` is, by its name, a function that only passes calls on to MPI."""
    return _ABOUT_MPI.search(place.partition(" (")[0]) is not None


def fortran_name(symbol: str) -> str:
    """Return `module::procedure` for the symbol of a module procedure, or any other symbol unchanged."""
    for pattern in _MODULES:
        if match := pattern.fullmatch(symbol):
            return f"{match['module']}::{match['name']}"
    return symbol


def _passes_on(frame: Name, wrappers: Sequence[str]) -> bool:
    if _MPI_LIBRARY.match(frame.module) or is_about_mpi(frame.function):
        return True
    texts = (frame.function.lower(), frame.module.lower())
    return any(fnmatch(text, pattern.lower()) for text in texts for pattern in wrappers)


def _inside(path: Sequence[Name]) -> Sequence[Name]:
    """Return a path without the callers of the program's first function; a path is never empty."""
    for place, frame in enumerate(path):
        if place and _is_outside(frame.function):
            return path[:place]
    return path


@cache
def _is_outside(function: str) -> bool:
    return _OUTSIDE.fullmatch(function) is not None


def _computing(path: Sequence[Name]) -> Sequence[Name]:
    """Return a path of computation without the monitor's frames, whose work is attributed to the caller of MPI."""
    first = next((place for place, frame in enumerate(path) if frame.module != MONITOR), 0)
    return path[first:]


def _frames_of(profile: Profile, addresses: NDArray[np.uint64]) -> list[Frame]:
    """Return for each address its module and the position in the module's file."""
    modules = np.sort(profile.tables["modules"], order="begin")
    begins, ends, biases = (modules[name].astype(np.uint64) for name in ("begin", "end", "bias"))
    paths = [bytes(path).decode(errors="replace") for path in modules["path"]]
    places = [_place_of(row) for row in profile.tables["places"]]
    frames = []
    for address, after in zip(addresses, np.searchsorted(begins, addresses, side="right"), strict=True):
        module = int(after) - 1
        if int(address) & _PLACE:
            number = int(address) - _PLACE
            frames.append(places[number] if number < len(places) else ("", 0, "?"))
        elif module < 0 or address >= ends[module]:
            frames.append(("", int(address), ""))
        else:
            frames.append((paths[module], int(address) - int(biases[module]), ""))
    return frames


def _place_of(row: np.void) -> Frame:
    file, function = (bytes(row[name]).decode(errors="replace") for name in ("file", "function"))
    return file, int(row["line"]), function or "?"


def _names(frames: Iterable[Frame]) -> dict[Frame, tuple[Name, ...]]:
    """Return the names of frames; a frame has several names if the compiler inlined functions."""
    by_module: dict[str, list[int]] = defaultdict(list)
    names: dict[Frame, tuple[Name, ...]] = {}
    for path, number, function in sorted(frames):
        if function:
            names[path, number, function] = (Name(function, f"{Path(path).name}:{number}"),)
        else:
            by_module[path].append(number)
    symbols = _symbols(by_module)
    for path, addresses in by_module.items():
        file = elf.read(Path(path))
        for address in addresses:
            found = symbols.get((path, address))
            # addr2line returns the last symbol before an address, even across functions without symbols.
            if found and (found[-1].is_in_source or file.has_symbol(address - 1)):
                names[path, address, ""] = found
            else:
                names[path, address, ""] = (_unnamed(Path(path).name, address, file.start(address - 1)),)
    return names


def _unnamed(module: str, address: int, start: int | None) -> Name:
    """Return the name of a return address without a symbol: the start of its function, if known."""
    exact = f"{module or 'unknown'}+{address:#x}"
    return Name(exact, "", module) if start is None else Name(f"{module}+{start:#x}", exact, module)


def _symbols(asked: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], tuple[Name, ...]]:
    """Return functions and lines of each return address from addr2line; empty if it is missing or knows none."""
    tool = shutil.which("addr2line")
    if tool is None:
        return {}
    raw: dict[tuple[str, int], list[tuple[str, str]]] = {}
    running = [
        # A return address points to the next instruction, which may belong to another line.
        (
            path,
            addresses,
            _begun([tool, "-a", "-f", "-i", "-s", "-e", path], [f"{address - 1:#x}" for address in addresses]),
        )
        for path, addresses in asked.items()
        if path and Path(path).is_file()
    ]
    for path, addresses, process in running:
        lines = _answer(process)
        begins = [place for place, line in enumerate(lines) if line.startswith("0x")]
        if len(begins) != len(addresses):
            continue
        for address, begin, end in zip(addresses, begins, [*begins[1:], len(lines)], strict=True):
            found = list(zip(lines[begin + 1 : end : 2], lines[begin + 2 : end : 2], strict=False))
            if found and found[-1][0] != "??":
                raw[path, address] = [(_CLONE.sub("", symbol), line) for symbol, line in found]
    plain = _demangled({symbol for found in raw.values() for symbol, _ in found})
    return {
        key: tuple(_name(plain[symbol], line, Path(key[0]).name) for symbol, line in found)
        for key, found in raw.items()
    }


def _demangled(symbols: set[str]) -> dict[str, str]:
    """Return the demangled names of symbols, for C++ without arguments."""
    names = {symbol: fortran_name(symbol) for symbol in symbols}
    mangled = sorted(symbol for symbol in symbols if symbol.startswith(("_Z", "_R")))
    tool = shutil.which("c++filt")
    if mangled and tool is not None:
        answer = _answer(_begun([tool, "-p"], mangled))
        if len(answer) == len(mangled):
            names |= dict(zip(mangled, answer, strict=True))
    return names


def _name(function: str, line: str, module: str) -> Name:
    where = line.partition(" (discriminator")[0].removesuffix(":?")
    if _FORTRAN_SOURCE.fullmatch(where):
        function = function if function.endswith("__") else function.removesuffix("_")
    return Name(function, module if where.startswith("?") else where, module)


def _begun(command: Sequence[str], asked: Iterable[str]) -> subprocess.Popen[str] | None:
    """Start a tool that reads these lines from a file, so that it works before anyone waits for its answer."""
    try:
        with TemporaryFile() as lines:
            lines.write("".join(f"{line}\n" for line in asked).encode())
            lines.seek(0)
            return subprocess.Popen(
                command,
                stdin=lines,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                errors="replace",
            )
    except OSError:
        return None


def _answer(process: subprocess.Popen[str] | None) -> list[str]:
    """Return the lines of a tool's answer; empty if it fails or takes too long."""
    if process is None:
        return []
    try:
        return process.communicate(timeout=_PATIENCE_S)[0].splitlines()
    except (OSError, subprocess.TimeoutExpired):
        process.kill()
        process.communicate()
        return []
