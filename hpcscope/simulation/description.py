"""A platform as SimGrid and SMPI read it, in version 4.1 of its XML: hosts, links and groups with their values.

https://simgrid.org/doc/latest/XML_reference.html
"""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations, takewhile
from xml.etree import ElementTree
from xml.etree.ElementTree import Comment, Element, SubElement

from hpcscope.simulation.platform import CLUSTER, Exchange, Network, Platform, PlatformNode
from hpcscope.topology.topology import Group, HostException, Topology

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
FACTORS = {
    **{"network/latency-factor": "1", "network/bandwidth-factor": "1", "network/weight-S": "0"},
    **{"network/crosstraffic": "0", "smpi/lat-factor": "0:1", "smpi/bw-factor": "0:1"},
}
"""SimGrid's own factors, turned off: protocol overhead, and acknowledgements that use the other direction."""
LEAST = 1e-6
"""Least factor: SMPI takes none that is zero or below. A rate of 1 / LEAST stands for bytes that take no time."""
_TWO_HYPHENS = re.compile("-(?=-)")
"""XML comments must not contain two successive hyphens."""


def write(made: Platform, comments: Sequence[str], settings: Mapping[str, str] = FACTORS) -> str:
    """Return the platform, after comments on its origin; `settings` of SimGrid are included."""
    root = Element("platform", version="4.1")
    for line in comments:
        root.append(Comment(f" {_TWO_HYPHENS.sub('- ', line)} "))
    config = SubElement(root, "config")
    for name, value in settings.items():
        SubElement(config, "prop", id=name, value=value)
    if made.network is not None:
        _add_network(root, made, made.network)
    elif made.topology is None:
        zone = SubElement(root, "zone", id=CLUSTER, routing="Full")
        _add_hosts(zone, made.nodes)
        _add_loops(zone, made.nodes, made.inside, _fastest(settings))
        _add_ways_to_itself(zone, "route", made.nodes, made.inside)
    else:
        _zones(root, made, made.topology, _fastest(settings))
    ElementTree.indent(root)
    return HEAD + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_network(root: Element, made: Platform, network: Network) -> None:
    """Add equal hosts in a network that SimGrid generates; surplus hosts stay idle."""
    node = made.nodes[0]
    inside = (
        {
            "loopback_bw": f"{made.inside.bandwidth_bytes_per_s.estimate.value:.6g}Bps",
            "loopback_lat": f"{made.inside.latency_s.estimate.value:.6g}s",
        }
        if made.inside is not None
        else {}
    )
    SubElement(
        root,
        "cluster",
        {
            **{"id": CLUSTER, "prefix": "host", "suffix": "", "radical": f"0-{network.room - 1}"},
            **{"speed": f"{node.flops_per_s.estimate.value:.6g}f", "core": str(node.cores)},
            **{"bw": f"{network.link_bytes_per_s:.6g}Bps", "lat": f"{network.link_latency_s:.6g}s"},
            **{"topology": network.kind, "topo_parameters": network.parameters, "sharing_policy": "SPLITDUPLEX"},
            **inside,
        },
    )


def _zones(root: Element, made: Platform, topology: Topology, fastest: float) -> None:
    """Add a zone for each group of hosts, and the route between every two groups."""
    names = {node.name for node in made.nodes}
    leaves = [group for group in topology.group if names.intersection(group.hosts)]
    world = SubElement(root, "zone", id="world", routing="Full") if len(leaves) > 1 else root
    for group in leaves:
        _cluster(world, group, made, topology, fastest)
    if world is root:
        return
    for group in topology.group:
        if group.uplink_bytes_per_s is not None:
            duplex = "SPLITDUPLEX" if group.uplink_duplex == "full" else "SHARED"
            _link(world, _uplink(group), group.uplink_bytes_per_s, 0.0, duplex)
    pairs = list(combinations(leaves, 2))
    for one, other in pairs:
        # Half of the latency inside a group is on the way out of it.
        join = topology.join(one.hosts[0], other.hosts[0])
        rest_s = max(join.latency_s - (one.latency_s + other.latency_s) / 2, 0.0)
        _link(world, _between(one, other), join.bandwidth_bytes_per_s, rest_s, "FATPIPE")
    for one, other in pairs:
        join = topology.join(one.hosts[0], other.hosts[0])
        up = [_through(group, "UP") for group in _below(topology, one, join)]
        down = [_through(group, "DOWN") for group in _below(topology, other, join)]
        ends = {"src": _id(one), "dst": _id(other), "gw_src": _router(one), "gw_dst": _router(other)}
        way = SubElement(world, "zoneRoute", {**ends, "symmetrical": "NO"})
        for link in [*up, {"id": _between(one, other)}, *down[::-1]]:
            SubElement(way, "link_ctn", link)
        back = SubElement(world, "zoneRoute", {**_turned(ends), "symmetrical": "NO"})
        for link in [*down, {"id": _between(one, other)}, *up[::-1]]:
            SubElement(back, "link_ctn", _reverse(link))


def _cluster(parent: Element, group: Group, made: Platform, topology: Topology, fastest: float) -> None:
    """Add a group of hosts, each with a port, around a switch or along a bus."""
    zone = SubElement(parent, "zone", id=_id(group), routing="Cluster")
    chosen = [node for node in made.nodes if node.name in set(group.hosts)]
    _add_hosts(zone, chosen)
    _add_loops(zone, chosen, made.inside, fastest)
    slower = {exception.host: exception for exception in topology.exception}
    shared = group.medium == "shared"
    for host in chosen:
        port: Group | HostException = slower.get(host.name, group)
        sharing = "FATPIPE" if shared else "SPLITDUPLEX"
        _link(zone, f"{host.name}_port", port.bandwidth_bytes_per_s, port.latency_s / 2, sharing)
    for host in chosen:
        up, down = ("", "") if shared else ("_UP", "_DOWN")
        SubElement(zone, "host_link", id=host.name, up=f"{host.name}_port{up}", down=f"{host.name}_port{down}")
    SubElement(zone, "router", id=_router(group))
    if shared:
        bandwidth = f"{group.bandwidth_bytes_per_s:.6g}Bps"
        SubElement(zone, "backbone", id=f"{group.name}_bus", bandwidth=bandwidth, latency="0s")
    _add_ways_to_itself(zone, "bypassRoute", chosen, made.inside)


def _add_hosts(zone: Element, nodes: Sequence[PlatformNode]) -> None:
    for node in nodes:
        speed = f"{node.flops_per_s.estimate.value:.6g}f"
        SubElement(zone, "host", id=node.name, speed=speed, core=str(node.cores))


def _fastest(settings: Mapping[str, str]) -> float:
    """Return the speed of messages of the best size, relative to the rate of a route."""
    factors = (float(piece.partition(":")[2]) for piece in settings["smpi/bw-factor"].split(";"))
    return max([1.0, *(factor for factor in factors if factor < 1 / LEAST)])


def _add_loops(zone: Element, nodes: Sequence[PlatformNode], inside: Exchange | None, fastest: float) -> None:
    """Add the links inside each host: the link of one message, and the memory that concurrent messages share.

    `fastest`: the largest factor on the rate of a message.
    """
    if inside is not None:
        latency_s, rate = inside.latency_s.estimate.value, inside.bandwidth_bytes_per_s.estimate.value
        for node in nodes:
            _link(zone, f"{node.name}_inside", rate, latency_s, "FATPIPE")
            _link(zone, f"{node.name}_memory", rate * fastest * node.copies_at_once, 0.0, "SHARED")


def _add_ways_to_itself(zone: Element, tag: str, nodes: Sequence[PlatformNode], inside: Exchange | None) -> None:
    """Add the route from each host to itself: as `route`, or as one that overrides what a zone has by itself."""
    for node in nodes if inside is not None else ():
        way = SubElement(zone, tag, src=node.name, dst=node.name)
        for link in ("inside", "memory"):
            SubElement(way, "link_ctn", id=f"{node.name}_{link}")


def _link(zone: Element, name: str, bytes_per_s: float, latency_s: float, sharing: str) -> None:
    bandwidth, latency = f"{bytes_per_s:.6g}Bps", f"{latency_s:.6g}s"
    SubElement(zone, "link", id=name, bandwidth=bandwidth, latency=latency, sharing_policy=sharing)


def _below(topology: Topology, group: Group, join: Group) -> list[Group]:
    """Return the group and its ancestors below `join` that have an uplink."""
    way = takewhile(lambda each: each is not join, topology.way_up(group))
    return [node for node in way if node.uplink_bytes_per_s is not None]


def _through(group: Group, direction: str) -> dict[str, str]:
    return {"id": _uplink(group), **({"direction": direction} if group.uplink_duplex == "full" else {})}


def _reverse(link: dict[str, str]) -> dict[str, str]:
    other = {"UP": "DOWN", "DOWN": "UP"}
    return {name: other.get(value, value) if name == "direction" else value for name, value in link.items()}


def _turned(ends: dict[str, str]) -> dict[str, str]:
    other = {"src": "dst", "dst": "src", "gw_src": "gw_dst", "gw_dst": "gw_src"}
    return {other[name]: value for name, value in ends.items()}


def _id(group: Group) -> str:
    return f"{group.name}_zone"


def _router(group: Group) -> str:
    return f"{group.name}_router"


def _uplink(group: Group) -> str:
    return f"{group.name}_uplink"


def _between(group: Group, other: Group) -> str:
    return f"{group.name}_{other.name}_way"
