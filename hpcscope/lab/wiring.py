"""The relays of a lab and the commands of `ip` and `tc` that set up its links, as pure functions.

One relay (`relay.cpp`) carries a switch or bus, and all that trunks join to it. Its ports are TAP devices, `eth0`
of each host. Links faster than `FASTEST_RELAYED_MBIT` are pairs of devices that token buckets shape at both ends.
They meet on bridges in the network namespace of the holder, the fabric, to which a relay has an uplink. Every host
has `eth1` on the management bridge.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hpcscope.lab.active import INTERFACE, MANAGEMENT, Fault
from hpcscope.lab.description import Group, Lab, LabHost, Trunk

FASTEST_RELAYED_MBIT = 1000
"""Up to this rate a relay puts frames on the wire one after another; above, the kernel's token bucket limits."""
SEGMENT_BYTES = 9000
"""Largest segment of a host on a link of up to 200 Mbit/s: six frames, which cost the processors little more than
one, so that many hosts can be busy at once."""
FASTEST_SEGMENTED_MBIT = 200
LARGEST_SEGMENT_BYTES = 65_536
"""Largest segment on Linux, unless something else is said."""
FABRIC = 1
"""Process number of the holder inside the lab."""
TRAFFIC = ".traffic"
"""Behind the name of a relay: its file of counters."""
COUNTERS = "SCOPE_LINK_COUNTERS"
"""The environment variable that passes `counters` to the native program."""
BUS_QUEUE_BYTES = 500 * 1514
"""What is kept of a host that waits for a bus: as much as a device of the kernel keeps."""
IMPAIRMENTS = {
    "lossy": "loss",
    "duplicating": "duplication",
    "reordering": "reordering",
    "corrupting": "corruption",
    "black-hole": "largest_packet_bytes",
    "pausing": "paused_ms",
    "policing": "policed_mbit_per_s",
}
"""Kinds of faults of the frames of a link, and the field of each in `Way`."""


@dataclass(frozen=True)
class Way:
    """One direction of a link that a relay carries."""

    source: str
    """A port, `PID:INTERFACE` with the process number inside the lab, or a switch; so the next one."""
    target: str
    rate_mbit: float = 0.0
    """0: frames take no time; so all of the following."""
    latency_us: float = 0.0
    queue_bytes: float = 0.0
    counted: str = ""
    """The name under which the relay counts its bytes and those of the opposite direction."""
    loss: float = 0.0
    """A fraction of the frames, 0 to 1; so the next three."""
    duplication: float = 0.0
    reordering: float = 0.0
    """Delivered after the frames that follow them."""
    corruption: float = 0.0
    """With a wrong bit."""
    largest_packet_bytes: float = 0.0
    """Larger IP packets are dropped, and nobody is told."""
    paused_ms: float = 0.0
    """The link stops for so long ten times a second."""
    policed_mbit_per_s: float = 0.0
    """What every second TCP connection sends above is dropped."""
    medium: str = ""
    """Ways that name the same medium share it."""

    def line(self) -> str:
        """Return the line by which the relay learns of it."""
        said = {one.name.replace("_", "-"): getattr(self, one.name) for one in fields(self)[2:]}
        texts = {key: value if isinstance(value, str) else f"{value:.10g}" for key, value in said.items() if value}
        return " ".join([self.source, self.target, *(f"{key}={text}" for key, text in texts.items())])

    def disturbed(self, faults: Sequence[Fault], where: str, direction: str) -> "Way":
        """Return it with the faults of its link in its direction."""
        way = self
        for fault in faults:
            if fault.where == where and fault.direction in ("both", direction):
                way = replace(way, **_changes(fault))
        return way


def _changes(fault: Fault) -> dict[str, Any]:
    """Return what a fault of a link changes in each way; nothing for other faults."""
    if fault.kind == "dead":
        return {"loss": 1.0}
    if fault.kind == "half-duplex":
        return {"medium": fault.where}
    name = {"slow": "rate_mbit", "queue": "queue_bytes", **IMPAIRMENTS}.get(fault.kind)
    return {name: fault.value} if name else {}


@dataclass(frozen=True)
class Relayed:
    """A relay."""

    number: int
    name: str
    """What it carries, for people."""
    ways: tuple[Way, ...]

    @property
    def stem(self) -> str:
        """How the names of its files begin."""
        return _stem(self.number)


@dataclass
class Wiring:
    """Commands in this order: links, then relays, then `joined` and the hosts, then the buckets."""

    links: list[str] = field(default_factory=list)
    """For `ip` in the fabric."""
    relays: list[Relayed] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
    """For `ip` in the fabric, once the devices of the relays exist."""
    hosts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """For `ip` on each host."""
    routes: dict[str, list[str]] = field(default_factory=dict)
    """For `ip` on each host; may fail without consequences."""
    buckets: dict[str | None, list[str]] = field(default_factory=lambda: defaultdict(list))
    """For `tc` on each host, or (None) in the fabric."""


def wire(lab: Lab, pids: Mapping[str, int], faults: Sequence[Fault] = ()) -> Wiring:
    """Return the wiring of a lab whose hosts are these processes; faults change its relays and buckets only."""
    wiring = Wiring()
    bridged = [name for name in lab.switches() if _is_bridged(lab, name)]
    wiring.links = [_bridge("management"), *(_bridge(bridge_of(lab, name)) for name in bridged)]
    for number, host in enumerate(lab.hosts()):
        _manage(wiring, host, number, pids[host.name])
        _plug_in(wiring, lab, host, pids[host.name], faults)
    for number, switches in enumerate(_networks(lab)):
        ways = [way for switch in switches for way in _switch_ways(lab, switch, pids, faults)]
        for trunk in lab.trunk:
            if is_relayed_trunk(trunk) and trunk.between[0] in switches:
                ways += _trunk(trunk, [_gate(lab, switch) for switch in trunk.between], faults)
        wiring.relays.append(Relayed(number, _network_name(lab, switches), tuple(ways)))
        wiring.joined += [
            f"link set {_uplink(lab, switch)} master {bridge_of(lab, switch)} up"
            for switch in switches
            if switch in bridged
        ]
    for number in range(len(lab.trunk)):
        _join(wiring, lab, number, faults)
    return wiring


def is_relayed_port(lab: Lab, group: Group) -> bool:
    """Say whether a relay carries the ports of a group; a token bucket cannot delay."""
    bus = lab.shared_mbit_per_s(group.plugged_into)
    return bus is not None or group.latency_us > 0 or group.port_mbit_per_s <= FASTEST_RELAYED_MBIT


def is_relayed_trunk(line: Trunk) -> bool:
    """Say whether a relay carries a trunk; token buckets cannot share a rate."""
    return line.latency_us > 0 or line.duplex == "half" or line.total_mbit_per_s <= FASTEST_RELAYED_MBIT


def bridge_of(lab: Lab, switch: str) -> str:
    """Return the bridge of a switch; interface names must be short."""
    return f"switch{lab.switches().index(switch)}"


def port_of(lab: Lab, host: str) -> str:
    """Return the fabric end of the port of a host."""
    return f"port{[lab_host.name for lab_host in lab.hosts()].index(host)}"


def trunk_ends(number: int) -> tuple[str, str]:
    """Return the two ends of a trunk, in the order of its `between`."""
    return f"trunk{number}a", f"trunk{number}b"


def counters(lab: Lab, folder: Path) -> str:
    """Return where the traffic of each trunk is counted: `HERE>THERE=FILE:INTERFACE ...`, on every host."""
    words = []
    for number, line in enumerate(lab.trunk):
        where = f"/proc/{FABRIC}/net/dev:{trunk_ends(number)[0]}"
        for relay, switches in enumerate(_networks(lab)):
            if is_relayed_trunk(line) and line.between[0] in switches:
                where = f"{folder / _stem(relay)}{TRAFFIC}:{line.name}"
        words.append(f"{'>'.join(line.between)}={where}")
    return " ".join(words)


def queue_bytes(rate_mbit_per_s: float) -> float:
    """Return the length of the queue before a link: a tenth of a second."""
    return min(max(rate_mbit_per_s * 1e6 / 8 * 0.1, 128e3), 2e6)


def bucket(device: str, way: Way) -> str:
    """Return the command that shapes the traffic leaving a device.

    The bucket is as small as the rate stays exact: a frame up to 20 Mbit/s; a segment (`SEGMENT_BYTES`) up to
    200; a millisecond above, where the timer is too coarse for less.
    """
    burst = bucket_bytes(way.rate_mbit)
    rate = f"rate {way.rate_mbit * 1e6:.0f}bit burst {burst:.0f} limit {way.queue_bytes:.0f}"
    return f"qdisc replace dev {device} root tbf {rate}"


def bucket_bytes(rate_mbit_per_s: float) -> float:
    """Return how much a link lets through at once where a token bucket alone limits it."""
    if rate_mbit_per_s <= FASTEST_SEGMENTED_MBIT:
        return 1600 if rate_mbit_per_s <= 20 else 10_000
    return rate_mbit_per_s * 1e6 / 8e3


def segment_bytes(rate_mbit_per_s: float) -> int:
    """Return the largest segment that a host sends to a link.

    On fast links two segments fit into the bucket. Linux divides those that do not fit into frames, which costs so
    much that a stream of 400 Mbit/s took a whole processor.
    """
    if rate_mbit_per_s <= FASTEST_SEGMENTED_MBIT:
        return SEGMENT_BYTES
    return min(int(bucket_bytes(rate_mbit_per_s) / 2), LARGEST_SEGMENT_BYTES)


def _bridge(name: str) -> str:
    return f"link add {name} up type bridge mcast_snooping 0"


def _manage(wiring: Wiring, host: LabHost, number: int, pid: int) -> None:
    wiring.links += [
        f"link add m{number} type veth peer name {MANAGEMENT} netns {pid}",
        f"link set m{number} master management up",
    ]
    wiring.hosts[host.name] += [
        "link set lo up",
        f"link set {MANAGEMENT} up",
        f"address add {host.management_address}/16 dev {MANAGEMENT}",
    ]


def _plug_in(wiring: Wiring, lab: Lab, host: LabHost, pid: int, faults: Sequence[Fault]) -> None:
    group, commands = lab.group_of(host.group), wiring.hosts[host.name]
    rate = group.port_mbit_per_s
    if not is_relayed_port(lab, group):
        plug = port_of(lab, host.name)
        wiring.links += [
            f"link add {plug} type veth peer name {INTERFACE} netns {pid}",
            f"link set {plug} master {bridge_of(lab, group.plugged_into)} up",
        ]
        wiring.buckets[None].append(bucket(plug, _port(lab, host, pid, False, faults)))
    if lab.shared_mbit_per_s(group.plugged_into) is None:
        # Before a relay, too: the kernel then lets no connection fill the queue of the wire.
        wiring.buckets[host.name].append(bucket(INTERFACE, _port(lab, host, pid, True, faults)))
        commands.append(f"link set {INTERFACE} gso_max_size {segment_bytes(rate)}")
    commands += [
        f"link set {INTERFACE} address {_hardware_address(host)} up",
        f"address add {host.data_address}/16 dev {INTERFACE}",
    ]
    # The default congestion control may pace by its own estimate of the rate.
    way = f"10.77.0.0/16 dev {INTERFACE} proto kernel scope link src {host.data_address}"
    wiring.routes[host.name] = [f"route replace {way} congctl cubic"]


def _port(lab: Lab, host: LabHost, pid: int, enters: bool, faults: Sequence[Fault]) -> Way:
    """Return one direction of the port of a host: from it to its switch (`enters`), or to it."""
    group = lab.group_of(host.group)
    rate, port, switch = group.port_mbit_per_s, f"{pid}:{INTERFACE}", group.plugged_into
    if lab.shared_mbit_per_s(switch) is None:
        source, target = (port, switch) if enters else (switch, port)
        sound = Way(source, target, rate, group.latency_us, queue_bytes(rate))
    else:
        sound = _onto_bus(lab, switch, port) if enters else Way(switch, port)
    return sound.disturbed(faults, host.name, "out" if enters else "in")


def _onto_bus(lab: Lab, bus: str, source: str) -> Way:
    latency = max(one.latency_us for one in lab.group if one.plugged_into == bus)
    return Way(source, bus, lab.shared_mbit_per_s(bus) or 0.0, latency, BUS_QUEUE_BYTES, medium=bus)


def _hardware_address(host: LabHost) -> str:
    """Return the address of a port."""
    group, number = map(int, host.data_address.split(".")[2:])
    return f"02:00:0a:4d:{group:02x}:{number:02x}"


def _networks(lab: Lab) -> list[list[str]]:
    """Return the switches of each relay: trunks that are relayed join them."""
    relayed = [trunk for trunk in lab.trunk if is_relayed_trunk(trunk)]
    networks: list[list[str]] = []
    for switch in lab.switches():
        if any(switch in switches for switches in networks):
            continue
        switches = [switch]
        for known in switches:  # which grows
            for trunk in relayed:
                if known in trunk.between:
                    switches += [end for end in trunk.between if end not in switches]
        if len(switches) > 1 or _relayed_hosts(lab, switch):
            networks.append(switches)
    return networks


def _relayed_hosts(lab: Lab, switch: str) -> list[LabHost]:
    groups = [group.name for group in lab.group if group.plugged_into == switch and is_relayed_port(lab, group)]
    return [host for host in lab.hosts() if host.group in groups]


def _is_bridged(lab: Lab, switch: str) -> bool:
    """Say whether links that no relay carries meet at a switch."""
    return any(group.plugged_into == switch and not is_relayed_port(lab, group) for group in lab.group) or any(
        switch in trunk.between and not is_relayed_trunk(trunk) for trunk in lab.trunk
    )


def _stem(relay: int) -> str:
    return f"relay{relay}"


def _uplink(lab: Lab, switch: str) -> str:
    return "up" + bridge_of(lab, switch)


def _network_name(lab: Lab, switches: Sequence[str]) -> str:
    kind = "bus" if lab.shared_mbit_per_s(switches[0]) is not None else "switch"
    return f"{kind} {switches[0]}" if len(switches) == 1 else f"switches {', '.join(switches)}"


def _gate(lab: Lab, switch: str) -> str:
    """Return where frames from other switches come to a switch: before a bus, for which they wait."""
    return switch if lab.shared_mbit_per_s(switch) is None else f"{switch}/gate"


def _switch_ways(lab: Lab, switch: str, pids: Mapping[str, int], faults: Sequence[Fault]) -> list[Way]:
    """Return the ways between a switch or bus and its hosts, and to its bridge where it has one."""
    hosts, gate = _relayed_hosts(lab, switch), _gate(lab, switch)
    ways = [_port(lab, host, pids[host.name], enters, faults) for host in hosts for enters in (True, False)]
    if gate != switch and any(switch in trunk.between for trunk in lab.trunk):
        ways += [_onto_bus(lab, switch, gate), Way(switch, gate)]
    if _is_bridged(lab, switch):
        uplink = f"{FABRIC}:{_uplink(lab, switch)}"
        ways += [Way(uplink, gate), Way(gate, uplink)]
    return ways


def _trunk(line: Trunk, ends: Sequence[str], faults: Sequence[Fault]) -> list[Way]:
    """Return both directions of a trunk between these ends."""
    here, there = ends
    rate = line.total_mbit_per_s
    medium = line.name if line.duplex == "half" else ""
    out = Way(here, there, rate, line.latency_us, queue_bytes(rate), medium=medium, counted=line.name)
    back = replace(out, source=there, target=here, counted="")
    return [out.disturbed(faults, line.name, "out"), back.disturbed(faults, line.name, "in")]


def _join(wiring: Wiring, lab: Lab, number: int, faults: Sequence[Fault]) -> None:
    """Join the bridges of two switches by a trunk that no relay carries."""
    line, ends = lab.trunk[number], trunk_ends(number)
    if is_relayed_trunk(line):
        return
    wiring.links.append(f"link add {ends[0]} type veth peer name {ends[1]}")
    wiring.links += [
        f"link set {end} master {bridge_of(lab, switch)} up"
        for end, switch in zip(ends, line.between, strict=True)
    ]
    ways = _trunk(line, ends, faults)
    wiring.buckets[None] += [bucket(end, way) for end, way in zip(ends, ways, strict=True)]
