"""The topology as plain text: a tree of groups with the rate and latency of each."""

from collections.abc import Iterator, Sequence

from hpcscope import units
from hpcscope.names import host_ranges
from hpcscope.topology.discovery import Discovery
from hpcscope.topology.topology import Group, HostException, InsideHost, Topology


def text(topology: Topology, ascii_only: bool = False) -> str:
    """Return the tree, its exceptions, and the values inside a host, one per line."""
    lines = list(_branch(topology, topology.root, "", ascii_only))
    for slow in topology.exception:
        lines.append(f"exception: {slow.host} of {topology.group_of[slow.host].name}: {_values(slow)}")
    if topology.host:
        lines.append(f"inside a host: {_values(topology.host)}")
    if topology.origin != "measured":
        lines.append(f"origin: {topology.origin}")
    return "\n".join(lines)


def _values(of: HostException | InsideHost) -> str:
    return f"{units.quantity(of.bandwidth_bytes_per_s, 'B/s')}, {units.quantity(of.latency_s, 's')}"


def cost(discovery: Discovery) -> str:
    """Return the cost of a discovery and the result of its held-out check."""
    count = len(discovery.ports)
    check = f"median error {units.share(discovery.check.error)}"
    lines = [
        f"measured {discovery.transfers} transfers and {discovery.ping_pongs} ping-pongs between {count} hosts",
        f"check with {len(discovery.check.transfers)} new transfers: {check}"
        + ("" if discovery.check.passed else "; the predictions are wrong, so do not rely on this topology"),
    ]
    return "\n".join(lines + [f"note: {note}" for note in discovery.notes])


def described(group: Group) -> str:
    """Return the kind, rate, latency and uplink of a group in words."""
    what = {"cluster": "switch", "lan": "local join", "wan": "wide-area join"}[group.level]
    if group.medium == "shared":
        what = "bus"
    words = [what]
    if group.bandwidth_bytes_per_s:
        shared = " shared" if group.medium == "shared" else ""
        words.append(f"{units.quantity(group.bandwidth_bytes_per_s, 'B/s')}{shared}")
    if group.latency_s:
        words.append(units.quantity(group.latency_s, "s"))
    if group.uplink_bytes_per_s is not None:
        half = ", both directions together" if group.uplink_duplex == "half" else ""
        words.append(f"uplink {units.quantity(group.uplink_bytes_per_s, 'B/s')}{half}")
    if group.hosts:
        words.append(units.count(len(group.hosts), "host"))
    if group.confidence is not None:
        words.append(f"confidence {100 * group.confidence:.3g} %")
    return ", ".join(words)


def ranges(hosts: Sequence[str]) -> str:
    """Return hosts in short form: `hpc1-8` for eight consecutive numbers."""
    return ", ".join(host_ranges(hosts))


def _branch(topology: Topology, group: Group, before: str, ascii_only: bool) -> Iterator[str]:
    tee, end, bar = ("|-- ", "`-- ", "|   ") if ascii_only else ("├── ", "└── ", "│   ")
    yield f"{group.name}: {described(group)}"
    children = topology.children(group)
    if group.hosts:
        yield f"{before}{end}{ranges(group.hosts)}"
    for child in children:
        last = child is children[-1]
        inner = before + ("    " if last else bar)
        first, *rest = _branch(topology, child, inner, ascii_only)
        yield f"{before}{end if last else tee}{first}"
        yield from rest
