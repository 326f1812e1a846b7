"""The report of a monitored program: one self-contained HTML file."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from jinja2 import Template

from hpcscope import units
from hpcscope.programs.profiles.machine_comparison import MachineComparison
from hpcscope.programs.profiles.records import Calls, Merged, TraceWindow
from hpcscope.programs.profiles.sites import is_about_mpi
from hpcscope.report.figure import DotPlot, Figure, Table, filled, number
from hpcscope.report.finding_groups import folded
from hpcscope.report.frame import as_json, environment, plots
from hpcscope.report.profile import figures as drawn
from hpcscope.report.profile import functions as by_function
from hpcscope.report.profile import tables
from hpcscope.report.profile.contents import ProfileContents
from hpcscope.report.profile.timeline import CallTimeline, timeline
from hpcscope.report.run.rows import CaseRow, packed
from hpcscope.report.wording import moment
from hpcscope.rundirectory import RunDirectory, write_text

_WORDS = ("routine", "place", "region", "least and most")
COLUMNS = [
    (name, name not in _WORDS)
    for name in (
        *("routine", "place", "communicator", "size", "region", "time", "calls", "mean", "median", "99 % below"),
        *("most", "sanitized mean", "variation", "bytes", "least and most"),
    )
]
"""Columns of the table of all calls: the name, and whether the column holds numbers."""
MOST_ROWS = 2000
"""Maximum number of rows in that table; `scope export csv` exports all rows."""
_LINES = 40
_NO_TRACE = "With `scope monitor --trace 0:1`, every call and message of one second is drawn here."
_MOSTLY_WRAPPED = 0.5
"""Fraction of the time in MPI at which the remark appears."""


@dataclass(frozen=True)
class ProfileSection:
    """One part of the page."""

    key: str
    title: str
    introduction: str
    figures: list[Figure | DotPlot] = field(default_factory=list)
    table: Table | None = None
    more: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    graph: by_function.FlameGraph | None = None
    calls: CallTimeline | None = None


def write(contents: ProfileContents, output: Path | None = None) -> Path:
    """Write the report of a monitored run and return its path, by default `report.html` in its directory.

    Raises ScopeError when the page cannot be written.
    """
    target = output or RunDirectory(contents.folder).report
    write_text(target, render(contents))
    return target


@cache
def template() -> Template:
    """Return the template of the report; the first call takes as long as the rest of a report."""
    found = environment()
    for name in ("frame.html", "parts.html"):  # extended or imported by it; compiled here, not at first use
        found.get_template(name)
    return found.get_template("profile.html")


def render(contents: ProfileContents) -> str:
    """Return the report as HTML."""
    merged = contents.merged
    sections = list(_sections(contents))
    calls = next((section.calls for section in sections if section.calls), None)
    regions = {region.number: region.label for region in merged.regions if region.number}
    listed = [_row(merged, calls, regions.get(calls.region, "")) for calls in merged.calls[:MOST_ROWS]]
    return template().render(
        title=drawn.described(merged),
        when=moment(contents.monitored.started_unix_s),
        library=merged.mpi.partition(",")[0],
        sentences=sentences(contents),
        alerts=alerts(contents),
        findings=contents.findings,
        grave=folded([finding for finding in contents.findings if finding.severity != "information"]),
        rest=folded([finding for finding in contents.findings if finding.severity == "information"]),
        sections=sections,
        columns=COLUMNS,
        rows=len(listed),
        packed=as_json(packed(listed, COLUMNS)),
        figures=plots(figure for section in sections for figure in section.figures),
        calls=as_json(calls.data) if calls else "",
        facts=_facts(contents),
        folder=contents.folder.name,
    )


def sentences(contents: ProfileContents) -> list[str]:
    """Return a few sentences on where the time went."""
    merged = contents.merged
    total_s = max(merged.total_s, 1e-9)
    mpi = merged.spreads["mpi_s"]
    words = [
        f"{units.quantity(merged.wall_s, 's')} between MPI_Init and MPI_Finalize: "
        f"{units.share(merged.mpi_s / total_s)} of the time is in MPI, from {units.quantity(mpi.least, 's')} "
        f"(rank {mpi.least_rank}) to {units.quantity(mpi.most, 's')} (rank {mpi.most_rank}) per rank."
    ]
    if merged.calls and merged.mpi_s > 0:
        name, _, share, calls, each, _ = tables.routines(merged, 1).rows[0]
        words.append(f"{name} takes {share} of the time in MPI, in {calls} calls of {each} on average.")
    if merged.files:
        moved = sum(file.bytes for file in merged.program_files)
        paths = len({file.path for file in merged.program_files if file.path})
        words.append(
            f"{units.share(merged.files_s / total_s)} of the time is in calls on files:"
            f" {units.quantity(moved, 'B')} read and written in {units.count(paths, 'file')}."
        )
    if "off_processor_s" in merged.spreads:
        off_s = merged.spreads["off_processor_s"].mean
        processor_s = merged.spreads["user_s"].mean + merged.spreads["system_s"].mean
        words.append(
            f"Each rank used {units.quantity(processor_s, 's')} of CPU time"
            f" ({units.quantity(abs(off_s), 's')} {'less' if off_s >= 0 else 'more'} than the wall clock)."
        )
    if merged.window is not None:
        words.append(_traced(merged.window, merged.events))
    return words


def _traced(window: TraceWindow, events: int) -> str:
    """Return which time window a trace covers."""
    start, kept, asked = (units.quantity(value, "s") for value in (window.start_s, window.kept_s, window.asked_s))
    if not window.full:
        return f"The trace holds all {units.grouped(events)} calls within {kept}, from {start} after MPI_Init."
    return (
        f"The trace holds {kept} of the requested {asked}: {units.count(window.full, 'rank')} made"
        f" too many calls, and {window.lost_calls} calls are left out."
    )


def alerts(contents: ProfileContents) -> list[str]:
    """Return the remarks that a reader must see first."""
    merged, monitored = contents.merged, contents.monitored
    found = []
    if merged.unfinished:
        found.append(f"{units.count(len(merged.unfinished), 'rank')} did not reach MPI_Finalize.")
    if merged.missing_ranks:
        found.append(f"{units.count(len(merged.missing_ranks), 'rank')} left no profile.")
    if monitored.code:
        ended = (
            f"signal {monitored.signal}" if monitored.signal is not None else f"exit code {monitored.exit_code}"
        )
        found.append(f"The command ended with {ended}.")
    return found


def wrapped(merged: Merged) -> list[str]:
    """Return a remark if most time in MPI is in calls from MPI wrappers whose callers were not recorded."""
    if merged.functions is not None:
        return []
    by = {
        number: site.frames[0]
        for number, site in enumerate(merged.sites)
        if len(site.frames) == 1 and is_about_mpi(site.frames[0])
    }
    calls = [call for call in merged.calls if call.site in by]
    if not calls or sum(call.time_s for call in calls) < _MOSTLY_WRAPPED * merged.calls_s:
        return []
    most = max(calls, key=lambda one: one.time_s)
    return [
        f"Most calls come from functions that apparently only pass them on to MPI, such as {by[most.site or 0]}. "
        "`scope monitor --depth 16` shows their callers."
    ]


def _sections(contents: ProfileContents) -> Iterator[ProfileSection]:
    merged = contents.merged
    yield ProfileSection(
        "time",
        "Distribution of the time",
        "Measured computation and communication of each rank, with and without values above the 99th percentile.",
        [drawn.by_process(merged)],
        tables.spreads(merged),
    )
    if merged.unfinished:
        yield ProfileSection(
            "unfinished",
            "Unfinished ranks",
            "Ranks that were killed, aborted or exited early, and their last activity.",
            table=tables.unfinished(merged, _LINES),
        )
    if merged.calls:
        figures: list[Figure | DotPlot] = [drawn.by_routine(merged)]
        if any(calls.size_class > 0 and calls.time_s > 0 for calls in merged.calls):
            figures.append(drawn.by_size(merged))
        yield ProfileSection(
            "routines",
            "Routines and call sites",
            "Time of all ranks by routine, by message size and by call site.",
            filled(figures),
            tables.sites(merged, _LINES) if merged.sites else None,
            notes=wrapped(merged),
        )
    if (graph := by_function.graph(merged)) is not None:
        yield ProfileSection(
            "functions",
            "Functions of the program",
            "Functions that compute are sampled; functions that call MPI are measured."
            " Functions that only pass calls on to MPI are left out.",
            filled(list(by_function.by_process(merged))),
            by_function.functions(merged, _LINES),
            graph=graph,
        )
    if contents.machine_comparison is not None:
        yield _machine_comparison(contents.machine_comparison)
    if merged.collectives:
        yield ProfileSection(
            "waiting",
            "Waiting in collectives",
            "Bounds on the time spent waiting for the last rank; the remaining time is the operation itself.",
            table=tables.collectives(merged, _LINES),
        )
    if merged.waits:
        yield ProfileSection(
            "waits",
            "Waits by operation",
            "Time in MPI_Wait, MPI_Test and similar routines, divided equally among the completed requests.",
            table=tables.waits(merged, _LINES),
        )
    if merged.late is not None:
        yield ProfileSection(
            "late",
            "Late senders and receivers",
            f"The trace of {units.quantity(merged.late.window_s, 's')} has both the send and the receive of"
            f" {units.count(merged.late.messages, 'message')}, and only one of the two for"
            f" {units.count(merged.late.unmatched, 'message')}.",
            table=tables.late(merged, _LINES),
        )
    if merged.files:
        yield ProfileSection(
            "files",
            "Files",
            f"{units.share(merged.files_s / max(merged.total_s, 1e-9))} of the time is in the program's calls on"
            " files. The POSIX calls inside MPI-IO are part of the MPI-IO time and are also shown separately.",
            table=tables.files(merged, _LINES),
            more=[tables.file_times(merged, _LINES), tables.transfer_sizes(merged)],
        )
    if matrices := list(drawn.traffic(merged)):
        unreceived = merged.traffic.unreceived
        yield ProfileSection(
            "messages",
            "Communication matrix",
            "Point-to-point messages, puts and gets, without collectives.",
            filled(list(matrices)),
            notes=[f"{units.count(unreceived, 'message')} had not been received."] if unreceived > 0 else [],
        )
    course = list(drawn.course(merged))
    if course or contents.trace is not None:
        yield ProfileSection(
            "course",
            "Timeline",
            "Computation, communication and memory over the run time.",
            filled(list(course)),
            calls=timeline(merged, contents.trace) if contents.trace is not None else None,
            notes=[] if contents.trace is not None else [_NO_TRACE],
        )
    if merged.regions:
        yield ProfileSection(
            "regions",
            "Regions",
            "Regions that a program marks with MPI_Pcontrol or scope-timer; time counts in the innermost region.",
            table=tables.regions(merged),
        )


def _machine_comparison(comparison: MachineComparison) -> ProfileSection:
    left = [
        f"{name} ({units.quantity(time_s, 's')})"
        for name, time_s in list(comparison.without_benchmark.items())[:12]
    ]
    library = f" with {comparison.library}" if comparison.library else ""
    return ProfileSection(
        "machine-comparison",
        "Comparison with the machine",
        f"'On the machine' is the time in the run {comparison.run} on {comparison.machine}{library}. The excess"
        " over this time is avoidable; for blocking messages, this excess includes waiting for the other side.",
        table=tables.machine_comparison(comparison, _LINES),
        notes=[f"Without a benchmark: {', '.join(left)}."] if left else [],
    )


def _row(merged: Merged, one: Calls, region: str) -> CaseRow:
    times = one.times
    place = " < ".join(merged.sites[one.site].frames) if one.site is not None else ""
    cells: list[tuple[str, float | None]] = [
        ("beyond the table size" if one.overflow else one.routine, None),
        (place, None),
        (str(one.communicator_size), float(one.communicator_size)),
        (drawn.size_range(one.size_class), float(one.size_class)),
        (region, None),
        (units.quantity(one.time_s, "s"), number(one.time_s)),
        (str(one.calls), float(one.calls)),
        *(_seconds(value) for value in (times.mean_s, times.median_s, times.p99_s)),
        *(_seconds(value) for value in (times.most_s, times.sanitized_mean_s)),
        (units.share(times.coefficient_of_variation), times.coefficient_of_variation),
        (units.quantity(one.bytes, "B"), float(one.bytes)),
        (
            f"{units.quantity(one.least_s, 's')} (rank {one.least_rank})"
            f" to {units.quantity(one.most_s, 's')} (rank {one.most_rank})",
            None,
        ),
    ]
    return CaseRow(cells, True, one.routine, "", "")


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
        ("Ranks", f"{merged.ranks} on {', '.join(merged.hosts[:20])}"),
        ("Monitor", monitored.library),
        *((f"Option {name}", value) for name, value in monitored.options.items()),
    ]
    if monitored.machine is not None:
        facts += sorted(monitored.machine.environment.items())
    return facts
