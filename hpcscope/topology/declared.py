"""The topology that a lab file declares, which a discovery in that lab should find."""

from itertools import groupby
from operator import attrgetter

from hpcscope.lab.description import Lab, Trunk
from hpcscope.lab.fidelity import PAYLOAD_SHARE, SHARED_PAYLOAD_SHARE
from hpcscope.topology.topology import Group, InsideHost, Topology

LATENCY_S = 50e-6
"""Latency of an empty message on an emulated link without added latency: the work of kernel and library."""
INSIDE_HOST = InsideHost(latency_s=1e-6, bandwidth_bytes_per_s=5e9)
WAN_SHARE = 0.1
"""A trunk with less than this fraction of its groups' rates is a wide area network."""


def declared(lab: Lab) -> Topology:
    """Return the groups that follow from the rates of a lab: trunks join switches, the fastest first.

    The path between two groups is as fast as its slowest trunk, which is the one that joined them last. Rates are
    TCP payload rates. Hosts without ranks are left out: nothing measures them.
    """
    lab = lab.model_copy(update={"group": [group for group in lab.group if group.ranks_per_host]})
    groups = [_cluster(lab, switch) for switch in lab.switches() if _hosts(lab, switch)]
    holders = {switch: _Joined({switch}, group) for switch, group in zip(_peopled(lab), groups, strict=True)}
    parts = [holders.get(switch, _Joined({switch}, None)) for switch in lab.switches()]
    speed = attrgetter("total_mbit_per_s")
    for rate, trunks in groupby(sorted(lab.trunk, key=speed, reverse=True), key=speed):
        parts = _joined_by(lab, parts, list(trunks), rate, groups)
    dual = any(group.ranks_per_host > 1 for group in lab.group)
    return Topology(origin="emulated", host=INSIDE_HOST if dual else None, group=groups)


class _Joined:
    """Switches that have been joined so far, and the group they form; None while none of them has hosts."""

    def __init__(self, switches: set[str], group: Group | None) -> None:
        self.switches = switches
        self.group = group


def _hosts(lab: Lab, switch: str) -> list[str]:
    names = {group.name for group in lab.group if group.plugged_into == switch}
    return [host.name for host in lab.hosts() if host.group in names]


def _peopled(lab: Lab) -> list[str]:
    return [switch for switch in lab.switches() if _hosts(lab, switch)]


def _cluster(lab: Lab, switch: str) -> Group:
    ports = [group for group in lab.group if group.plugged_into == switch]
    bus = lab.shared_mbit_per_s(switch)
    rate = bus if bus is not None else max(group.port_mbit_per_s for group in ports)
    return Group(
        name=switch,
        level="cluster",
        hosts=_hosts(lab, switch),
        medium="switched" if bus is None else "shared",
        latency_s=LATENCY_S + 2e-6 * max(group.latency_us for group in ports),
        bandwidth_bytes_per_s=_payload(rate, shared=bus is not None),
    )


def _payload(rate_mbit_per_s: float, shared: bool = False) -> float:
    return rate_mbit_per_s * 1e6 / 8 * (SHARED_PAYLOAD_SHARE if shared else PAYLOAD_SHARE)


def _joined_by(
    lab: Lab, parts: list[_Joined], trunks: list[Trunk], rate: float, groups: list[Group]
) -> list[_Joined]:
    """Join parts by trunks of one rate; a new group is added to `groups` for each join of several groups."""
    while True:
        ends = next((pair for pair in (_ends(parts, trunk) for trunk in trunks) if pair[0] is not pair[1]), None)
        if ends is None:
            return parts
        together = _reached(parts, trunks, ends[0])
        inside = [part for part in together if part.group is not None]
        group = inside[0].group if inside else None
        if len(inside) > 1:
            group = _over(lab, inside, trunks, rate, groups)
        made = _Joined(set().union(*(part.switches for part in together)), group)
        parts = [part for part in parts if part not in together] + [made]


def _ends(parts: list[_Joined], trunk: Trunk) -> tuple[_Joined, _Joined]:
    one, other = (next(part for part in parts if end in part.switches) for end in trunk.between)
    return one, other


def _reached(parts: list[_Joined], trunks: list[Trunk], start: _Joined) -> list[_Joined]:
    reached = [start]
    for part in reached:
        for trunk in trunks:
            ends = _ends(parts, trunk)
            reached += [end for end in ends if part in ends and end not in reached]
    return reached


def _over(lab: Lab, inside: list[_Joined], trunks: list[Trunk], rate: float, groups: list[Group]) -> Group:
    fastest = sorted(max(_ports(lab, part)) for part in inside)
    bandwidth = min(rate, fastest[-2])
    level = "wan" if bandwidth < WAN_SHARE * fastest[0] else "lan"
    made = Group(
        name=f"{level}{sum(group.level == level for group in groups) + 1}",
        level="wan" if level == "wan" else "lan",
        latency_s=LATENCY_S + 1e-6 * _latency_us(lab, *(_peopled_in(lab, part)[0] for part in inside[:2])),
        bandwidth_bytes_per_s=_payload(bandwidth),
    )
    for part in inside:
        own = [trunk for trunk in trunks if _is_uplink(lab, trunk, part)]
        limits = own and rate < sum(_ports(lab, part))
        position = next(number for number, group in enumerate(groups) if group is part.group)
        groups[position] = groups[position].model_copy(
            update={
                "parent": made.name,
                "uplink_bytes_per_s": _payload(rate) if limits else None,
                "uplink_duplex": own[0].duplex if limits else "full",
            }
        )
    groups.append(made)
    return made


def _ports(lab: Lab, part: _Joined) -> list[float]:
    groups = (lab.group_of(host.group) for host in lab.hosts())
    return [group.port_mbit_per_s for group in groups if group.plugged_into in part.switches]


def _is_uplink(lab: Lab, trunk: Trunk, part: _Joined) -> bool:
    """Return whether all traffic that leaves a part goes over this trunk.

    A trunk that ends inside at a router without hosts belongs to the part beyond it.
    """
    inside = set(trunk.between) & part.switches
    if len(inside) != 1:
        return False
    (outside,) = set(trunk.between) - inside
    return bool(_hosts(lab, inside.pop())) or not _hosts(lab, outside)


def _peopled_in(lab: Lab, part: _Joined) -> list[str]:
    return [switch for switch in _peopled(lab) if switch in part.switches]


def _latency_us(lab: Lab, one: str, other: str) -> float:
    """Return the declared latency of the path between hosts of two switches, including their ports."""
    ports = [max(group.latency_us for group in lab.group if group.plugged_into == end) for end in (one, other)]
    return sum(ports) + sum(trunk.latency_us for trunk in lab.way(one, other))
