"""Changes to a measured platform: other speeds of hosts, ports and trunks, and more hosts of the same kind."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace

from hpcscope.errors import UsageError
from hpcscope.simulation.platform import Platform, PlatformNode
from hpcscope.topology.topology import Group, Topology

MOST_HOSTS = 1 << 16


def changed(platform: Platform, settings: Mapping[str, float], hosts: int | None) -> Platform:
    """Return the platform with other speeds, by their keys, and with this many hosts.

    Raises UsageError for an unknown key, and for a change that this platform does not support.
    """
    for key, value in settings.items():
        if key not in CHANGES:
            raise UsageError(f"--set {key}={value:g}: unknown key; must be one of {', '.join(CHANGES)}")
        try:
            platform = CHANGES[key](platform, value)
        except UsageError as error:
            raise UsageError(f"--set {key}={value:g}: {error}") from error
    return platform if hosts is None or hosts == len(platform.nodes) else _with_hosts(platform, hosts)


def _with_hosts(platform: Platform, count: int) -> Platform:
    """Return the platform with the first hosts, and with further copies of the first host in the same group."""
    where = f"--hosts {count}"
    if not 2 <= count <= MOST_HOSTS:
        raise UsageError(f"{where}: must be from 2 to {MOST_HOSTS}")
    topology = platform.topology
    if topology is None:
        raise UsageError(f"{where}: the run has one host, and no connection to other hosts was measured")
    if len(topology.group) > 1:
        raise UsageError(f"{where}: the run has {len(topology.group)} groups of hosts; must have one")
    first = platform.nodes[0]
    known = platform.nodes[:count]
    taken = {node.name for node in known}
    names = (name for n in itertools.count(len(known) + 1) if (name := f"{first.name}-{n}") not in taken)
    nodes = [*known, *(replace(first, name=name) for name in itertools.islice(names, count - len(known)))]
    group = topology.group[0].model_copy(update={"hosts": [node.name for node in nodes]})
    exceptions = [slow for slow in topology.exception if slow.host in set(group.hosts)]
    of_all = topology.model_copy(update={"group": [group], "exception": exceptions})
    return replace(platform, nodes=nodes, topology=of_all)


def _of_nodes(change: Callable[[PlatformNode, float], PlatformNode]) -> Callable[[Platform, float], Platform]:
    return lambda platform, value: replace(platform, nodes=[change(node, value) for node in platform.nodes])


def _speed(node: PlatformNode, value: float) -> PlatformNode:
    """Multiply the speed of every core."""
    estimate = node.flops_per_s.estimate.scaled(value)
    return replace(node, flops_per_s=replace(node.flops_per_s, estimate=estimate))


def _of_groups(change: Callable[[Topology, Group, float], Group]) -> Callable[[Platform, float], Platform]:
    """Return a change of every group; it raises UsageError if there are no links, or if it changes nothing."""

    def make(platform: Platform, value: float) -> Platform:
        topology = platform.topology
        if topology is None:
            raise UsageError("the run has one host and no links between hosts")
        groups = [change(topology, group, value) for group in topology.group]
        if groups == topology.group:
            raise UsageError("changes nothing: this platform already has this value on all links")
        return replace(platform, topology=topology.model_copy(update={"group": groups}))

    return make


def _port_rate(_topology: Topology, group: Group, value: float) -> Group:
    """Set the bytes per second of every port."""
    return group.model_copy(update={"bandwidth_bytes_per_s": value}) if group.hosts else group


def _latency(_topology: Topology, group: Group, value: float) -> Group:
    """Multiply the latency of every link."""
    return group.model_copy(update={"latency_s": group.latency_s * value})


def _trunk_rate(topology: Topology, group: Group, value: float) -> Group:
    """Set the bytes per second of uplinks; a transfer between groups is as fast as its slowest link."""
    if group.uplink_bytes_per_s is not None:
        group = group.model_copy(update={"uplink_bytes_per_s": value})
    if not group.hosts:
        ports = [one.bandwidth_bytes_per_s for one in topology.group if one.hosts]
        group = group.model_copy(update={"bandwidth_bytes_per_s": min([value, *ports])})
    return group


CHANGES = {
    "link.port.bandwidth": _of_groups(_port_rate),
    "link.trunk.bandwidth": _of_groups(_trunk_rate),
    "link.latency": _of_groups(_latency),
    "host.speed": _of_nodes(_speed),
}
"""What each key of `--set` changes."""
