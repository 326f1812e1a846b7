"""Profiles of processes that never ran: files of the monitor's format with figures that are known."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hpcscope.programs.profiles.files import LAYERS
from hpcscope.programs.profiles.profile import COLUMNS, HEADER_BYTES, NOWHERE, NUMBERED

RATE_HZ = 1e9
"""Ticks are nanoseconds, which makes figures easy to read."""
FIRST_TICK = 10_000_000_000
FIRST_UNIX_NS = 1_700_000_000_000_000_000
ROUTINES = (
    *("MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Waitall", "MPI_Barrier", "MPI_Bcast"),
    *(
        "MPI_Allreduce",
        "MPI_Alltoall",
        "MPI_Reduce",
        "MPI_Sendrecv",
        "MPI_Comm_rank",
        "MPI_Put",
        "MPI_Allgather",
        "MPI_Ssend",
        "MPI_Mrecv",
        "MPI_Mprobe",
        "MPI_Scatter",
        "MPI_Get",
        "MPI_Win_fence",
        "MPI_Win_unlock",
        "MPI_File_write_at_all",
    ),
)
ROWS = {
    **{"process": 1, "calls": 512, "waits": 128, "partners": 1100, "sites": 128},
    **{"modules": 32, "places": 32, "timeline": 512, "regions": 16, "events": 512, "files": 64, "samples": 64},
}
STRIDES = {
    **{"process": 4096, "calls": 512, "waits": 64, "partners": 128, "sites": 512},
    **{
        "modules": 512,
        "places": 512,
        "timeline": 128,
        "regions": 128,
        "events": 128,
        "files": 1024,
        "samples": 512,
    },
}


def number(routine: str) -> int:
    """The number of a routine in the header's list."""
    return ROUTINES.index(routine) + 1


def size_class(size: float) -> int:
    """0 for nothing, else n with 2^(n-1) <= bytes < 2^n."""
    return int(size).bit_length()


@dataclass
class Process:
    """One process; times are given in seconds."""

    rank: int = 0
    ranks: int = 4
    host: str = "node1"
    wall_s: float = 10.0
    state: int = 1
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    header: dict[str, str] = field(default_factory=dict)
    mpi_s: float = 0.0
    calls: int = 0
    user_s: float | None = None
    """All of the wall-clock time unless it is said."""

    def add(self, table: str, **columns: Any) -> Process:
        """Add a row to a table."""
        self.rows.setdefault(table, []).append({"used": 1, **columns})
        return self

    def call(
        self,
        routine: str,
        seconds: float,
        calls: int = 1,
        size: int = 8,
        communicator: int | None = None,
        site: int = NOWHERE,
        region: int = 0,
        least_s: float | None = None,
        most_s: float | None = None,
    ) -> Process:
        """Count calls that took `seconds` together, each with `size` bytes."""
        each = max(1, round(seconds * RATE_HZ / calls))
        least = each if least_s is None else max(1, round(least_s * RATE_HZ))
        most = each if most_s is None else round(most_s * RATE_HZ)
        histogram = np.zeros(40, int)
        histogram[each.bit_length() - 1] += calls
        self.mpi_s += seconds
        self.calls += calls
        return self.add(
            "calls",
            routine=number(routine),
            site=site,
            communicator_size=self.ranks if communicator is None else communicator,
            size_class=size_class(size),
            region=region,
            calls=calls,
            ticks=round(seconds * RATE_HZ),
            min_ticks=least,
            max_ticks=max(most, least),
            bytes=size * calls,
            histogram=histogram.tolist(),
        )

    def partner(
        self,
        rank: int,
        sent: tuple[int, int] = (0, 0),
        received: tuple[int, int] = (0, 0),
        receive_s: float = 0.0,
    ) -> Process:
        """Count messages with another process: (messages, bytes) sent and received."""
        return self.add(
            "partners",
            rank=rank,
            sent_messages=sent[0],
            sent_bytes=sent[1],
            received_messages=received[0],
            received_bytes=received[1],
            receive_ticks=round(receive_s * RATE_HZ),
        )

    def file(
        self,
        path: str,
        layer: str = "posix",
        writes: int = 0,
        size: int = 1 << 20,
        seconds: float = 0.0,
        **columns: Any,
    ) -> Process:
        """Count writes of `size` bytes to a file that took `seconds` together, one after the other."""
        return self.add(
            "files",
            **{
                **{"path": path.encode(), "layer": LAYERS.index(layer), "writes": writes, "opens": 1},  # type: ignore[arg-type]
                **{"written_bytes": writes * size, "write_ticks": round(seconds * RATE_HZ), "block_bytes": 4096},
                **{
                    "consecutive": writes,
                    "write_sizes": [writes * (each == size_class(size)) for each in range(33)],
                },
                **columns,
            },
        )

    def event(
        self, routine: str, begin_s: float, end_s: float, partner: int = -1, direction: int = 0, **more: Any
    ) -> Process:
        """Trace one call, at seconds after MPI_Init."""
        times = {"begin_tick": tick(begin_s), "end_tick": tick(end_s)}
        return self.add(
            "events", routine=number(routine), site=NOWHERE, partner=partner, direction=direction, **times, **more
        )


def tick(seconds: float) -> int:
    """The tick that is so many seconds after the end of MPI_Init."""
    return FIRST_TICK + round(seconds * RATE_HZ)


def process_row(process: Process) -> dict[str, Any]:
    """The one row of the table of the process itself."""
    end = tick(process.wall_s)
    unix = FIRST_UNIX_NS + round(process.wall_s * 1e9)
    return {
        "state": process.state,
        "init_begin_tick": FIRST_TICK - 200_000_000,
        "first_tick": FIRST_TICK,
        "first_unix_ns": FIRST_UNIX_NS,
        "last_tick": end,
        "last_sample_tick": end,
        "last_unix_ns": unix,
        "finalize_tick": end if process.state == 1 else 0,
        "mpi_ticks": round(process.mpi_s * RATE_HZ),
        "calls": process.calls,
        "user_s": process.wall_s if process.user_s is None else process.user_s,
        "resident_bytes": 50_000_000,
        "peak_resident_bytes": 60_000_000,
        "threads": 1,
        **process.facts,
    }


def layout() -> list[tuple[str, int]]:
    """Return (table, offset), each table at a page of its own."""
    found, at = [], HEADER_BYTES
    for name, rows in ROWS.items():
        found.append((name, at))
        at += -(-rows * STRIDES[name] // 4096) * 4096
    return found


def header(process: Process, pid: int) -> bytes:
    """The text at the begin of the file."""
    words = {
        "byte_order": "little",
        "rank": str(process.rank),
        "ranks": str(process.ranks),
        "host": process.host,
        "pid": str(pid),
        "program": json.dumps("/usr/bin/app"),
        "arguments": json.dumps(["app", "-in", "x"]),
        "mpi": "Open MPI v4.1.4, package: synthetic",
        "mpi_standard": "3.1",
        "thread_level": "single",
        "interval_s": "0.1",
        "trace": "0:0",
        "depth": "1",
        "tick_rate_hz": f"{RATE_HZ:g}",
        "routines": " ".join(ROUTINES),
        **process.header,
    }
    lines = ["scope-profile 1", *(f"{name} {value}" for name, value in words.items() if value)]
    for name, offset in layout():
        columns = " ".join(f"{column}:{kind}" for column, kind in COLUMNS[name].items())
        lines.append(f"table {name} offset {offset} rows {ROWS[name]} stride {STRIDES[name]} columns {columns}")
    return ("\n".join(lines) + "\n").encode()


def contents(process: Process, pid: int = 1000) -> bytes:
    """Return the whole file."""
    name, offset = layout()[-1]
    data = bytearray(offset + ROWS[name] * STRIDES[name])
    text = header(process, pid)
    data[: len(text)] = text
    for table, start in layout():
        rows = [process_row(process)] if table == "process" else process.rows.get(table, [])
        assert len(rows) <= ROWS[table], table
        # Rows in use may stand anywhere: every second place is left free where there is room.
        step = 2 if 2 * len(rows) <= ROWS[table] else 1
        dtype = packed(table)
        for index, row in enumerate(rows):
            record = np.zeros((), dtype)
            for column, value in row.items():
                shape = dtype[column].shape
                record[column] = [*value, *[0] * (shape[0] - len(value))] if shape else value
            at = start + (index * step if table not in NUMBERED else index) * STRIDES[table]
            data[at : at + dtype.itemsize] = record.tobytes()
    return bytes(data)


def packed(table: str) -> np.dtype[np.void]:
    """The type of a row as the file has it."""
    columns: list[Any] = []
    for name, kind in COLUMNS[table].items():
        match = re.fullmatch(r"([uif][48])\[(\d+)\]", kind)
        if match is not None:
            columns.append((name, f"<{match[1]}", (int(match[2]),)))
        else:
            columns.append((name, f"S{kind[1:]}" if kind.startswith("s") else f"<{kind}"))
    return np.dtype(columns)


def write(folder: Path, processes: Sequence[Process]) -> Path:
    """Write the profiles of a program's processes below `folder` and return it."""
    profiles = folder / "profiles"
    profiles.mkdir(parents=True, exist_ok=True)
    for index, process in enumerate(processes):
        pid = 1000 + index
        (profiles / f"{process.host}.{pid}.profile").write_bytes(contents(process, pid))
    return folder


def processes(ranks: int = 4, **settings: Any) -> list[Process]:
    """Return so many processes that have done nothing yet."""
    return [Process(rank=rank, ranks=ranks, **settings) for rank in range(ranks)]


def monitored(folder: Path, started: Sequence[Process], **said: Any) -> Path:
    """Write a whole monitored run: the profiles and `monitor.json`."""
    from hpcscope.programs.profiles.monitored_run import Monitored
    from hpcscope.rundirectory import write_json

    write(folder, started)
    begin_s = FIRST_UNIX_NS * 1e-9 - 1
    facts: Mapping[str, Any] = {
        "format": 2,
        "scope_version": "0",
        "command": ["mpiexec", "-n", str(len(started)), "app"],
        "directory": "/work",
        "started_unix_s": begin_s,
        "finished_unix_s": begin_s + 12,
        "wall_s": 12.0,
        "exit_code": 0,
        "signal": None,
        "host": "node1",
        "mpi": None,
        "library": "",
        "options": {},
        "machine": None,
        **said,
    }
    write_json(folder / "monitor.json", Monitored.model_validate(facts))
    return folder
