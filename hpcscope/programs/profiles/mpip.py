"""Reports of mpiP, converted to the same form as profiles of the monitor.

Quantities that mpiP does not record stay unknown: CPU time, communicators, partners, histograms. The sections are
described in its user guide (mpiP 3.5, "mpiP Output"): times of tasks are in s, times of calls in ms.
"""

import re
import shlex
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hpcscope.errors import ScopeError
from hpcscope.grouping import grouped
from hpcscope.programs.profiles import PROFILES
from hpcscope.programs.profiles.balance import spreads
from hpcscope.programs.profiles.records import Calls, CallSite, CallTimes, Merged, ProfiledProcess, Traffic
from hpcscope.programs.profiles.routines import Kind, kind
from hpcscope.rundirectory import FORMAT, read_text

SUFFIX = ".mpiP"
TITLE = b"@ mpiP\n"
"""First line of a report."""
_FACT = re.compile(r"@\s*([^:]+?)\s*:\s*(.*)")
_SECTION = re.compile(r"@---\s*([A-Za-z/ -]+?)(?:\s*[(:-].*)?$")
_ALL = "*"
"""In place of a rank: the row for all ranks."""


@dataclass(frozen=True)
class SiteRow:
    """One routine at one call site in one rank."""

    name: str
    site: int
    rank: int
    count: int
    most_s: float
    mean_s: float
    least_s: float

    @property
    def time_s(self) -> float:
        """Time of all these calls."""
        return self.count * self.mean_s


@dataclass(frozen=True)
class Report:
    """The parts of a report that are used."""

    facts: dict[str, list[str]]
    """Lines `@ name : value` by name."""
    times: dict[int, tuple[float, float]]
    """Times of each rank: from MPI_Init to MPI_Finalize, and in MPI."""
    sites: dict[int, list[str]]
    """Frames of each call site, innermost first."""
    rows: list[SiteRow]
    bytes: dict[tuple[str, int, int], float]
    """Sent bytes by routine, site and rank."""
    sums: list[str]
    """Calls for which a report with a threshold (`-t`) has only the sum over all ranks."""


def found(folder: Path) -> Path | None:
    """Return the report in place of profiles in a directory; None if there is none."""
    return next(iter(sorted((folder / PROFILES).glob(f"*{SUFFIX}"))), None)


def started_unix_s(path: Path) -> float | None:
    """Return the start time of the program from the report; None if it has no time since 1970."""
    said = _parse(path).facts.get("Start time", [""])[0].strip()
    try:
        began_s = time.mktime(time.strptime(said, "%Y %m %d %H:%M:%S"))
    except (ValueError, OverflowError):
        return None
    return began_s if began_s >= 0 else None


def command(path: Path) -> list[str]:
    """Return the command line in the report."""
    return _words(_parse(path))


def read(path: Path) -> Merged:
    """Read a report. Raises a one-line ScopeError if the file is not a report or lacks the table of times."""
    report = _parse(path)
    ranks = sorted(report.times)
    hosts = dict(line.split()[:2] for line in report.facts.get("MPI Task Assignment", []) if len(line.split()) > 1)
    numbers = {site: place for place, site in enumerate(report.sites)}
    processes = [_process(report, rank, hosts.get(str(rank), "unknown")) for rank in ranks]
    alike = grouped(report.rows, lambda row: (row.name, row.site))
    words = _words(report)
    warnings = [f"{path}: {name} are left out: mpiP printed only the sum of all ranks" for name in report.sums]
    if not report.rows:
        warnings.append(f"{path}: has no times of call sites by rank; mpiP left them out (-d, -c)")
    return Merged(
        format=FORMAT,
        source=f"mpiP {report.facts.get('Version', [''])[0]}".strip(),
        program=words[0] if words else "",
        arguments=words,
        mpi="",
        thread_level="",
        ranks=len(ranks),
        missing_ranks=[],
        hosts=sorted({process.host for process in processes}),
        wall_s=max(process.wall_s for process in processes),
        processes=processes,
        spreads=spreads(processes),
        calls=sorted((_calls(report, rows, numbers) for rows in alike.values()), key=lambda one: -one.time_s),
        collectives=[],
        waits=[],
        sites=[CallSite(frames=frames) for frames in report.sites.values()],
        traffic=Traffic(
            block=1, sender=[], receiver=[], messages=[], bytes=[], send_s=[], receive_s=[], unreceived=0
        ),
        timeline=None,
        regions=[],
        events=0,
        late=None,
        other_tools=[],
        warnings=warnings,
    )


def _parse(path: Path) -> Report:
    lines = read_text(path).splitlines()
    if not lines or lines[0].strip() != "@ mpiP":
        raise ScopeError(f"{path}: is not an mpiP report: it does not begin with '@ mpiP'")
    facts: dict[str, list[str]] = defaultdict(list)
    sections: dict[str, list[list[str]]] = defaultdict(list)
    section = ""
    for line in lines[1:]:
        if match := _SECTION.match(line):
            section = match[1].strip()
        elif not section and (match := _FACT.match(line)):
            facts[match[1]].append(match[2])
        elif line.strip() and not line.startswith("---"):
            sections[section].append(line.split())
    try:
        times = {int(row[0]): (float(row[1]), float(row[2])) for row in sections["MPI Time"][1:] if row[0] != _ALL}
        rows = list(_rows(sections["Callsite Time statistics"][1:]))
        known = {(row.name, row.site) for row in rows}
        summed = [row for row in sections["Callsite Time statistics"][1:] if row[2] == _ALL]
        sums = [
            f"{row[3]} calls of MPI_{row[0]} at site {row[1]}"
            for row in summed
            if (row[0], int(row[1])) not in known
        ]
        sent = {
            (row[0], int(row[1]), int(row[2])): float(row[7])
            for name in ("Callsite Message Sent statistics", "Callsite I/O statistics")
            for row in sections[name][1:]
            if row[2] != _ALL
        }
        sites = _sites(sections["Callsites"][1:])
    except (ValueError, IndexError) as error:
        raise ScopeError(f"{path}: cannot be understood: {error}") from error
    if not times:
        raise ScopeError(f"{path}: has no table of times (`@--- MPI Time`); the report is truncated")
    return Report(facts, times, sites, rows, sent, sums)


def _rows(lines: Sequence[Sequence[str]]) -> Iterator[SiteRow]:
    for name, site, rank, count, most, mean, least, *_ in lines:
        if rank != _ALL:
            seconds = [float(value) * 1e-3 for value in (most, mean, least)]
            yield SiteRow(name, int(site), int(rank), int(count), *seconds)


def _sites(lines: Sequence[Sequence[str]]) -> dict[int, list[str]]:
    """Return the frames of each site; a line is number, level, file, line, function and, first, the routine."""
    found: dict[int, list[str]] = defaultdict(list)
    for number, _level, file, line, *rest in lines:
        known = line.isdigit() and bool(rest)
        found[int(number)].append(f"{rest[0]} ({file}:{line})" if known else file)
    return dict(found)


def _process(report: Report, rank: int, host: str) -> ProfiledProcess:
    wall_s, mpi_s = report.times[rank]
    mine = [row for row in report.rows if row.rank == rank]
    kinds: dict[Kind, float] = defaultdict(float)
    for row in mine:
        kinds[kind(f"MPI_{row.name}")] += row.time_s
    sends = [row for row in mine if kind(f"MPI_{row.name}") in ("send", "send and receive")]
    return ProfiledProcess(
        rank=rank,
        host=host,
        pid=0,
        state="finalized",
        abort_code=None,
        in_routine="",
        wall_s=wall_s,
        init_s=None,
        mpi_s=mpi_s,
        compute_s=max(0.0, wall_s - mpi_s),
        usage=None,
        kinds_s=dict(kinds),
        calls=sum(row.count for row in mine),
        sent_messages=sum(row.count for row in sends),
        sent_bytes=round(sum(report.bytes.get((row.name, row.site, rank), 0.0) for row in sends)),
        received_messages=None,
        received_bytes=None,
        lost={},
    )


def _calls(report: Report, rows: Sequence[SiteRow], numbers: dict[int, int]) -> Calls:
    first = rows[0]
    number, time_s = sum(row.count for row in rows), sum(row.time_s for row in rows)
    carried = sum(report.bytes.get((row.name, row.site, row.rank), 0.0) for row in rows)
    least, most = min(rows, key=lambda row: row.time_s), max(rows, key=lambda row: row.time_s)
    return Calls(
        routine=f"MPI_{first.name}",
        kind=kind(f"MPI_{first.name}"),
        site=numbers.get(first.site),
        communicator_size=0,
        size_class=int(carried / max(number, 1)).bit_length(),
        region=0,
        overflow=False,
        processes=len(rows),
        calls=number,
        time_s=time_s,
        bytes=round(carried),
        least_s=least.time_s,
        least_rank=least.rank,
        most_s=most.time_s,
        most_rank=most.rank,
        times=CallTimes(
            mean_s=time_s / max(number, 1),
            least_s=min(row.least_s for row in rows),
            most_s=max(row.most_s for row in rows),
            median_s=None,
            p99_s=None,
            sanitized_mean_s=None,
            coefficient_of_variation=None,
            first_tick_exponent=0,
            histogram=[],
            tick_s=1.0,
        ),
    )


def _words(report: Report) -> list[str]:
    said = report.facts.get("Command", [""])[0]
    try:
        return shlex.split(said)
    except ValueError:
        return said.split()
