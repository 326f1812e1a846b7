"""The library's own settings near the breakpoints of a curve."""

import re
from collections.abc import Iterable, Mapping

from hpcscope.catalog.benchmark import Benchmark, Value
from hpcscope.catalog.catalog import Catalog
from hpcscope.models.fitting.fit import Breakpoint, Fit, LibrarySetting
from hpcscope.samples.records import LaunchRecord

LARGEST_HEADER_BYTES = 256
"""A limit may include the library's header as well as the message."""
MOST_NAMES = 5

_COLLECTIVE = re.compile(r"MPI_(barrier|bcast|all\w+|reduce\w*|gatherv?|scatterv?|scan|exscan)", re.IGNORECASE)
_ALL_BLOCKS = ("allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block")
"""Collectives in which libraries compare all blocks with limits (MPICH 4, src/mpi/coll/*_allcomm)."""
_WAYS = {
    "memory": re.compile(r"_(sm|vader|shm|posix|ipc|cma|xpmem|nemesis)_", re.IGNORECASE),
    "tcp": re.compile(r"_(tcp|ofi)_", re.IGNORECASE),
    "network": re.compile(r"_(tcp|ofi|uct|openib|ugni|ch3)_", re.IGNORECASE),
    "ucx": re.compile(r"^UCX_"),
}
_OTHER_CALLS = re.compile(r"coll_|_i?(bcast|all\w+|reduce|gatherv?|scatterv?|scan|exscan|colls)_", re.IGNORECASE)
_OLD_DEVICE = re.compile(r"_(CH3|NEMESIS)_")
"""MPICH lists the settings of its former device alongside those of CH4."""
_UNLIKELY = re.compile(
    r"segment_size|memcpy_limit|fbox_threshold|unexpected|per_range|num_|ctxid|_max_chunks", re.IGNORECASE
)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def name_breaks(
    fits: list[Fit], launches: list[LaunchRecord], environment: Mapping[str, str], catalog: Catalog
) -> list[Fit]:
    """Name, at each break of an MPI benchmark's fit, the settings that switch there.

    Candidates are the settings on which all launches of the fit's kind agree, and sizes in UCX environment
    variables, which the library does not report.
    """
    return [
        _named(fit, launches, environment, catalog)
        if fit.breakpoints and catalog[fit.subject.benchmark].level == "mpi"
        else fit
        for fit in fits
    ]


def _named(fit: Fit, launches: list[LaunchRecord], environment: Mapping[str, str], catalog: Catalog) -> Fit:
    subject = fit.subject
    same = [launch for launch in launches if launch.batch == subject.batch]
    sizes = {**_agreed(same), **_of_ucx(environment)}
    collective = _collective(catalog[subject.benchmark])
    between_hosts = any(len({process.host for process in launch.processes}) > 1 for launch in same)
    blocks = subject.ranks if collective in _ALL_BLOCKS else 1
    ranked = [
        (rank, name, value)
        for name, value in sizes.items()
        if (rank := _rank(name, collective, subject.transport, between_hosts)) is not None
    ]

    def settings(point: Breakpoint) -> list[LibrarySetting]:
        return [
            LibrarySetting(name=name, value=value)
            for rank, name, value in sorted(ranked)
            if _switches(value, point, blocks if rank == 0 else 1)
        ]

    return fit.with_settings(lambda point: _without_synonyms(settings(point))[:MOST_NAMES])


def _collective(benchmark: Benchmark) -> str:
    """Return the libraries' name of a benchmark's collective; empty for other benchmarks."""
    found = (match[1].lower() for bound in benchmark.routines if (match := _COLLECTIVE.fullmatch(bound.routine)))
    return next(found, "")


def _agreed(launches: list[LaunchRecord]) -> dict[str, int]:
    """Return the sizes on which all launches agree."""
    if not launches:
        return {}
    first = {name: value for name, value in launches[0].settings.items() if _is_size(value)}
    return {
        name: int(value)
        for name, value in first.items()
        if all(launch.settings.get(name) == value for launch in launches[1:])
        and not (_OLD_DEVICE.search(name) and any("_CH4_" in other for other in first))
    }


def _is_size(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _of_ucx(environment: Mapping[str, str]) -> dict[str, int]:
    """Return the thresholds among UCX's variables: `UCX_RNDV_THRESH=16k`."""
    limits = {}
    for name, text in environment.items():
        match = re.fullmatch(r"(\d+)([kmg]?)b?", text.strip().lower())
        if name.startswith("UCX_") and "THRESH" in name and match:
            limits[name] = int(match[1]) * _FACTORS[match[2]]
    return limits


def _rank(name: str, collective: str, transport: str, between_hosts: bool) -> int | None:
    """Return the order of a setting as a likely cause of a breakpoint, 0 first; None if it is irrelevant."""
    if _UNLIKELY.search(name):
        return None
    if collective and re.search(rf"_{collective}_(?!scatter)", name, re.IGNORECASE):
        return 1 if "_IPC_" in name else 0
    if _OTHER_CALLS.search(name) or not _carries(name, transport, between_hosts):
        return None
    eager = re.search(r"eager|cell_size", name, re.IGNORECASE)
    rendezvous = re.search(r"rndv|rendezvous|p2p_threshold|thresh$", name, re.IGNORECASE)
    return 1 if eager and not rendezvous else 2 if rendezvous else 3


def _carries(name: str, transport: str, between_hosts: bool) -> bool:
    """Return whether a setting belongs to a path that the messages may have taken."""
    ways = ["tcp"] if transport == "tcp" else ["network", "memory", "ucx"] if between_hosts else ["memory", "ucx"]
    return any(_WAYS[way].search(name) for way in ways)


def _switches(value: int, point: Breakpoint, blocks: int) -> bool:
    """Return whether a limit is between the two sizes of a break, for a message or for the blocks of all ranks."""
    header = min(LARGEST_HEADER_BYTES, value // 4)
    return point.last_before * blocks <= value and value - header < point.first_after * blocks


def _without_synonyms(settings: Iterable[LibrarySetting]) -> list[LibrarySetting]:
    """Keep one of Open MPI's two names for shared memory: 5.0 has btl_sm_ and, for older scripts, btl_vader_."""
    library_settings = list(settings)
    names = {setting.name for setting in library_settings}
    return [
        setting
        for setting in library_settings
        if setting.name.replace("_vader_", "_sm_") not in names - {setting.name}
    ]
