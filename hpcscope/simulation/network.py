"""Networks that were not measured: fat trees, dragonflies and tori of links like those that were.

https://simgrid.org/doc/latest/Platform_examples.html
"""

from dataclasses import replace
from math import ceil, isqrt, prod

from hpcscope.errors import UsageError
from hpcscope.simulation.platform import Network, Platform

KINDS = ("fat-tree", "dragonfly", "torus")


def networked(platform: Platform, kind: str) -> Platform:
    """Return the hosts of a platform in another network, whose links are like the port of the first host.

    A link has half of the latency between two hosts of one switch, which is that of two links. Raises UsageError
    for an unknown kind and for a run without a network.
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
    """Return two levels of switches, as many links up as down."""
    down = max(2, ceil(count**0.5))
    leaves = ceil(count / down)
    return "FAT_TREE", f"2;{down},{leaves};1,{down};1,1", down * leaves


def _dragonfly(count: int) -> tuple[str, str, int]:
    """Return groups of four chassis of four routers, with as many hosts on each router as it takes."""
    groups = max(2, round((count / 16) ** 0.5))
    nodes = ceil(count / (groups * 16))
    return "DRAGONFLY", f"{groups},4;4,3;4,5;{nodes}", groups * 16 * nodes


def _torus(count: int) -> tuple[str, str, int]:
    """Return three dimensions that are as equal as they can be."""
    side = round(count ** (1 / 3))
    depth = max(1, side)
    wide = max(1, isqrt(ceil(count / depth)))
    extents = (ceil(count / (depth * wide)), wide, depth)
    return "TORUS", ",".join(map(str, extents)), prod(extents)


_SHAPES = {"fat-tree": _fat_tree, "dragonfly": _dragonfly, "torus": _torus}
