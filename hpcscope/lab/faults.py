"""Fault injection in a lab.

A port or trunk is slow, in one direction or both, half duplex or dead, has another queue, loses, duplicates,
reorders or corrupts frames, silently drops large packets, stops now and then, or polices connections; a host is
slow or stopped; a storage server is dead, its disk slow or full.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hpcscope.errors import ScopeError, UsageError
from hpcscope.lab import storage, wiring
from hpcscope.lab.active import INTERFACE, Fault
from hpcscope.lab.emulation import lay, say
from hpcscope.lab.entry import Emulation
from hpcscope.settings.fault import Direction

THROTTLE = Path(__file__).with_name("throttle.py")


IMPAIRMENTS = {
    "lossy": "loss",
    "duplicating": "duplication",
    "reordering": "reordering",
    "corrupting": "corruption",
    "black-hole": "largest_packet_bytes",
    "pausing": "paused_ms",
    "policing": "policed_mbit_per_s",
    "half-duplex": "half_duplex",
}
"""Kinds of faults of a relay, and the field of each."""
MOST_QUEUE_BYTES = 100_000_000

End = tuple[str | None, str]
"""A host, or None for the fabric, and a device there."""


@dataclass(frozen=True)
class Link:
    """A port or trunk of a lab that is up."""

    emulation: Emulation
    where: str
    """The host, or the name of the trunk."""
    device: str
    """Its device in the fabric."""
    ends: Sequence[End]
    """What shapes its way out, and what shapes its way in (`Direction`)."""
    rate_mbit_per_s: float
    """As declared."""
    wired: Callable[..., wiring.Wiring]
    """Returns the commands that lay it again, with an impairment or without."""

    def shape(self, mbit_per_s: float, ends: Sequence[End], queue_bytes: float | None = None) -> None:
        """Give ends of a link that the kernel shapes another rate or queue."""
        for host, device in ends:
            say(self.emulation, host, "tc", [wiring.bucket(device, mbit_per_s, "replace", queue_bytes)])

    def is_bucketed(self) -> bool:
        """Say whether the kernel shapes it, not a relay."""
        shown = self.emulation.run(None, ["tc", "qdisc", "show", "dev", self.device]).stdout
        return shown.startswith("qdisc tbf")

    def refuse_relay(self) -> None:
        """Raise UsageError where it is a relay."""
        if not self.is_bucketed():
            raise _relayed(self)


def port(emulation: Emulation, host: str) -> Link:
    """Return the port of a host."""
    pid, lab = _pid(emulation, host), emulation.state.description
    end = wiring.port_of(lab, host)
    rate = lab.group_of(next(known.group for known in lab.hosts() if known.name == host)).port_mbit_per_s
    ends = [(host, INTERFACE), (None, end)]
    return Link(emulation, host, end, ends, rate, partial(wiring.port, lab, host, pid))


def trunk(emulation: Emulation, name: str) -> Link:
    """Return the trunk of a name."""
    lab = emulation.state.description
    names = [declared.name for declared in lab.trunk]
    if name not in names:
        allowed = ", ".join(names) or "none, this lab has no trunk"
        raise UsageError(f"lab {emulation.state.name}: trunk {name}: must be one of {allowed}")
    number = names.index(name)
    devices = wiring.trunk_ends(number)
    rate = lab.trunk[number].total_mbit_per_s
    ends = [(None, device) for device in devices]
    return Link(emulation, name, devices[0], ends, rate, partial(wiring.trunk, lab, number))


def slow_link(link: Link, mbit_per_s: float, direction: Direction = "both") -> Emulation:
    """Change the rate of a link; a port that is slow in one direction only looks like a duplex mismatch."""
    slow = Fault(where=link.where, kind="slow", value=mbit_per_s, direction=direction)
    if not link.is_bucketed():
        return _noted(_slower_relay(link, slow), slow)
    link.shape(mbit_per_s, {"both": link.ends, "out": link.ends[:1], "in": link.ends[1:]}[direction])
    return _noted(link.emulation, slow)


def _slower_relay(link: Link, slow: Fault) -> Emulation:
    """Replace a relay by one of another rate; established connections break."""
    state, wire = link.emulation.state, link.wired()
    others = any(fault.where == slow.where and fault.kind != "slow" for fault in state.faults)
    if not wire.relays or others:
        raise _relayed(link)
    if slow.direction != "both":
        raise UsageError(
            f"lab {state.name}: {slow.where}: --direction {slow.direction}: must be both, because a link with "
            "latency or half duplex has only one rate"
        )
    relays = [replace(relay, rate_mbit_per_s=slow.value) for relay in wire.relays]
    return lay(_without_relay(link), replace(wire, relays=relays))


def queued_link(link: Link, queue_bytes: float) -> Emulation:
    """Change the length of the queues at both ends of a link, at its declared rate."""
    link.refuse_relay()
    state = link.emulation.state
    # A segment that the queue could not hold would never pass.
    fastest = max(group.port_mbit_per_s for group in state.description.group)
    least = 10_000 if fastest <= wiring.FASTEST_SEGMENTED_MBIT else 70_000
    if not least <= queue_bytes <= MOST_QUEUE_BYTES:
        raise UsageError(f"--queue {queue_bytes:g}: must be from {least} to {MOST_QUEUE_BYTES} bytes in this lab")
    if any((fault.where, fault.kind) == (link.where, "slow") for fault in state.faults):
        raise UsageError(
            f"lab {state.name}: {link.where}: its rate was changed before; --clear removes all faults"
        )
    link.shape(link.rate_mbit_per_s, link.ends, queue_bytes)
    return _noted(link.emulation, Fault(where=link.where, kind="queue", value=queue_bytes))


def impaired_link(link: Link, kind: str, value: float) -> Emulation:
    """Impair a link (`IMPAIRMENTS`); established connections over a port break."""
    link.refuse_relay()
    say(link.emulation, None, "ip", [f"link delete {link.device}"])
    emulation = lay(link.emulation, link.wired(wiring.Impairment(**{IMPAIRMENTS[kind]: value})))
    return _noted(emulation, Fault(where=link.where, kind=kind, value=value))


def dead_link(link: Link) -> Emulation:
    """Disconnect a host, or cut a trunk."""
    if link.emulation.state.host(link.where):
        link.refuse_relay()
    say(link.emulation, None, "ip", [f"link set {link.device} down"])
    return _noted(link.emulation, Fault(where=link.where, kind="dead"))


def slow_host(emulation: Emulation, host: str, share: float) -> Emulation:
    """Stop the processes of a host for a share of the time; 1: all the time."""
    script = '"$@" >/dev/null 2>&1 & echo $!'
    words = [sys.executable, "-I", "-S", str(THROTTLE), str(_pid(emulation, host)), f"{share:g}"]
    answer = emulation.run(None, ["setsid", "sh", "-c", script, "sh", *words])
    if not answer.stdout.strip().isdigit():
        raise ScopeError(f"lab {emulation.state.name}: {host} cannot be slowed: {answer.stderr.strip()}")
    kind = "stopped" if share >= 1 else "slow-host"
    return _noted(emulation, Fault(where=host, kind=kind, value=share, pid=int(answer.stdout)))


def dead_server(emulation: Emulation, host: str) -> Emulation:
    """Kill the storage server of a host."""
    storage.refuse_without_disk(emulation, host, server=True)
    if not storage.server_lives(emulation, host):
        raise UsageError(f"lab {emulation.state.name}: {host}: its storage server is dead already")
    storage.kill_server(emulation, host)
    return _noted(emulation, Fault(where=host, kind="dead-server"))


def full_disk(emulation: Emulation, host: str) -> Emulation:
    """Leave no space on the disk of a host."""
    storage.refuse_without_disk(emulation, host)
    storage.fill_disk(emulation, host)
    return _noted(emulation, Fault(where=host, kind="full-disk"))


def slow_disk(emulation: Emulation, host: str, mb_per_s: float) -> Emulation:
    """Limit the rate of the disk of a host."""
    storage.refuse_without_disk(emulation, host)
    storage.throttle_disk(emulation, host, mb_per_s)
    return _noted(emulation, Fault(where=host, kind="slow-disk", value=mb_per_s))


def clear(emulation: Emulation) -> Emulation:
    """Remove all faults."""
    for fault in reversed(emulation.state.faults):
        emulation = _repaired(emulation, fault)
    return emulation.kept(emulation.state.model_copy(update={"faults": []}))


def _repaired(emulation: Emulation, fault: Fault) -> Emulation:
    if fault.kind in ("slow-host", "stopped"):
        emulation.run(None, ["kill", str(fault.pid)])
        return emulation
    if fault.kind in ("dead-server", "full-disk", "slow-disk"):
        _repair_storage(emulation, fault)
        return emulation
    link = (port if emulation.state.host(fault.where) is not None else trunk)(emulation, fault.where)
    if fault.kind == "dead":
        say(emulation, None, "ip", [f"link set {link.device} up"])
    elif fault.kind in IMPAIRMENTS or (fault.kind == "slow" and link.wired().relays):
        return lay(_without_relay(link), link.wired())
    elif fault.kind in ("slow", "queue"):
        link.shape(link.rate_mbit_per_s, link.ends)
    return emulation


def _repair_storage(emulation: Emulation, fault: Fault) -> None:
    declared = emulation.state.description.storage
    if fault.kind == "dead-server":
        storage.restart_server(emulation, fault.where)
    elif fault.kind == "full-disk":
        storage.empty_disk(emulation, fault.where)
    else:
        storage.throttle_disk(emulation, fault.where, declared.disk_mb_per_s if declared else 0)


def _without_relay(link: Link) -> Emulation:
    """End the relay of a link; its devices disappear with it."""
    emulation = link.emulation
    gone = [relay for relay in emulation.state.relays if _carries(emulation, relay.pid, link.device)]
    for relay in gone:
        emulation.run(
            None, ["sh", "-c", 'kill "$0" && while kill -0 "$0" 2>/dev/null; do sleep 0.01; done', str(relay.pid)]
        )
    kept = [relay for relay in emulation.state.relays if relay not in gone]
    return emulation.kept(emulation.state.model_copy(update={"relays": kept}))


def _carries(emulation: Emulation, pid: int, device: str) -> bool:
    words = emulation.run(None, ["cat", f"/proc/{pid}/cmdline"]).stdout.split("\0")
    return any(word.endswith(f":{device}") for word in words)


def _noted(emulation: Emulation, fault: Fault) -> Emulation:
    return emulation.kept(emulation.state.model_copy(update={"faults": [*emulation.state.faults, fault]}))


def _pid(emulation: Emulation, host: str) -> int:
    known = emulation.state.host(host)
    if known is None:
        names = ", ".join(up_host.name for up_host in emulation.state.hosts)
        raise UsageError(f"lab {emulation.state.name}: host {host}: must be one of {names}")
    return known.pid


def _relayed(link: Link) -> UsageError:
    return UsageError(
        f"lab {link.emulation.state.name}: {link.where}: cannot have this fault, because it uses a relay (for a "
        "bus, latency or another fault); remove the other fault (--clear), or change the lab file"
    )
