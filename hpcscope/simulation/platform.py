"""The platform of a simulation: the speed of a core of each host, latency and rate inter-node and intra-node.

Every value is measured and names its source: matrix products on one rank if there are any, ping-pongs of the MPI
library, else ping-pongs of the network without MPI. What was not measured is refused, not assumed, except for the
speed of equal hosts if it decides nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, isqrt, prod

from hpcscope.catalog.benchmark import Layer
from hpcscope.errors import UsageError
from hpcscope.machine.machine import Host
from hpcscope.machine.node_types import node_types
from hpcscope.models.computation.linpack_rates import used_cores
from hpcscope.models.ladder.paths import paths
from hpcscope.models.measurements import Measurements, short_names
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.summary import Summary
from hpcscope.topology.topology import Group, Origin, Topology

ARITHMETIC: tuple[Layer, ...] = ("node", "limit", "algorithm")
"""Layers in which the speed of a core is looked for, in this order."""
LIBRARY: tuple[Layer, ...] = ("mpi", "network")
"""Layers in which latency and rate are looked for, in this order."""
CLUSTER = "cluster"
"""The group of all hosts if no topology is known."""
KINDS = ("fat-tree", "dragonfly", "torus")


@dataclass(frozen=True)
class PlatformFigure:
    """A value of the platform and the case in which it was measured."""

    estimate: Estimate
    case: str
    unit: str


NOMINAL_SPEED = PlatformFigure(
    Estimate(value=1e9), "nominal; computation takes as long as on this machine", "flop/s"
)


@dataclass(frozen=True)
class Exchange:
    """Latency and rate between two ranks."""

    latency_s: PlatformFigure
    """One-way latency of the shortest message."""
    bandwidth_bytes_per_s: PlatformFigure
    """Bandwidth of the longest message."""


@dataclass(frozen=True)
class PlatformNode:
    """One host."""

    name: str
    cores: int
    flops_per_s: PlatformFigure
    """Rate of one core."""

    @property
    def copies_at_once(self) -> int:
        """How many intra-node messages run at the full rate of one message: each receiver copies its own."""
        return max(1, self.cores)


@dataclass(frozen=True)
class Network:
    """A network of equal links that was not measured."""

    kind: str
    """Its kind, as SimGrid spells it: `FAT_TREE`."""
    parameters: str
    """Its parameters, as SimGrid reads them."""
    room: int
    """Number of hosts that it has room for."""
    link_bytes_per_s: float
    link_latency_s: float


@dataclass(frozen=True)
class Platform:
    """A cluster as simulators see it."""

    origin: str
    nodes: list[PlatformNode]
    inside: Exchange | None
    """Inside a host; None if no two ranks of one host were measured."""
    between: Exchange | None
    """Between two hosts; None for a single host, and if the topology gives it."""
    topology: Topology | None
    """None for a single host, and in another network."""
    network: Network | None = None
    """A network that replaces the topology."""


def platform(
    measurements: Measurements, topology: Topology | None = None, nominal_speed: bool = False
) -> Platform:
    """Return the platform that a run measured; with a topology its groups instead of one group of all hosts.

    `nominal_speed`: hosts of one type whose arithmetic was not measured have a nominal speed. A simulation that
    takes the time of computing from this machine only needs the ratio of the hosts' speeds. Raises UsageError
    naming what was not measured, and a host that the topology does not have.
    """
    nodes = list(_nodes(measurements, nominal_speed))
    inside = exchange(measurements, inside=True)
    between = None
    if len(nodes) == 1:
        topology = None
    elif topology is not None:
        if missing := [node.name for node in nodes if node.name not in topology.group_of]:
            raise UsageError(f"topology.toml: has no host {missing[0]}; discover the topology of the run's hosts")
    else:
        between = exchange(measurements, inside=False)
        if between is None:
            raise UsageError(
                "the run has no ping-pong between two hosts: run mpi.latency with --ranks 2 on these hosts."
                " Or give the run a topology (scope topology discover, scope run --topology)"
            )
        topology = _one_group(nodes, between, measurements)
    origin = ", ".join(sorted({case.origin for case in measurements.headlines}))
    return Platform(origin, nodes, inside, between, topology)


def _nodes(measurements: Measurements, nominal_speed: bool) -> Iterator[PlatformNode]:
    hosts = measurements.machine.hosts
    short = short_names(measurements.machine)
    speeds = dict(_speeds(measurements, hosts))
    if not speeds and nominal_speed and len(node_types(hosts)) == 1:
        speeds = {0: NOMINAL_SPEED}
    if not speeds:
        raise UsageError("the run has no rate of arithmetic on one rank; run node.matrix_multiply")
    for number, members in enumerate(node_types(hosts)):
        speed = speeds.get(number)
        if speed is None:
            name = hosts[members[0]].name
            raise UsageError(f"the run has no rate of arithmetic on one rank of {name} or an equal host")
        for position in members:
            host = hosts[position]
            yield PlatformNode(short(host.name), max(used_cores(host), 1), speed)


def _speeds(measurements: Measurements, hosts: Sequence[Host]) -> Iterator[tuple[int, PlatformFigure]]:
    """Yield the best rate of each type of node on one rank, from the first layer that has any."""
    short = short_names(measurements.machine)
    for number, members in enumerate(node_types(hosts)):
        names = {short(hosts[position].name) for position in members}
        for layer in ARITHMETIC:
            on_one = [
                on.summary
                for on in measurements.standing("arithmetic", layer, "flop/s")
                if (on.summary.ranks == 1 and on.summary.parameters.get("precision", "double") == "double")
                and {*map(short, measurements.hosts(on.summary))} & names
            ]
            if on_one:
                yield number, _figure(max(_largest(measurements, on_one), key=lambda case: case.median or 0.0))
                break


def _largest(measurements: Measurements, cases: Sequence[Summary]) -> list[Summary]:
    """Return the largest problems of each benchmark: small problems stay in the caches."""
    sizes = {case.benchmark: 0 for case in cases}
    for summary in cases:
        sizes[summary.benchmark] = max(sizes[summary.benchmark], measurements.size(summary))
    return [case for case in cases if measurements.size(case) == sizes[case.benchmark]]


def exchange(measurements: Measurements, inside: bool) -> Exchange | None:
    """Return latency and rate of the default transport between two ranks; None if they were not measured."""
    ways = [
        path
        for path in paths(measurements.machine, measurements.launches)
        if path.inside == inside and path.transport == "default"
    ]
    for layer in LIBRARY:
        times, rates = (
            [
                on.summary
                for way in ways
                for on in measurements.standing("ping_pong", layer, unit, free=["protocol"])
                if way.carries(on.summary)
                and on.summary.parameters.get("protocol", way.protocols[0]) in way.protocols
            ]
            for unit in ("s", "B/s")
        )
        if times and rates:
            least = min(times, key=lambda case: (measurements.size(case), case.median or 0.0))
            most = max(rates, key=lambda rate: (measurements.size(rate), rate.median or 0.0))
            return Exchange(_figure(least), _figure(most))
    return None


def _one_group(nodes: Sequence[PlatformNode], between: Exchange, measurements: Measurements) -> Topology:
    group = Group(
        name=CLUSTER,
        level="cluster",
        hosts=[node.name for node in nodes],
        latency_s=between.latency_s.estimate.value,
        bandwidth_bytes_per_s=between.bandwidth_bytes_per_s.estimate.value,
    )
    found = {launch.origin for launch in measurements.launches}
    origin: Origin = "emulated" if "emulated" in found else "simulated" if "simulated" in found else "measured"
    return Topology(origin=origin, group=[group])


def _figure(case: Summary) -> PlatformFigure:
    return PlatformFigure(case.estimate, case.label, case.unit)


def networked(platform: Platform, kind: str) -> Platform:
    """Return the hosts of a platform in another network, whose links are like the port of the first host.

    The kinds are described in https://simgrid.org/doc/latest/Platform_examples.html. A link has half of the
    latency between two hosts of one switch, because that path has two links. Raises UsageError for an unknown kind
    and for a run without a network.
    """
    if kind not in KINDS:
        raise UsageError(f"--topology {kind}: must be one of {', '.join(KINDS)}")
    if platform.topology is None:
        raise UsageError(f"--topology {kind}: the run has one host and no links between hosts")
    first = platform.nodes[0]
    group = platform.topology.group_of[first.name]
    name, parameters, room = _SHAPES[kind](len(platform.nodes))
    network = Network(name, parameters, room, group.bandwidth_bytes_per_s, group.latency_s / 2)
    nodes = [replace(first, name=f"host{number}") for number in range(len(platform.nodes))]
    return replace(platform, nodes=nodes, topology=None, network=network)


def _fat_tree(count: int) -> tuple[str, str, int]:
    """Return two levels of switches, with equal numbers of links up and down."""
    down = max(2, ceil(count**0.5))
    leaves = ceil(count / down)
    return "FAT_TREE", f"2;{down},{leaves};1,{down};1,1", down * leaves


def _dragonfly(count: int) -> tuple[str, str, int]:
    """Return groups of four chassis of four routers, with enough hosts on each router."""
    groups = max(2, round((count / 16) ** 0.5))
    nodes = ceil(count / (groups * 16))
    return "DRAGONFLY", f"{groups},4;4,3;4,5;{nodes}", groups * 16 * nodes


def _torus(count: int) -> tuple[str, str, int]:
    """Return three dimensions that are as equal as possible."""
    side = round(count ** (1 / 3))
    depth = max(1, side)
    wide = max(1, isqrt(ceil(count / depth)))
    extents = (ceil(count / (depth * wide)), wide, depth)
    return "TORUS", ",".join(map(str, extents)), prod(extents)


_SHAPES = {"fat-tree": _fat_tree, "dragonfly": _dragonfly, "torus": _torus}
