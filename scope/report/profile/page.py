"""The page of a monitored program: one HTML file that needs nothing else."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scope import units
from scope.profiles.records import Calls, Merged
from scope.report.figure import Comparison, Figure, Table, number
from scope.report.profile import contents as profile_contents
from scope.report.profile import figures as drawn
from scope.report.profile import tables
from scope.report.profile.contents import ProfileContents
from scope.report.run.introduction import moment
from scope.report.run.page import as_json, environment, filled, kinds, plot
from scope.report.run.rows import Row, packed
from scope.report.wording import count
from scope.rundirectory import RunDirectory, write_text
from scope.version import VERSION

COLUMNS = [
    ("routine", False),
    ("place", False),
    ("communicator", True),
    ("size", True),
    ("region", True),
    ("time", True),
    ("calls", True),
    ("mean", True),
    ("median", True),
    ("99 % below", True),
    ("most", True),
    ("sanitised mean", True),
    ("variation", True),
    ("bytes", True),
    ("least and most", False),
]
"""Of the table of all calls: name of each column, and whether it holds numbers."""
MOST_ROWS = 2000
"""Rows of that table; `scope export --as csv` has all."""
_LINES = 40


@dataclass(frozen=True)
class Section:
    """One part of the page."""

    key: str
    title: str
    introduction: str
    figures: list[Figure | Comparison] = field(default_factory=list)
    table: Table | None = None
    notes: list[str] = field(default_factory=list)


def write(folder: Path, output: Path | None = None) -> Path:
    """Draw the page of a monitored run and return its path, `report.html` in its folder unless told otherwise.

    Raises UsageError when a file of the run is missing or wrong, ScopeError when the page cannot be written.
    """
    target = output or RunDirectory(folder).report
    write_text(target, render(profile_contents.read(folder)))
    return target


def render(contents: ProfileContents) -> str:
    """Return the page as HTML."""
    merged = contents.merged
    sections = list(_sections(contents))
    figures = [one for section in sections for one in section.figures if isinstance(one, Figure)]
    listed = [_row(merged, one) for one in merged.calls[:MOST_ROWS]]
    return (
        environment()
        .get_template("profile.html")
        .render(
            title=drawn.described(merged),
            when=moment(contents.monitored.started_unix_s),
            library=merged.mpi.partition(",")[0],
            sentences=sentences(contents),
            alerts=alerts(contents),
            findings=contents.findings,
            grave=kinds([one for one in contents.findings if one.severity != "information"]),
            rest=kinds([one for one in contents.findings if one.severity == "information"]),
            sections=sections,
            columns=COLUMNS,
            rows=len(listed),
            packed=as_json(packed(listed, COLUMNS)),
            figures=as_json({figure.key: plot(figure) for figure in figures}),
            facts=_facts(contents),
            version=VERSION,
            folder=contents.folder.name,
        )
    )


def sentences(contents: ProfileContents) -> list[str]:
    """Say in a few sentences where the time went."""
    merged = contents.merged
    total_s = max(merged.total_s, 1e-9)
    mpi = merged.spreads["mpi_s"]
    words = [
        f"{units.quantity(merged.wall_s, 's')} between MPI_Init and MPI_Finalize:"
        f" {units.share(merged.mpi_s / total_s)} of the time is in MPI, from"
        f" {units.quantity(mpi.least, 's')} (rank {mpi.least_rank}) to {units.quantity(mpi.most, 's')}"
        f" (rank {mpi.most_rank}) of a process."
    ]
    if merged.calls and merged.mpi_s > 0:
        first = tables.routines(merged, 1).rows[0]
        words.append(f"{first[0]} takes {first[2]} of it, in {first[3]} calls of {first[4]}.")
    if "off_processor_s" in merged.spreads:
        off_s = merged.spreads["off_processor_s"].mean
        processor_s = merged.spreads["user_s"].mean + merged.spreads["system_s"].mean
        words.append(
            f"Each process was on the processor for {units.quantity(processor_s, 's')}"
            f" ({units.quantity(abs(off_s), 's')} {'less' if off_s >= 0 else 'more'} than the wall clock)."
        )
    return words


def alerts(contents: ProfileContents) -> list[str]:
    """Say what a reader must know first."""
    merged, monitored = contents.merged, contents.monitored
    found = []
    if merged.unfinished:
        found.append(f"{count(len(merged.unfinished), 'process', 'processes')} did not reach MPI_Finalize.")
    if merged.missing_ranks:
        found.append(f"{count(len(merged.missing_ranks), 'process', 'processes')} left no profile.")
    if monitored.code:
        ended = (
            f"signal {monitored.signal}" if monitored.signal is not None else f"exit code {monitored.exit_code}"
        )
        found.append(f"The command ended with {ended}.")
    return found


def _sections(contents: ProfileContents) -> Iterator[Section]:
    merged = contents.merged
    yield Section(
        "time",
        "Where the time goes",
        "Computation and communication of each process, raw and without what lies above the 99th percentile.",
        [drawn.by_process(merged)],
        tables.spreads(merged),
    )
    if merged.unfinished:
        yield Section(
            "unfinished",
            "Unfinished processes",
            "Those that were killed, aborted or left early, and what they were doing.",
            table=tables.unfinished(merged, _LINES),
        )
    if merged.calls:
        figures: list[Figure | Comparison] = [drawn.by_routine(merged)]
        if any(one.size_class > 0 and one.time_s > 0 for one in merged.calls):
            figures.append(drawn.by_size(merged))
        yield Section(
            "routines",
            "Routines and places",
            "Time of all processes together, by routine, by size, and by place in the program.",
            filled(figures),
            tables.sites(merged, _LINES) if merged.sites else None,
        )
    if contents.against is not None:
        yield _held(contents)
    if merged.collectives:
        yield Section(
            "waiting",
            "Waiting in collectives",
            "What is waiting for the last process, and what the operation itself can take at most.",
            table=tables.collectives(merged, _LINES),
        )
    if merged.waits:
        yield Section(
            "waits",
            "Waits by operation",
            "Time in waits and tests, shared equally among the requests that they completed.",
            table=tables.waits(merged, _LINES),
        )
    if merged.late is not None:
        yield Section(
            "late",
            "Late senders and receivers",
            f"Exactly, in the traced window of {units.quantity(merged.late.window_s, 's')}:"
            f" {count(merged.late.messages, 'message')} of which both ends were seen,"
            f" {merged.late.unmatched} ends of others.",
            table=tables.late(merged, _LINES),
        )
    if matrices := list(drawn.traffic(merged)):
        unreceived = merged.traffic.unreceived
        yield Section(
            "messages",
            "Who sends to whom",
            "Messages point to point, puts and gets; what collectives move is not in it.",
            filled(list(matrices)),
            notes=[f"{count(unreceived, 'message')} had not been received."] if unreceived > 0 else [],
        )
    if course := list(drawn.course(merged)):
        yield Section(
            "course",
            "Course",
            "How computation, communication and memory change while the program runs.",
            filled(list(course)),
        )
    if merged.regions:
        yield Section(
            "regions",
            "Regions",
            "What the program marked with MPI_Pcontrol.",
            table=tables.regions(merged),
        )


def _held(contents: ProfileContents) -> Section:
    against = contents.against
    assert against is not None
    left = [
        f"{name} ({units.quantity(time_s, 's')})" for name, time_s in list(against.without_benchmark.items())[:12]
    ]
    return Section(
        "against",
        "RoutineComparison against the machine",
        f"The same routines as {against.run} has measured them on {against.machine}"
        f"{f' with {against.library}' if against.library else ''}. What a call took beyond that is avoidable; of"
        " blocking messages it is waiting for the other side as well.",
        table=tables.held(against, _LINES),
        notes=[f"Not held against anything: {', '.join(left)}."] if left else [],
    )


def _row(merged: Merged, one: Calls) -> Row:
    times = one.times
    place = " < ".join(merged.sites[one.site].frames) if one.site is not None else ""
    cells: list[tuple[str, float | None]] = [
        ("no room in the tables" if one.overflow else one.routine, None),
        (place, None),
        (str(one.communicator_size), float(one.communicator_size)),
        (drawn.size_range(one.size_class), float(one.size_class)),
        (str(one.region), float(one.region)),
        (units.quantity(one.time_s, "s"), number(one.time_s)),
        (str(one.calls), float(one.calls)),
        *(_seconds(value) for value in (times.mean_s, times.median_s, times.p99_s)),
        *(_seconds(value) for value in (times.most_s, times.sanitised_mean_s)),
        (units.share(times.coefficient_of_variation), times.coefficient_of_variation),
        (units.quantity(one.bytes, "B"), float(one.bytes)),
        (
            f"{units.quantity(one.least_s, 's')} (rank {one.least_rank})"
            f" to {units.quantity(one.most_s, 's')} (rank {one.most_rank})",
            None,
        ),
    ]
    return Row(cells, True, one.routine, "")


def _seconds(value: float | None) -> tuple[str, float | None]:
    return units.quantity(value, "s"), None if value is None else number(value)


def _facts(contents: ProfileContents) -> list[tuple[str, str]]:
    monitored, merged = contents.monitored, contents.merged
    facts = [
        ("Command", shlex.join(monitored.command)),
        ("Profiles by", merged.source),
        ("Program", merged.program),
        ("Directory", monitored.directory),
        ("Started", moment(monitored.started_unix_s)),
        ("Whole command", units.quantity(monitored.wall_s, "s")),
        ("Ended", f"signal {monitored.signal}" if monitored.signal else f"exit code {monitored.exit_code}"),
        ("MPI", merged.mpi),
        ("Threads", merged.thread_level),
        ("Processes", f"{merged.ranks} on {', '.join(merged.hosts[:20])}"),
        ("Monitor", monitored.library),
        *((f"Option {name}", value) for name, value in monitored.options.items()),
    ]
    if monitored.machine is not None:
        facts += sorted(monitored.machine.environment.items())
    return facts
