"""The measured paths between two ranks, one for each transport, intra-node and inter-node."""

from dataclasses import dataclass

from hpcscope.machine.machine import Link, Machine
from hpcscope.plan.case import Case, over_active_messages, transport_words
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import LaunchRecord

BETWEEN_HOSTS = "between hosts"
"""Suffix of the name of the default path if it leaves a host."""

FABRICS = ("libfabric", "ucx")
"""Libraries that choose their own path, like the MPI library that calls them."""


@dataclass(frozen=True)
class Path:
    """One path between two ranks."""

    name: str
    transport: str
    inside: bool
    """Whether both ranks are on one host."""
    placements: frozenset[Placement]
    """Placements of the launches whose ranks used this path."""
    link: Link | None
    """The link between the hosts (or the loopback); None for shared memory or if it is not known."""

    @property
    def memory(self) -> bool:
        """Whether messages go through memory alone."""
        return self.inside and (self.transport == "default" or over_active_messages(self.transport))

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols below the MPI library on this path; the best one counts."""
        if over_active_messages(self.transport):
            return ("active_messages",)
        here = ("shm", "cma") if self.memory else ("tcp",)
        return here if self.transport == "tcp" else (*here, *FABRICS)

    def placed(self, case: Case) -> bool:
        """Return whether the ranks of a case are placed like the ranks of the path."""
        return case.placement in self.placements

    def carries(self, case: Case) -> bool:
        """Return whether the messages of a case take the path."""
        return case.transport == self.transport and self.placed(case)


def paths(machine: Machine, launches: list[LaunchRecord]) -> list[Path]:
    """Return the measured paths between rank 0 and rank 1, the default transport first.

    If a run has several hosts, the path between hosts comes before shared memory.
    """
    placements: dict[tuple[str, bool], set[Placement]] = {}
    for launch in launches:
        hosts = {process.rank: process.host for process in launch.processes}
        if launch.ranks == 2 and 0 in hosts and 1 in hosts:
            placements.setdefault((launch.transport, hosts[0] == hosts[1]), set()).add(launch.placement)
    return [
        _path(transport, inside, frozenset(placements[transport, inside]), machine)
        for transport, inside in sorted(placements, key=lambda way: (way[0] != "default", way[0], way[1]))
    ]


def _path(transport: str, inside: bool, placements: frozenset[Placement], machine: Machine) -> Path:
    if inside and transport == "default":
        return Path("shared memory inside a host", transport, inside, placements, None)
    name = transport_words(transport)
    if inside and transport != "tcp":
        return Path(f"{name} inside a host", transport, inside, placements, None)
    if inside:
        loopback = next((link for host in machine.hosts for link in host.links if link.kind == "loopback"), None)
        return Path(f"{name} over the loopback", transport, inside, placements, loopback)
    link = link_between(machine)
    way = link.name if link else "the network"
    between = f"{way} {BETWEEN_HOSTS}" if transport == "default" else f"{name} over {way}"
    return Path(between, transport, inside, placements, link)


def link_between(machine: Machine) -> Link | None:
    """Return the link of the messages: up under one name on all hosts, with the rate of the slowest host.

    It is the interface that the user named, else the fastest link. None if that would be a guess: there are
    several links, and none has a known rate.
    """
    by_name: dict[str, list[Link]] = {}
    for host in machine.hosts:
        for link in host.links:
            if link.up and link.kind != "loopback" and machine.interface in (None, link.name):
                by_name.setdefault(link.name, []).append(link)
    common = [links for links in by_name.values() if len(links) == len(machine.hosts)]
    slowest = [min(links, key=lambda link: link.rate_bits_per_s or 0.0) for links in common]
    rated = [link for link in slowest if link.rate_bits_per_s]
    if rated:
        return max(rated, key=lambda link: link.rate_bits_per_s or 0.0)
    return slowest[0] if len(slowest) == 1 else None
