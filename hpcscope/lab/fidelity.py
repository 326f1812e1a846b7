"""Whether a lab is faithful: a TCP stream and messages measure each kind of port, every bus and every trunk."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import psutil

from hpcscope.errors import ScopeError
from hpcscope.lab.description import Group, Lab, LabHost, Trunk
from hpcscope.lab.entry import Emulation
from hpcscope.lab.wiring import queue_bytes
from hpcscope.machine.machine import EmulatedLink, EmulatedMessage

STREAM = Path(__file__).with_name("stream.py")
SHORTEST_S = 0.5
SLOWEST_BYTES = 512e3
"""Fewest bytes that a slow link must carry, so that bytes in its queue do not count."""
SEGMENT_BYTES, HEADER_BYTES = 1448, 66
"""Payload and headers of a full Ethernet frame as an interface counts them: TCP with timestamps over IPv4, without
preamble, checksum and gap."""
PAYLOAD_SHARE = SEGMENT_BYTES / (SEGMENT_BYTES + HEADER_BYTES)
SHARED_PAYLOAD_SHARE = 2 * SEGMENT_BYTES / (2 * (SEGMENT_BYTES + HEADER_BYTES) + HEADER_BYTES)
"""Fraction of payload if the acknowledgments, one per two frames, use the same medium."""
MESSAGES_BYTES = (64, 1024, 10_000, 1 << 20)
SHORT_BYTES, FASTEST_SHORT_MBIT = 64, 100
"""On faster links a message of this few bytes takes less time than a program's clock can resolve."""
LONGEST_S = 0.1
"""Longest time of a message: larger messages are left to the stream."""
LEAST_DEVIATION = -0.5
"""Lowest deviation with messages: a slower link has a fault, and messages would take too long."""
TOLERANCE = 0.03
BUSY = 0.9
"""Processor utilization above which a slow link is attributed to the processors."""
TIMEOUT_S = 30.0


class Hop(NamedTuple):
    """A link on the path between two hosts, which a frame crosses before it begins the next one."""

    mbit_per_s: float
    latency_us: float = 0.0
    shared: bool = False


@dataclass(frozen=True)
class LinkProbe:
    """Two hosts between which one link is the narrowest."""

    link: str
    sender: LabHost
    receiver: LabHost
    mbit_per_s: float
    hops: tuple[Hop, ...]
    shared: bool = False
    """Whether both directions share the medium."""

    @property
    def messages_bytes(self) -> list[int]:
        """The sizes of the messages that are measured."""
        least = SHORT_BYTES if self.mbit_per_s <= FASTEST_SHORT_MBIT else SHORT_BYTES + 1
        return [size for size in MESSAGES_BYTES if size >= least and wire_s(self.hops, size) <= LONGEST_S]

    @property
    def payload_bytes_per_s(self) -> float:
        """The TCP rate of a faithful link."""
        return self.mbit_per_s * 1e6 / 8 * (SHARED_PAYLOAD_SHARE if self.shared else PAYLOAD_SHARE)


def probes(lab: Lab) -> list[LinkProbe]:
    """Return one probe for the ports of each group, each bus and each trunk that two hosts can fill."""
    return [*_ports(lab), *_trunks(lab)]


def check_all(emulation: Emulation, progress: Callable[[str], None]) -> Emulation:
    """Measure every link; return the lab with its checks recorded. `progress` is told each link."""
    measured = []
    for probe in probes(emulation.state.description):
        progress(probe.link)
        measured.append(check(emulation, probe))
    return emulation.kept(emulation.state.model_copy(update={"checks": measured}))


def wire_s(hops: Sequence[Hop], size: int) -> float:
    """Return the one-way time of a message in seconds by frame arithmetic, store and forward."""
    full, rest = divmod(size, SEGMENT_BYTES)
    frames = [SEGMENT_BYTES + HEADER_BYTES] * full + [rest + HEADER_BYTES] * (rest > 0)
    crossed, arrived = [0.0] * len(hops), 0.0
    for number, frame in enumerate(frames, 1):
        arrived = 0.0
        for place, hop in enumerate(hops):
            answered = hop.shared and number % 2 == 0 and number < len(frames)
            bits = 8 * (frame + HEADER_BYTES * answered)
            crossed[place] = max(crossed[place], arrived) + bits / (hop.mbit_per_s * 1e6)
            arrived = crossed[place] + hop.latency_us * 1e-6
    return arrived


def check(emulation: Emulation, probe: LinkProbe) -> EmulatedLink:
    """Measure one link by a stream and, if it is fast enough, by messages; ScopeError if it carries nothing."""
    link = streamed(emulation, probe)
    if not probe.messages_bytes or link.deviation < LEAST_DEVIATION:
        return link
    least, *messages = exchanged(emulation, probe, [1, *probe.messages_bytes])
    return link.model_copy(update={"messages": messages, "overhead_s": least.measured_s - least.wire_s})


def streamed(emulation: Emulation, probe: LinkProbe) -> EmulatedLink:
    """Measure the rate of a stream over one link; ScopeError if the hosts cannot communicate."""
    declared = probe.payload_bytes_per_s
    seconds = max(SHORTEST_S, SLOWEST_BYTES / declared)
    before = _processors()
    latency_s = sum(hop.latency_us for hop in probe.hops) * 1e-6
    buffer = queue_bytes(probe.mbit_per_s) / 2 + 2 * latency_s * declared
    received, _ = _ends(emulation, probe, "receive", [], "send", [f"{seconds:.3f}", f"{buffer:.0f}"])
    stream = json.loads(received)
    return EmulatedLink(
        link=probe.link,
        declared_bytes_per_s=declared,
        measured_bytes_per_s=stream["bytes"] / stream["seconds"],
        processor_share=_share(before, _processors()),
    )


def exchanged(emulation: Emulation, probe: LinkProbe, sizes: Sequence[int]) -> list[EmulatedMessage]:
    """Return the least one-way time of messages of each of these sizes, in ping-pongs."""
    words = [str(size) for size in sizes]
    times = json.loads(_ends(emulation, probe, "answer", words, "ask", words)[1])
    return [
        EmulatedMessage(bytes=size, wire_s=wire_s(probe.hops, size), measured_s=measured_s)
        for size, measured_s in zip(sizes, times, strict=True)
    ]


def _ends(
    emulation: Emulation, probe: LinkProbe, here: str, given: Sequence[str], there: str, told: Sequence[str]
) -> tuple[str, str]:
    """Run the program on the receiver and the sender of a probe, and return what both printed."""
    python = [sys.executable, "-I", "-S", str(STREAM)]
    address = probe.receiver.data_address
    receiver = emulation.started(probe.receiver.name, [*python, here, address, *given])
    try:
        assert receiver.stdout is not None
        port = receiver.stdout.readline().strip()
        sent = emulation.run(probe.sender.name, [*python, there, address, port, *told], timeout=TIMEOUT_S)
        output, errors = receiver.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise ScopeError(f"lab {emulation.state.name}: {probe.link}: no data got through") from error
    finally:
        receiver.kill()
    if sent.returncode != 0 or receiver.returncode != 0:
        lines = (sent.stderr + errors).splitlines()
        raise ScopeError(f"lab {emulation.state.name}: {probe.link}: {lines[-1] if lines else 'no stream'}")
    return output, sent.stdout


def faithful(link: EmulatedLink) -> bool:
    """Return whether a link has its declared rate, for a stream and for messages."""
    return abs(link.worst[1]) <= TOLERANCE


def lacks_processors(link: EmulatedLink) -> bool:
    """Return whether a link is slow because the processors that emulate it were busy."""
    return link.processor_share > BUSY and link.worst[1] < 0


def _ports(lab: Lab) -> Iterator[LinkProbe]:
    for group in lab.group:
        members = [host for host in lab.hosts() if host.group == group.name]
        if len(members) < 2:
            continue
        shared = lab.shared_mbit_per_s(group.plugged_into)
        link = f"ports of {group.name}" if shared is None else f"bus {group.plugged_into}"
        rate, hops = shared or group.port_mbit_per_s, _hops(lab, members[0], members[1])
        yield LinkProbe(link, members[0], members[1], rate, hops, shared is not None)


def _trunks(lab: Lab) -> Iterator[LinkProbe]:
    for trunk in lab.trunk:
        for sender, receiver in _across(lab, trunk):
            hops, rate = _hops(lab, sender, receiver), trunk.total_mbit_per_s
            if min(hop.mbit_per_s for hop in hops) >= rate:
                yield LinkProbe(f"trunk {trunk.name}", sender, receiver, rate, hops, trunk.duplex == "half")
                break


def _across(lab: Lab, trunk: Trunk) -> Iterator[tuple[LabHost, LabHost]]:
    """Yield pairs of hosts whose path crosses a trunk: the first hosts of each pair of groups."""
    first = {host.group: host for host in reversed(lab.hosts())}
    for one, other in permutations(lab.group, 2):
        if trunk in lab.way(one.plugged_into, other.plugged_into):
            yield first[one.name], first[other.name]


def _hops(lab: Lab, sender: LabHost, receiver: LabHost) -> tuple[Hop, ...]:
    """Return the links between two hosts; two hosts of a bus share one."""
    here, there = (lab.group_of(host.group) for host in (sender, receiver))
    trunks = lab.way(here.plugged_into, there.plugged_into)
    first, last = (_port_hop(lab, group) for group in (here, there))
    across = [Hop(trunk.total_mbit_per_s, trunk.latency_us, trunk.duplex == "half") for trunk in trunks]
    return (first, *across) if first.shared and not trunks else (first, *across, last)


def _port_hop(lab: Lab, group: Group) -> Hop:
    bus = lab.shared_mbit_per_s(group.plugged_into)
    return Hop(bus or group.port_mbit_per_s, group.latency_us, bus is not None)


def _processors() -> tuple[float, float]:
    """Return busy and total seconds of all processors so far."""
    times = psutil.cpu_times()
    total = sum(times) - times.guest - times.guest_nice  # guest times are part of user and nice
    return total - times.idle - times.iowait, total


def _share(before: tuple[float, float], after: tuple[float, float]) -> float:
    total = after[1] - before[1]
    return (after[0] - before[0]) / total if total else 0.0
