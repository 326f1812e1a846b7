"""The profile file of one process, as written by the monitor: a text header and self-describing tables.

The file is valid at every moment, so the file of a killed process can be read like any other.
"""

import contextlib
import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hpcscope.errors import ScopeError, naming
from hpcscope.rundirectory import opened, refuse_changed

MAGIC = "scope-profile"
VERSION = 1
HEADER_BYTES = 65536
SUFFIX = ".profile"
NOWHERE = 0xFFFFFFFF
"""Site of a call whose caller was not recorded."""
MOST_ROWS = 1 << 24
"""Maximum number of rows in a table; a table with more is damaged."""

Rows = NDArray[np.void]
"""The rows in use of one table, as a structured array with named columns."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STATES = ("running", "finalized", "aborted", "exited")
"""States of a process by number; a `running` process was killed or is still running."""

COLUMNS: dict[str, dict[str, str]] = {
    "process": {
        "state": "u4",
        "abort_code": "i4",
        **dict.fromkeys(
            (
                *(
                    "init_begin_tick",
                    "first_tick",
                    "first_unix_ns",
                    "last_tick",
                    "last_unix_ns",
                    "last_sample_tick",
                ),
                *("finalize_tick", "mpi_ticks", "calls", "lost_calls", "lost_partners", "lost_sites"),
                *("lost_requests", "lost_events", "timeline_rows", "open_requests"),
            ),
            "u8",
        ),
        "user_s": "f8",
        "system_s": "f8",
        **dict.fromkeys(
            (
                *("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"),
                *("resident_bytes", "peak_resident_bytes", "samples", "samples_in_mpi", "lost_samples"),
            ),
            "u8",
        ),
        "threads": "u4",
        "in_routine": "u4",
        "in_since_tick": "u8",
    },
    "calls": {
        **dict.fromkeys(("used", "routine", "site", "communicator_size", "size_class"), "u4"),
        "region": "i4",
        **dict.fromkeys(("calls", "ticks", "min_ticks", "max_ticks", "bytes"), "u8"),
        "histogram": "u4[40]",
    },
    "waits": {
        **dict.fromkeys(("used", "operation", "site", "communicator_size", "size_class"), "u4"),
        **dict.fromkeys(("requests", "ticks", "bytes"), "u8"),
    },
    "partners": {
        "used": "u4",
        "rank": "i4",
        **dict.fromkeys(
            (
                *("sent_messages", "sent_bytes", "received_messages", "received_bytes"),
                *("send_ticks", "receive_ticks", "put_operations", "put_bytes", "get_operations", "get_bytes"),
            ),
            "u8",
        ),
    },
    "sites": {"used": "u4", "depth": "u4", "frames": "u8[32]"},
    "modules": {"used": "u4", "begin": "u8", "end": "u8", "bias": "u8", "path": "s256"},
    "places": {"used": "u4", "line": "u4", "function": "s64", "file": "s256"},
    "timeline": {
        "used": "u4",
        **dict.fromkeys(("begin_tick", "end_tick", "mpi_ticks", "calls", "sent_bytes", "received_bytes"), "u8"),
        "user_s": "f8",
        "system_s": "f8",
        "resident_bytes": "u8",
    },
    "regions": {
        **{"used": "u4", "number": "i4"},
        **dict.fromkeys(("entries", "ticks", "mpi_ticks"), "u8"),
        "name": "s64",
    },
    "files": {
        **dict.fromkeys(("used", "layer"), "u4"),
        **dict.fromkeys(
            (
                *("opens", "open_ticks", "reads", "read_bytes", "read_ticks"),
                *("writes", "written_bytes", "write_ticks", "syncs", "sync_ticks", "others", "other_ticks"),
                *("longest_ticks", "consecutive", "forward", "unaligned", "collective", "extent"),
                *("file_gaps", "memory_gaps"),
            ),
            "u8",
        ),
        "block_bytes": "u4",
        "read_sizes": "u4[33]",
        "write_sizes": "u4[33]",
        "path": "s256",
    },
    "samples": {"used": "u4", "depth": "u4", "region": "i4", "samples": "u8", "frames": "u8[32]"},
    "events": {
        "used": "u4",
        "begin_tick": "u8",
        "end_tick": "u8",
        **dict.fromkeys(("routine", "site", "depth"), "u4"),
        "partner": "i4",
        "tag": "i4",
        "communicator": "u8",
        "bytes": "u8",
        "direction": "i4",
        "operation": "u4",
    },
}
"""The columns that this version knows; columns that a file lacks are 0, additional columns are kept."""

NUMBERED = ("sites", "places")
"""Tables whose rows are referenced by number, so that all rows up to the last one in use keep their positions."""

_TABLE = re.compile(r"table (\w+) offset (\d+) rows (\d+) stride (\d+) columns (.+)")
_COLUMN = re.compile(r"(\w+):(u4|u8|i4|i8|f8|s)(?:\[?(\d+)\]?)?")
_STEADY_S = 1.0
"""Minimum time between two calendar readings for a clock rate better than the calibrated rate."""
_NEAR = 1e-2
"""Maximum relative difference of these rates; beyond it, the system clock was set meanwhile."""


@dataclass(frozen=True)
class EventTable:
    """The position of a table in its file and the type of its rows."""

    name: str
    offset: int
    rows: int
    dtype: np.dtype[np.void]


@dataclass(frozen=True)
class Header:
    """The header that a process writes at its start."""

    rank: int
    """Rank in MPI_COMM_WORLD."""
    ranks: int
    host: str
    pid: int
    program: str
    arguments: tuple[str, ...]
    mpi: str
    """First line of the MPI library's version string."""
    thread_level: str
    interval_s: float
    trace: str
    depth: int
    sample_hz: float
    """Samples of the computation per second of CPU time; 0 without sampling."""
    tick_rate_hz: float
    routines: tuple[str, ...]
    """Routines by number; number 0 is "none"."""
    other_tool: str
    """Path of another tool between program and MPI; empty if there is none."""
    hidden_routines: tuple[str, ...]
    """Routines whose calls that tool intercepts before the monitor."""
    job: str
    """Name that distinguishes launches under one command; empty if not known."""


@dataclass(frozen=True)
class Profile:
    """The profile of one process."""

    path: Path
    header: Header
    tables: Mapping[str, Rows]
    """All tables of `COLUMNS` and of the file: the rows in use or, for `NUMBERED`, all up to the last in use."""
    warnings: tuple[str, ...]
    """Defects that did not prevent reading the file."""

    @property
    def rank(self) -> int:
        """Rank of the process in MPI_COMM_WORLD."""
        return self.header.rank

    @property
    def ranks(self) -> int:
        """Size of MPI_COMM_WORLD."""
        return self.header.ranks

    @property
    def host(self) -> str:
        """Host on which the process ran."""
        return self.header.host

    @property
    def process(self) -> np.void:
        """The single row about the process itself."""
        row: np.void = self.tables["process"][0]
        return row

    @property
    def state(self) -> str:
        """How the process ended: one of `STATES`."""
        number = int(self.process["state"])
        return STATES[number] if number < len(STATES) else f"state {number}"

    @property
    def tick_s(self) -> float:
        """Length of a tick in s: measured over the whole run if long enough, else as calibrated at the start."""
        calibrated = 1.0 / self.header.tick_rate_hz
        process = self.process
        ticks = int(process["last_sample_tick"]) - int(process["first_tick"])
        seconds = (int(process["last_unix_ns"]) - int(process["first_unix_ns"])) * 1e-9
        if seconds < _STEADY_S or ticks <= 0:
            return calibrated
        refined = seconds / ticks
        return refined if abs(refined / calibrated - 1) < _NEAR else calibrated

    @property
    def end_tick(self) -> int:
        """End of the measured time: the start of MPI_Finalize, else the last sign of life."""
        process = self.process
        if process["finalize_tick"]:
            return int(process["finalize_tick"])
        return max(int(process[name]) for name in ("last_tick", "last_sample_tick", "first_tick", "in_since_tick"))

    @property
    def wall_s(self) -> float:
        """Time from MPI_Init to MPI_Finalize, or to the last sign of life."""
        return max(0, self.end_tick - int(self.process["first_tick"])) * self.tick_s

    def routine(self, number: int) -> str:
        """Return the name of a routine; `routine 812` if the header does not list it."""
        names = self.header.routines
        return names[number] if number < len(names) else f"routine {number}"


def read(path: Path) -> Profile:
    """Read the profile of one process, however it ended.

    A file with truncated tables yields the remaining rows, with a warning. Raises a one-line ScopeError if the
    file is missing, does not match its checksum, is not a profile, has an invalid header, or is of a later
    version.
    """
    with naming(path, "cannot be read"), opened(path) as file:
        refuse_changed(path, file)
        return _read(path, file)


def _read(path: Path, file: BinaryIO) -> Profile:
    lines = _lines(path, file.read(HEADER_BYTES))
    size = file.seek(0, 2)
    words = dict(line.partition(" ")[::2] for line in lines if not line.startswith("table "))
    header = _header(path, words)
    warnings: list[str] = []
    tables: dict[str, Rows] = {name: np.zeros(0, _complete(name, None)) for name in COLUMNS}
    for table in _tables(path, lines, words.get("byte_order", "little")):
        raw = _rows(file, table, size)
        if len(raw) < table.rows:
            warnings.append(
                f"{path}: truncated at byte {size}: the table {table.name} has {len(raw)} of its {table.rows} rows"
            )
        tables[table.name] = _in_use(table.name, raw)
    _add_latest(tables["calls"])
    if not len(tables["process"]):
        raise ScopeError(f"{path}: truncated at byte {size}, before anything was counted")
    return Profile(path, header, tables, tuple(warnings))


def _lines(path: Path, head: bytes) -> list[str]:
    if not head.startswith(f"{MAGIC} ".encode()):
        raise ScopeError(f"{path}: is not a profile: it does not begin with {MAGIC!r}")
    lines = head.split(b"\0", 1)[0].decode("utf-8", errors="replace").splitlines()
    version = lines[0].split()[1]
    if version != str(VERSION):
        raise ScopeError(f"{path}: is of version {version}: this version of Scope reads version {VERSION}")
    return lines


def _header(path: Path, words: Mapping[str, str]) -> Header:
    try:
        return Header(
            rank=int(words["rank"]),
            ranks=int(words["ranks"]),
            host=words["host"],
            pid=int(words["pid"]),
            program=str(_said(words.get("program", '""'))),
            arguments=tuple(str(argument) for argument in _said(words.get("arguments", "[]"))),
            mpi=words.get("mpi", ""),
            thread_level=words.get("thread_level", ""),
            interval_s=float(words.get("interval_s", "0")),
            trace=words.get("trace", "0:0"),
            depth=int(words.get("depth", "0")),
            sample_hz=float(words.get("sample_hz", "0")),
            tick_rate_hz=_positive(float(words["tick_rate_hz"])),
            routines=_routines(words["routines"].split()),
            other_tool=words.get("other_tool", ""),
            hidden_routines=tuple(words.get("hidden_routines", "").split()),
            job=words.get("job", ""),
        )
    except KeyError as error:
        raise ScopeError(
            f"{path}: its header has no line {error.args[0]!r}; the rank ended inside MPI_Init"
        ) from error
    except (ValueError, TypeError) as error:
        raise ScopeError(f"{path}: its header cannot be understood: {error}") from error


def _routines(names: list[str]) -> tuple[str, ...]:
    return tuple(names) if names[:1] == ["none"] else ("none", *names)


def _said(text: str) -> Any:
    """Return a JSON value; text that is not JSON is returned unchanged."""
    with contextlib.suppress(json.JSONDecodeError):
        return json.loads(text)
    return text


def _positive(value: float) -> float:
    if not 0 < value < float("inf"):
        raise ValueError(f"tick_rate_hz {value:g}: must be more than 0")
    return value


def _tables(path: Path, lines: list[str], byte_order: str) -> Iterator[EventTable]:
    order = {"little": "<", "big": ">"}.get(byte_order)
    if order is None:
        raise ScopeError(f"{path}: byte_order {byte_order}: must be little or big")
    for line in lines:
        if line.startswith("table "):
            try:
                yield _table(line.rstrip(), order)
            except ValueError as error:
                raise ScopeError(f"{path}: cannot be understood: {error}") from error


@cache
def _table(line: str, order: str) -> EventTable:
    match = _TABLE.fullmatch(line)
    if match is None:
        raise ValueError(line[:80])
    offset, rows, stride = map(int, match.group(2, 3, 4))
    if rows > MOST_ROWS or offset < HEADER_BYTES:
        raise ValueError(f"table {match[1]} offset {offset} rows {rows}")
    return EventTable(match[1], offset, rows, _dtype(match[1], match[5], order, stride))


def _dtype(table: str, columns: str, order: str, stride: int) -> np.dtype[np.void]:
    names: list[str] = []
    formats: list[np.dtype[Any]] = []
    offsets: list[int] = []
    at = 0
    for word in columns.split():
        match = _COLUMN.fullmatch(word)
        if match is None:
            raise ValueError(f"table {table}: column {word}: unknown type")
        one = np.dtype(_format(match[2], match[3], order))
        if not match[1].startswith("pad"):
            names.append(match[1])
            formats.append(one)
            offsets.append(at)
        at += one.itemsize
    if at > stride or len(set(names)) < len(names):
        raise ValueError(f"table {table}: its columns do not fit a row of {stride} bytes")
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": stride})


def _format(kind: str, count: str | None, order: str) -> Any:
    if kind == "s":
        return f"S{count or 1}"
    return (f"{order}{kind}", (int(count),)) if count else f"{order}{kind}"


def _rows(file: BinaryIO, table: EventTable, size: int) -> Rows:
    """Return the existing rows, which are fewer than the table has if the file is truncated.

    Most of a file consists of holes, which are not read because they would fill the memory with zeros.
    """
    rows = max(0, min(table.rows, (size - table.offset) // table.dtype.itemsize))
    data = np.zeros(rows * table.dtype.itemsize, np.uint8)
    for begin, end in _written(file.fileno(), table.offset, table.offset + len(data)):
        os.preadv(file.fileno(), [data[begin - table.offset : end - table.offset].data], begin)
    return data.view(table.dtype)


def _written(file: int, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a file between two positions that are not holes, if the file system can tell."""
    while begin < end:
        try:
            start = os.lseek(file, begin, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                return
            yield begin, end  # the file system cannot tell
            return
        if start >= end:
            return
        begin = min(os.lseek(file, start, os.SEEK_HOLE), end)
        yield start, begin


def _in_use(name: str, raw: Rows) -> Rows:
    """Return a copy of the rows in use with every known column, in the byte order of this machine."""
    if name in NUMBERED and "used" in (raw.dtype.names or ()):
        raw = raw[: int(np.flatnonzero(raw["used"]).max(initial=-1)) + 1]
    elif name != "process" and "used" in (raw.dtype.names or ()):
        raw = raw[raw["used"] != 0]
    use = np.zeros(len(raw), _complete(name, raw.dtype))
    for column in raw.dtype.names or ():
        use[column] = raw[column]
    return use


def _add_latest(calls: Rows) -> None:
    """Add the latest call of each row to the histogram if the monitor has left that to the next call."""
    if "last_ticks" not in (calls.dtype.names or ()):
        return
    histogram = calls["histogram"]
    exponent = np.frexp(np.maximum(calls["last_ticks"], 1).astype(float))[1] - 1
    rows = np.flatnonzero(calls["calls"])
    places = np.minimum(exponent[rows], histogram.shape[1] - 1)
    histogram[rows, places] += histogram[rows, places] < np.iinfo(histogram.dtype).max


@cache
def _complete(table: str, of_file: np.dtype[np.void] | None) -> np.dtype[np.void]:
    """Return the type of a packed row: the columns of the file, then known columns that the file lacks."""
    fields: Mapping[str, Any] = (of_file.fields if of_file is not None else None) or {}
    columns: list[tuple[str, Any]] = [(name, fields[name][0].newbyteorder("=")) for name in fields]
    for name, word in COLUMNS.get(table, {}).items():
        match = _COLUMN.fullmatch(f"{name}:{word}")
        if match is not None and name not in fields:
            columns.append((name, np.dtype(_format(match[2], match[3], "="))))
    return np.dtype(columns)
