"""Computation and time in MPI by function of the program: a tree of call paths, and each function by rank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hpcscope.programs.profiles.profile import Floats, Integers, Profile
from hpcscope.programs.profiles.records import Function, Functions, PathNode
from hpcscope.programs.profiles.regions import OUTSIDE, region_names
from hpcscope.programs.profiles.sites import Name, renumbered
from hpcscope.programs.profiles.timeline import MOST_RANKS

UNKNOWN = "elsewhere"
"""Name of the caller of MPI if the profile does not have its call site."""


@dataclass
class _Node:
    """A function on its call path; `mpi` holds the MPI routines that it calls directly."""

    time_s: float = 0.0
    calls: int = 0
    bytes: int = 0
    mpi: defaultdict[str, _Node] = field(default_factory=lambda: defaultdict(_Node))
    children: defaultdict[str, _Node] = field(default_factory=lambda: defaultdict(_Node))

    @cached_property
    def total_s(self) -> float:
        """Time of the node and all nodes below it; valid once the tree is complete."""
        below = (*self.mpi.values(), *self.children.values())
        return self.time_s + sum(function.total_s for function in below)


@dataclass
class _Use:
    """The times of a function by rank."""

    compute_s: Floats
    mpi_s: Floats
    calls: int = 0
    bytes: int = 0


def gather(
    profiles: Sequence[Profile],
    paths: Sequence[Sequence[Name]],
    of_sites: Sequence[Integers],
    of_samples: Sequence[Integers],
) -> Functions | None:
    """Return computation and MPI calls of the program's functions; None without call paths and samples.

    Args:
        profiles: sorted by rank.
        paths: names of the frames of each path, innermost first (`sites.Named`).
        of_sites: for each profile, the path of every row in its table of sites, -1 if there is none.
        of_samples: for each profile, the path of every row in its table of samples.

    """
    sample_hz = max(profile.header.sample_hz for profile in profiles)
    depth = max(profile.header.depth for profile in profiles)
    if depth <= 1 and not sample_hz:
        return None
    named = [_without_cycles([name.function for name in reversed(path)]) for path in paths]
    in_regions = any(profile.tables[name]["region"].any() for profile in profiles for name in ("calls", "samples"))
    names = region_names(profiles)
    root = _Node()

    def place(path: Sequence[str], region: int) -> _Node:
        """Return the node of a path, below the node of its region if the program has regions."""
        node = root
        if in_regions:
            node = node.children[names.get(region, f"region {region}") if region else OUTSIDE]
        for name in path:
            node = node.children[name]
        return node

    uses: dict[str, _Use] = defaultdict(lambda: _Use(np.zeros(len(profiles)), np.zeros(len(profiles))))
    for index, (one, own) in enumerate(zip(profiles, of_sites, strict=True)):
        tick_s = one.tick_s
        for routine, number, region, calls, ticks, size in _rows(one, own):
            path = named[number] if number >= 0 else (UNKNOWN,)
            seconds = ticks * tick_s
            node = place(path, region).mpi[one.routine(routine)]
            use = uses[path[-1]]
            use.mpi_s[index] += seconds
            node.time_s += seconds
            node.calls += calls
            node.bytes += size
            use.calls += calls
            use.bytes += size
    for index, (one, own) in enumerate(zip(profiles, of_samples, strict=True)):
        columns = (one.tables["samples"][name].tolist() for name in ("region", "samples"))
        for number, region, samples in zip(own.tolist(), *columns, strict=True):
            seconds = samples / one.header.sample_hz
            place(named[number], region).time_s += seconds
            uses[named[number][-1]].compute_s[index] += seconds
    kept = np.linspace(0, len(profiles) - 1, min(len(profiles), MOST_RANKS)).astype(int)
    return Functions(
        sample_hz=sample_hz,
        samples=sum(int(profile.process["samples"]) for profile in profiles),
        samples_in_mpi=sum(int(profile.process["samples_in_mpi"]) for profile in profiles),
        depth=depth,
        tree=_listed(root),
        functions=[
            Function(
                name=name,
                compute_s=float(use.compute_s.sum()),
                mpi_s=float(use.mpi_s.sum()),
                calls=use.calls,
                bytes=use.bytes,
                compute_by_rank=[float(f"{value:.6g}") for value in use.compute_s[kept]],
                mpi_by_rank=[float(f"{value:.6g}") for value in use.mpi_s[kept]],
            )
            for name, use in sorted(uses.items(), key=lambda pair: -(pair[1].compute_s + pair[1].mpi_s).sum())
        ],
        ranks=[profiles[place].rank for place in kept],
    )


def _rows(profile: Profile, paths: Integers) -> Iterator[tuple[int, int, int, int, float, int]]:
    """Yield routine, path and region, with number, ticks and bytes of all their calls."""
    rows = profile.tables["calls"]
    numbers = renumbered(rows["site"], paths)
    which = np.stack([rows["routine"].astype(np.int64), numbers, rows["region"].astype(np.int64)])
    keys, place = np.unique(which, axis=1, return_inverse=True)
    sums = [np.bincount(place.ravel(), rows[name]) for name in ("calls", "ticks", "bytes")]
    for index, (routine, path, region) in enumerate(keys.T.tolist()):
        calls, ticks, size = (float(column[index]) for column in sums)
        yield routine, path, region, int(calls), ticks, int(size)


def _without_cycles(path: Sequence[str]) -> list[str]:
    """Fold recursion: a function that calls itself, directly or indirectly, is one node."""
    cycles: list[str] = []
    for name in path:
        if name in cycles:
            del cycles[cycles.index(name) + 1 :]
        else:
            cycles.append(name)
    return cycles


def _listed(root: _Node) -> list[PathNode]:
    """Return the nodes below the root, each after its parent."""
    nodes: list[PathNode] = []

    def add(name: str, node: _Node, parent: int | None, mpi: bool) -> None:
        nodes.append(
            PathNode(name=name, parent=parent, mpi=mpi, time_s=node.time_s, calls=node.calls, bytes=node.bytes)
        )
        place = len(nodes) - 1
        below = [(key, one, True) for key, one in node.mpi.items()]
        below += [(key, one, False) for key, one in node.children.items()]
        for key, one, is_mpi in sorted(below, key=lambda each: -each[1].total_s):
            add(key, one, place, is_mpi)

    for name, node in sorted(root.children.items(), key=lambda pair: -pair[1].total_s):
        add(name, node, None, False)
    return nodes
