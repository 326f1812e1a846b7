"""The merged profile of a monitored program, from the profiles of all ranks."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from hpcscope.programs.profiles import files, functions, mpip, sums
from hpcscope.programs.profiles import folder as folders
from hpcscope.programs.profiles.balance import spreads
from hpcscope.programs.profiles.profile import Profile
from hpcscope.programs.profiles.records import Merged, ProfiledProcess, Usage
from hpcscope.programs.profiles.regions import regions
from hpcscope.programs.profiles.routines import Kind, kind
from hpcscope.programs.profiles.sites import Sites
from hpcscope.programs.profiles.timeline import timeline
from hpcscope.programs.profiles.trace import gather, late, window
from hpcscope.programs.profiles.traffic import traffic
from hpcscope.rundirectory import FORMAT, read_json

PROFILE = "profile.json"
SOURCE = "scope monitor"
_LOST = ("calls", "partners", "sites", "requests", "events", "samples")


def merge(folder: Path, wrappers: Sequence[str] = ()) -> Merged:
    """Return the merged profile of a monitored run's directory, or the report of another tool in it.

    `wrappers`: patterns for functions and modules that only pass calls on to MPI, see `profiles.sites`.
    Raises UsageError if the directory does not exist, ScopeError if no process left a readable profile.
    """
    if (foreign := mpip.found(folder)) is not None:
        return mpip.read(foreign)
    job = folders.job(folder)
    profiles = job.profiles
    first = profiles[0].header
    places = Sites()
    paths = [places.of(profile) for profile in profiles]
    computing = [places.of_samples(profile) for profile in profiles]
    named = places.named(wrappers)
    numbers = [np.where(path >= 0, named.number[path], -1) if len(path) else path for path in paths]
    ranks = [profile.rank for profile in profiles]
    calls = sums.gather(profiles, "calls", "routine", numbers)
    waits = sums.gather(profiles, "waits", "operation", numbers)
    kinds = _kinds(calls, len(profiles))
    processes = [_process(profile, kinds[index]) for index, profile in enumerate(profiles)]
    missing = sorted(set(range(job.ranks)) - set(ranks))
    events = [profile.tables["events"] for profile in profiles]
    return Merged(
        format=FORMAT,
        source=SOURCE,
        program=first.program,
        arguments=list(first.arguments),
        mpi=" ".join(first.mpi.split()),
        thread_level=first.thread_level,
        ranks=job.ranks,
        missing_ranks=missing,
        hosts=sorted({profile.host for profile in profiles}),
        wall_s=max(process.wall_s for process in processes),
        processes=processes,
        spreads=spreads(processes),
        calls=sums.calls(calls, ranks),
        collectives=sums.collectives(calls, ranks),
        waits=sums.waits(waits),
        sites=named.sites,
        functions=functions.gather(profiles, named.paths, paths, computing),
        traffic=traffic(profiles, job.ranks),
        files=files.gather(profiles),
        timeline=timeline(profiles),
        regions=regions(profiles),
        events=sum(int(np.sum((event["depth"] | event["operation"]) == 0)) for event in events),
        window=window(profiles),
        late=late(gather(profiles)) if any(map(len, events)) else None,
        other_tools=sorted({profile.header.other_tool for profile in profiles} - {""}),
        warnings=[*_warnings(processes, missing, job.ranks), *_hidden(profiles), *job.warnings],
    )


def read(folder: Path) -> Merged:
    """Read `profile.json` of a monitored run; a UsageError says what is missing or wrong in it."""
    return read_json(folder / PROFILE, Merged)


def _kinds(calls: sums.Columns, processes: int) -> list[dict[Kind, float]]:
    """Return the time in MPI of each process by kind of routine."""
    of_routine = [kind(name) for name in calls.routines]
    found: list[dict[Kind, float]] = [defaultdict(float) for _ in range(processes)]
    places = calls.process * len(of_routine) + calls.routine
    time_s = np.bincount(places, calls.time_s, minlength=processes * len(of_routine))
    for place in np.flatnonzero(time_s):
        found[place // len(of_routine)][of_routine[place % len(of_routine)]] += float(time_s[place])
    return [dict(counts) for counts in found]


def _process(profile: Profile, kinds_s: Mapping[Kind, float]) -> ProfiledProcess:
    row, tick_s = profile.process, profile.tick_s
    partners = profile.tables["partners"]
    mpi_s = float(row["mpi_ticks"]) * tick_s
    file_bytes, file_s = files.of_process(profile)
    unfinished = profile.state != "finalized" and int(row["in_routine"])
    return ProfiledProcess(
        rank=profile.rank,
        host=profile.host,
        pid=profile.header.pid,
        state=profile.state,
        abort_code=int(row["abort_code"]) if profile.state == "aborted" else None,
        in_routine=profile.routine(int(row["in_routine"])) if unfinished else "",
        wall_s=profile.wall_s,
        init_s=max(0, int(row["first_tick"]) - int(row["init_begin_tick"])) * tick_s,
        mpi_s=mpi_s,
        compute_s=max(0.0, profile.wall_s - mpi_s),
        kinds_s=dict(kinds_s),
        calls=int(row["calls"]),
        file_bytes=file_bytes,
        file_s=file_s,
        usage=Usage(
            user_s=float(row["user_s"]),
            system_s=float(row["system_s"]),
            **{name: int(row[name]) for name in _FACTS},
        ),
        **{name: int(partners[name].sum()) for name in _MESSAGES},
        lost={name: int(row[f"lost_{name}"]) for name in _LOST if row[f"lost_{name}"]},
    )


_MESSAGES = ("sent_messages", "sent_bytes", "received_messages", "received_bytes")
"""Columns of the table of partners to add up."""
_FACTS = (
    *("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"),
    *("resident_bytes", "peak_resident_bytes", "threads"),
)
"""Columns of the process's row to copy unchanged."""


def _hidden(profiles: Sequence[Profile]) -> list[str]:
    """Return warnings about routines that another tool intercepts before the monitor."""
    taken = {(profile.header.other_tool, name) for profile in profiles for name in profile.header.hidden_routines}
    by_tool: dict[str, list[str]] = defaultdict(list)
    for tool, name in sorted(taken):
        by_tool[tool].append(name)
    return [
        f"{tool} gets the calls of {', '.join(names[:8])}{', ...' if len(names) > 8 else ''} before the "
        f"monitor: calls that {tool} does not pass on under their MPI_ names are not counted"
        for tool, names in by_tool.items()
    ]


def _warnings(processes: Sequence[ProfiledProcess], missing: Sequence[int], ranks: int) -> list[str]:
    warnings = []
    if missing:
        named = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
        warnings.append(f"{len(missing)} of {ranks} ranks left no profile: ranks {named}")
    for name in _LOST:
        lost = sum(process.lost.get(name, 0) for process in processes)
        if lost:
            what = "calls are counted only in the sums" if name == "calls" else f"{name} did not fit"
            warnings.append(f"{lost} {what}, because the tables of the monitor were full")
    return warnings
