"""The commands of `ip` and `tc` that set up the links of a lab, as pure functions.

Every switch is a bridge in the network namespace of the holder, the fabric; every host has a port `eth0` on its
switch and `eth1` on the management bridge. Rates are token buckets at both ends of a link. Latency, shared media
and impairments need a relay: a link in user space between TAP devices.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from hpcscope.lab.active import INTERFACE, MANAGEMENT
from hpcscope.lab.description import Lab, LabHost

SEGMENT_BYTES = 9000
"""Largest segment of a host on a link of up to 200 Mbit/s: six frames, which cost the processors little more than
one, so that many hosts can be busy at once."""
FASTEST_SEGMENTED_MBIT = 200
LARGEST_SEGMENT_BYTES = 65_536
"""Largest segment on Linux, unless something else is said."""
FABRIC = 1
"""Process number of the holder inside the lab."""
COUNTERS = "SCOPE_LINK_COUNTERS"
"""The environment variable that passes `counters` to the native program."""


@dataclass(frozen=True)
class Impairment:
    """What happens to the frames of a link that is a relay."""

    loss: float = 0.0
    """A share of the frames, 0 to 1; so the next three."""
    duplication: float = 0.0
    reordering: float = 0.0
    """Delivered after the frames that follow them."""
    corruption: float = 0.0
    """With a wrong bit."""
    largest_packet_bytes: float = 0
    """Larger IP packets are dropped, and nobody is told; 0: none."""
    paused_ms: float = 0.0
    """The link stops for so long ten times a second."""
    policed_mbit_per_s: float = 0.0
    """What every second TCP connection sends above is dropped; 0: nothing."""
    half_duplex: float = 0
    """1: both directions share the link."""

    def arguments(self) -> list[str]:
        """Return the words by which the relay learns of them; of the duplex it learns as of a bus."""
        said = [one.name for one in fields(self) if one.name != "half_duplex"]
        return [f"--{name.replace('_', '-')}={getattr(self, name):.10g}" for name in said]


SOUND = Impairment()


@dataclass(frozen=True)
class RelayedWire:
    """A link that is a relay."""

    link: str
    rate_mbit_per_s: float
    latency_us: float
    shared: bool
    ports: tuple[str, ...]
    """`PID:INTERFACE`, with process numbers inside the lab."""
    impairment: Impairment = SOUND

    def arguments(self, statistics: str) -> list[str]:
        """Return the command line of the relay."""
        return [
            f"--rate-mbit={self.rate_mbit_per_s:.10g}",
            f"--latency-us={self.latency_us:.10g}",
            *self.impairment.arguments(),
            *(["--shared"] if self.shared else []),
            f"--statistics={statistics}",
            *self.ports,
        ]


@dataclass
class Wiring:
    """Commands in this order: links, then relays, then `joined` and the hosts, then the buckets."""

    links: list[str] = field(default_factory=list)
    """For `ip` in the fabric."""
    relays: list[RelayedWire] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
    """For `ip` in the fabric, once the devices of the relays exist."""
    hosts: dict[str, list[str]] = field(default_factory=dict)
    """For `ip` on each host."""
    routes: dict[str, list[str]] = field(default_factory=dict)
    """For `ip` on each host; may fail without consequences."""
    buckets: list[str] = field(default_factory=list)
    """For `tc` in the fabric."""
    host_buckets: dict[str, list[str]] = field(default_factory=dict)
    """For `tc` on each host."""


def wire(lab: Lab, pids: Mapping[str, int]) -> Wiring:
    """Return the wiring of a lab whose hosts are these processes."""
    wiring = Wiring()
    wiring.links = [_bridge("management"), *(_bridge(bridge_of(lab, name)) for name in lab.switches())]
    for number, host in enumerate(lab.hosts()):
        _manage(wiring, host, number, pids[host.name])
        _plug_in(wiring, lab, host, pids[host.name])
    for number in range(len(lab.trunk)):
        _join(wiring, lab, number)
    for switch in lab.switches():
        _share(wiring, lab, switch, pids)
    return wiring


def port(lab: Lab, name: str, pid: int, impairment: Impairment = SOUND) -> Wiring:
    """Return the commands that replace the port of a host; with an impairment it is a relay."""
    wiring = Wiring()
    _plug_in(wiring, lab, next(host for host in lab.hosts() if host.name == name), pid, impairment)
    return wiring


def trunk(lab: Lab, number: int, impairment: Impairment = SOUND) -> Wiring:
    """Return the commands that replace a trunk; with an impairment it is a relay."""
    wiring = Wiring()
    _join(wiring, lab, number, impairment)
    return wiring


def bridge_of(lab: Lab, switch: str) -> str:
    """Return the bridge of a switch; interface names must be short."""
    return f"switch{lab.switches().index(switch)}"


def port_of(lab: Lab, host: str) -> str:
    """Return the fabric end of the port of a host."""
    return f"port{[lab_host.name for lab_host in lab.hosts()].index(host)}"


def trunk_ends(number: int) -> tuple[str, str]:
    """Return the two ends of a trunk, in the order of its `between`."""
    return f"trunk{number}a", f"trunk{number}b"


def counters(lab: Lab) -> str:
    """Return where the traffic of each trunk is counted: `FILE HERE>THERE=INTERFACE ...`, for every host."""
    links = [f"{'>'.join(line.between)}={trunk_ends(number)[0]}" for number, line in enumerate(lab.trunk)]
    return " ".join([f"/proc/{FABRIC}/net/dev", *links])


def bucket(device: str, rate_mbit_per_s: float, verb: str = "add", queue_bytes: float | None = None) -> str:
    """Return the command that shapes the traffic leaving a device.

    The bucket is as small as the rate stays exact: a frame up to 20 Mbit/s; a segment (`SEGMENT_BYTES`) up to
    200; a millisecond above, where the timer is too coarse for less. Without `queue_bytes` the queue holds a tenth
    of a second.
    """
    rate = rate_mbit_per_s * 1e6
    burst = _bucket_bytes(rate_mbit_per_s)
    queue = min(max(rate / 8 * 0.1, 128e3), 2e6) if queue_bytes is None else queue_bytes
    return f"qdisc {verb} dev {device} root tbf rate {rate:.0f}bit burst {burst:.0f} limit {queue:.0f}"


def _bucket_bytes(rate_mbit_per_s: float) -> float:
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
    return min(int(_bucket_bytes(rate_mbit_per_s) / 2), LARGEST_SEGMENT_BYTES)


def _bridge(name: str) -> str:
    return f"link add {name} up type bridge mcast_snooping 0"


def _manage(wiring: Wiring, host: LabHost, number: int, pid: int) -> None:
    wiring.links += [
        f"link add m{number} type veth peer name {MANAGEMENT} netns {pid}",
        f"link set m{number} master management up",
    ]
    wiring.hosts[host.name] = [
        "link set lo up",
        f"link set {MANAGEMENT} up",
        f"address add {host.management_address}/16 dev {MANAGEMENT}",
    ]


def _plug_in(wiring: Wiring, lab: Lab, host: LabHost, pid: int, impairment: Impairment = SOUND) -> None:
    group = lab.group_of(host.group)
    rate, plug = group.port_mbit_per_s, port_of(lab, host.name)
    joined = f"link set {plug} master {bridge_of(lab, group.plugged_into)} up"
    if lab.shared_mbit_per_s(group.plugged_into) is not None:
        pass  # its port belongs to the relay of the bus
    elif group.latency_us > 0 or impairment != SOUND:
        ports = (f"{pid}:{INTERFACE}", f"{FABRIC}:{plug}")
        shared = impairment.half_duplex > 0
        wiring.relays.append(
            RelayedWire(f"port of {host.name}", rate, group.latency_us, shared, ports, impairment)
        )
        wiring.joined.append(joined)
    else:
        wiring.links += [f"link add {plug} type veth peer name {INTERFACE} netns {pid}", joined]
        wiring.buckets.append(bucket(plug, rate))
        wiring.host_buckets[host.name] = [bucket(INTERFACE, rate)]
        size = segment_bytes(rate)
        wiring.hosts.setdefault(host.name, []).append(f"link set {INTERFACE} gso_max_size {size}")
    wiring.hosts.setdefault(host.name, []).extend(
        [
            f"link set {INTERFACE} address {_hardware_address(host)} up",
            f"address add {host.data_address}/16 dev {INTERFACE}",
        ]
    )
    # The default congestion control may pace by its own estimate of the rate.
    way = f"10.77.0.0/16 dev {INTERFACE} proto kernel scope link src {host.data_address}"
    wiring.routes[host.name] = [f"route replace {way} congctl cubic"]


def _hardware_address(host: LabHost) -> str:
    """Return the address of a port, which stays when the port is replaced, since others remember it."""
    group, number = map(int, host.data_address.split(".")[2:])
    return f"02:00:0a:4d:{group:02x}:{number:02x}"


def _join(wiring: Wiring, lab: Lab, number: int, impairment: Impairment = SOUND) -> None:
    line = lab.trunk[number]
    ends = trunk_ends(number)
    masters = [
        f"link set {end} master {bridge_of(lab, switch)} up"
        for end, switch in zip(ends, line.between, strict=True)
    ]
    if line.latency_us > 0 or line.duplex == "half" or impairment != SOUND:
        name, shared = f"trunk {line.name}", line.duplex == "half" or impairment.half_duplex > 0
        ports = (f"{FABRIC}:{ends[0]}", f"{FABRIC}:{ends[1]}")
        wiring.relays.append(RelayedWire(name, line.total_mbit_per_s, line.latency_us, shared, ports, impairment))
        wiring.joined += masters
    else:
        wiring.links += [f"link add {ends[0]} type veth peer name {ends[1]}", *masters]
        wiring.buckets += [bucket(end, line.total_mbit_per_s) for end in ends]


def _share(wiring: Wiring, lab: Lab, switch: str, pids: Mapping[str, int]) -> None:
    """Put all hosts of a bus, and its uplink, on one relay."""
    rate = lab.shared_mbit_per_s(switch)
    if rate is None:
        return
    groups = [group for group in lab.group if group.plugged_into == switch]
    here = [host for host in lab.hosts() if host.group in {group.name for group in groups}]
    ports = [f"{pids[host.name]}:{INTERFACE}" for host in here]
    if any(switch in trunk.between for trunk in lab.trunk):
        uplink = "up" + bridge_of(lab, switch)
        ports.append(f"{FABRIC}:{uplink}")
        wiring.joined.append(f"link set {uplink} master {bridge_of(lab, switch)} up")
    latency = max((group.latency_us for group in groups), default=0.0)
    wiring.relays.append(RelayedWire(f"bus {switch}", rate, latency, True, tuple(ports)))
