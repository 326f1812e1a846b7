"""The relay of a lab and the commands of `ip` and `tc` that set up its links, as pure functions.

The relay (`relay.cpp`) carries all switches, buses and trunks. Its ports are TAP devices, `eth0` of each host.
Every host has `eth1` on the management bridge, in the network namespace of the holder, the fabric.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hpcscope.lab.active import INTERFACE, MANAGEMENT, Fault
from hpcscope.lab.description import Lab, LabHost, Trunk

SEGMENT_BYTES = 9000
"""Largest segment of a host on a link of up to 200 Mbit/s: six frames take little more CPU time than one, so that
many hosts can be busy at once."""
FASTEST_SEGMENTED_MBIT = 200
LARGEST_SEGMENT_BYTES = 65_536
"""Default largest segment on Linux."""
TRAFFIC = "relay.traffic"
"""The relay's file of counters, in the folder of the lab."""
COUNTERS = "SCOPE_LINK_COUNTERS"
"""The environment variable that passes `counters` to the native program."""
BUS_QUEUE_BYTES = 500 * 1514
"""Queue of a host that waits for a bus: as long as the queue of a kernel device."""
IMPAIRMENTS = {
    "lossy": "loss",
    "duplicating": "duplication",
    "reordering": "reordering",
    "corrupting": "corruption",
    "black-hole": "largest_packet_bytes",
    "pausing": "paused_ms",
    "policing": "policed_mbit_per_s",
}
"""Kinds of faults that affect the frames of a link, and the field of each in `Way`."""


@dataclass(frozen=True)
class Way:
    """One direction of a link that a relay carries."""

    source: str
    """A port, `PID:INTERFACE` with the process number inside the lab, or a switch; the same for `target`."""
    target: str
    rate_mbit: float = 0.0
    """0: frames take no time; 0 turns each of the following off, too."""
    latency_us: float = 0.0
    queue_bytes: float = 0.0
    counted: str = ""
    """The name under which the relay counts the bytes of both directions."""
    loss: float = 0.0
    """A fraction of the frames, 0 to 1; the same for the next three."""
    duplication: float = 0.0
    reordering: float = 0.0
    """Frames delivered after the frames that follow them."""
    corruption: float = 0.0
    """Frames with a wrong bit."""
    largest_packet_bytes: float = 0.0
    """Larger IP packets are dropped silently."""
    paused_ms: float = 0.0
    """The link stops for this long ten times a second."""
    policed_mbit_per_s: float = 0.0
    """What every second TCP connection sends above this rate is dropped."""
    medium: str = ""
    """Ways that name the same medium share it."""

    def line(self) -> str:
        """Return the line that declares it to the relay."""
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


@dataclass
class Wiring:
    """What sets a lab up, in this order: links, then the relay, then the hosts, then the buckets."""

    links: list[str] = field(default_factory=list)
    """Commands for `ip` in the fabric."""
    ways: list[Way] = field(default_factory=list)
    """What the relay carries."""
    hosts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Commands for `ip` on each host."""
    routes: dict[str, list[str]] = field(default_factory=dict)
    """Commands for `ip` on each host; they may fail without consequences."""
    buckets: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Commands for `tc` on each host."""


def wire(lab: Lab, pids: Mapping[str, int], faults: Sequence[Fault] = ()) -> Wiring:
    """Return the wiring of a lab whose hosts are these processes; faults change ways and buckets only."""
    wiring = Wiring()
    wiring.links = ["link add management up type bridge mcast_snooping 0"]
    for number, host in enumerate(lab.hosts()):
        _manage(wiring, host, number, pids[host.name])
        _plug_in(wiring, lab, host, pids[host.name], faults)
    for trunk in lab.trunk:
        wiring.ways += _trunk(trunk, [_gate(lab, switch) for switch in trunk.between], faults)
    for switch in {end: None for trunk in lab.trunk for end in trunk.between}:
        if (gate := _gate(lab, switch)) != switch:
            wiring.ways += [_onto_bus(lab, switch, gate), Way(switch, gate)]
    return wiring


def counters(lab: Lab, folder: Path) -> str:
    """Return where the traffic of each trunk is counted: `HERE>THERE=FILE:INTERFACE ...`, on every host."""
    return " ".join(f"{'>'.join(line.between)}={folder / TRAFFIC}:{line.name}" for line in lab.trunk)


def queue_bytes(rate_mbit_per_s: float) -> float:
    """Return the length of the queue before a link: a tenth of a second."""
    return min(max(rate_mbit_per_s * 1e6 / 8 * 0.1, 128e3), 2e6)


def bucket(device: str, way: Way) -> str:
    """Return the command that shapes the traffic leaving a device."""
    burst = bucket_bytes(way.rate_mbit)
    rate = f"rate {way.rate_mbit * 1e6:.0f}bit burst {burst:.0f} limit {way.queue_bytes:.0f}"
    return f"qdisc replace dev {device} root tbf {rate}"


def bucket_bytes(rate_mbit_per_s: float) -> float:
    """Return the size of a burst to the relay: a segment, or 1 ms of traffic on links too fast for the timer."""
    return 10_000 if rate_mbit_per_s <= FASTEST_SEGMENTED_MBIT else rate_mbit_per_s * 1e6 / 8e3


def segment_bytes(rate_mbit_per_s: float) -> int:
    """Return the largest segment that a host sends to a link.

    On fast links two segments fit into the bucket. Linux divides larger ones into frames, which is so expensive
    that a stream of 400 Mbit/s took a whole processor.
    """
    if rate_mbit_per_s <= FASTEST_SEGMENTED_MBIT:
        return SEGMENT_BYTES
    return min(int(bucket_bytes(rate_mbit_per_s) / 2), LARGEST_SEGMENT_BYTES)


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
    ways = [_port(lab, host, pid, enters, faults) for enters in (True, False)]
    wiring.ways += ways
    if lab.shared_mbit_per_s(group.plugged_into) is None:
        # With a bucket, the kernel lets no connection fill the queue of the wire.
        wiring.buckets[host.name].append(bucket(INTERFACE, ways[0]))
        commands.append(f"link set {INTERFACE} gso_max_size {segment_bytes(group.port_mbit_per_s)}")
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


def _gate(lab: Lab, switch: str) -> str:
    """Return where frames from other switches enter a switch; at a bus, the gate at which they wait for it."""
    return switch if lab.shared_mbit_per_s(switch) is None else f"{switch}/gate"


def _trunk(line: Trunk, ends: Sequence[str], faults: Sequence[Fault]) -> list[Way]:
    """Return both directions of a trunk between these ends."""
    here, there = ends
    rate = line.total_mbit_per_s
    medium = line.name if line.duplex == "half" else ""
    out = Way(here, there, rate, line.latency_us, queue_bytes(rate), medium=medium, counted=line.name)
    back = replace(out, source=there, target=here, counted="")
    return [out.disturbed(faults, line.name, "out"), back.disturbed(faults, line.name, "in")]
