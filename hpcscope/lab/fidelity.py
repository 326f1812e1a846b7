"""Whether a lab is faithful: a TCP stream measures each kind of port, every bus and every trunk."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import psutil

from hpcscope.errors import ScopeError
from hpcscope.lab.description import Lab, LabHost, Trunk
from hpcscope.lab.entry import Emulation
from hpcscope.machine.machine import EmulatedLink

STREAM = Path(__file__).with_name("stream.py")
SHORTEST_S = 0.5
SLOWEST_BYTES = 512e3
"""Bytes that a slow link must carry at least: bytes in its queue must not count."""
PAYLOAD_SHARE = 1448 / 1514
"""Payload share of a full Ethernet frame without preamble and checksum: TCP with timestamps over IPv4."""
SHARED_PAYLOAD_SHARE = 2 * 1448 / (2 * 1514 + 66)
"""Fraction where the acknowledgement of every second frame uses the same medium."""
TOLERANCE = 0.03
BUSY = 0.9
"""Processor utilization from which a slow link is attributed to the processors."""
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class LinkProbe:
    """Two hosts between which one link is the narrowest."""

    link: str
    sender: LabHost
    receiver: LabHost
    mbit_per_s: float
    shared: bool = False
    """Whether both directions share the medium."""

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


def check(emulation: Emulation, probe: LinkProbe) -> EmulatedLink:
    """Measure one link; ScopeError when the hosts cannot communicate."""
    declared = probe.payload_bytes_per_s
    seconds = max(SHORTEST_S, SLOWEST_BYTES / declared)
    python = [sys.executable, "-I", "-S", str(STREAM)]
    before = _processors()
    receiver = emulation.started(probe.receiver.name, [*python, "receive", probe.receiver.data_address])
    try:
        assert receiver.stdout is not None
        port = receiver.stdout.readline().strip()
        words = ["send", probe.receiver.data_address, port, f"{seconds:.3f}"]
        sent = emulation.run(probe.sender.name, [*python, *words], timeout=TIMEOUT_S)
        output, errors = receiver.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise ScopeError(f"lab {emulation.state.name}: {probe.link} carries nothing") from error
    finally:
        receiver.kill()
    if sent.returncode != 0 or receiver.returncode != 0:
        lines = (sent.stderr + errors).splitlines()
        raise ScopeError(f"lab {emulation.state.name}: {probe.link}: {lines[-1] if lines else 'no stream'}")
    stream = json.loads(output)
    return EmulatedLink(
        link=probe.link,
        declared_bytes_per_s=declared,
        measured_bytes_per_s=stream["bytes"] / stream["seconds"],
        processor_share=_share(before, _processors()),
    )


def faithful(link: EmulatedLink) -> bool:
    """Say whether a link has its declared rate."""
    return abs(link.deviation) <= TOLERANCE


def lacks_processors(link: EmulatedLink) -> bool:
    """Say whether a link is slow because the processors that emulate it were busy."""
    return link.processor_share > BUSY and link.deviation < 0


def _ports(lab: Lab) -> Iterator[LinkProbe]:
    for group in lab.group:
        members = [host for host in lab.hosts() if host.group == group.name]
        if len(members) < 2:
            continue
        shared = lab.shared_mbit_per_s(group.plugged_into)
        link = f"ports of {group.name}" if shared is None else f"bus {group.plugged_into}"
        yield LinkProbe(link, members[0], members[1], shared or group.port_mbit_per_s, shared is not None)


def _trunks(lab: Lab) -> Iterator[LinkProbe]:
    for trunk in lab.trunk:
        for sender, receiver in _across(lab, trunk):
            if _narrowest(lab, sender, receiver) >= trunk.total_mbit_per_s:
                rate, half = trunk.total_mbit_per_s, trunk.duplex == "half"
                yield LinkProbe(f"trunk {trunk.name}", sender, receiver, rate, half)
                break


def _across(lab: Lab, trunk: Trunk) -> Iterator[tuple[LabHost, LabHost]]:
    """Return pairs of hosts whose path crosses a trunk: the first hosts of each pair of groups."""
    first = {host.group: host for host in reversed(lab.hosts())}
    for one, other in permutations(lab.group, 2):
        if trunk in lab.way(one.plugged_into, other.plugged_into):
            yield first[one.name], first[other.name]


def _narrowest(lab: Lab, lab_host: LabHost, other: LabHost) -> float:
    groups = [lab.group_of(host.group) for host in (lab_host, other)]
    rates = [lab.shared_mbit_per_s(group.plugged_into) or group.port_mbit_per_s for group in groups]
    trunks = lab.way(groups[0].plugged_into, groups[1].plugged_into)
    return min(rates + [trunk.total_mbit_per_s for trunk in trunks])


def _processors() -> tuple[float, float]:
    """Return busy and total seconds of all processors so far."""
    times = psutil.cpu_times()
    total = sum(times) - times.guest - times.guest_nice  # guests are part of user and nice
    return total - times.idle - times.iowait, total


def _share(before: tuple[float, float], after: tuple[float, float]) -> float:
    total = after[1] - before[1]
    return (after[0] - before[0]) / total if total else 0.0
