"""OSU Micro-Benchmarks: the tables that its programs print, versions 3 to 7.

A title, `# OSU MPI Latency Test v7.4`, then a head, `# Size  Avg Latency(us)`, then one line for each size. Times
are microseconds, MB are 10^6 bytes. The number of processes and, since it can be chosen, that of repetitions are
not printed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from scope.catalog.benchmark import Value
from scope.imports import Figure, Reading
from scope.imports.lines import Line

TITLE = "OSU Micro-Benchmarks"
_TITLE = re.compile(r"# OSU (?:MPI )?(.+?) (?:Test )?v(\d[\w.]*)\s*$")
_HEAD = re.compile(r"# Size\s+(.*)")
_ROW = re.compile(r"(\d+)((?:\s+[0-9]+(?:[.,][0-9]+)?)+)\s*$")


@dataclass(frozen=True)
class Measures:
    """What a program of the suite measures, as Scope names it."""

    benchmark: str
    parameters: dict[str, Value]
    metric: str
    factor: float
    """From the printed unit to that of the metric."""
    ranks: int | None = None


_US, _MB = 1e-6, 1e6
_PROGRAMS = {
    "Latency": Measures("mpi.latency", {}, "latency_s", _US, 2),
    "Bandwidth": Measures("mpi.bandwidth", {"window": 64}, "bandwidth_bytes_per_s", _MB, 2),
}


def claims(lines: Sequence[Line]) -> bool:
    """Return whether a title of the suite is among the lines."""
    return any(_TITLE.match(line.text) for line in lines)


def read(lines: Sequence[Line]) -> Reading:
    """Return the figures of all tables whose program is known."""
    figures: list[Figure] = []
    understood: set[int] = set()
    versions: dict[str, None] = {}
    program: Measures | None = None
    for line in lines:
        if title := _TITLE.match(line.text):
            program = _PROGRAMS.get(title[1])
            versions[title[2]] = None
        elif program is not None and (row := _ROW.match(line.text)):
            value = float(row[2].split()[0].replace(",", "."))
            figures.append(
                Figure(
                    benchmark=program.benchmark,
                    parameters={**program.parameters, "message_bytes": int(row[1])},
                    ranks=program.ranks,
                    metric=program.metric,
                    values=(value * program.factor,),
                    statistic="mean",
                    line=line.number,
                )
            )
        elif program is None or not _HEAD.match(line.text):
            continue
        if program is not None:
            understood.add(line.number)
    return Reading(
        program=f"{TITLE} {', '.join(versions)}",
        figures=figures,
        understood=understood,
        missing=["the number of repetitions"],
    )
