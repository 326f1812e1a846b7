"""Fault injection in a lab.

A port or trunk is slow, in one direction or both, half duplex or dead, has another queue, loses, duplicates,
reorders or corrupts frames, silently drops large packets, stops now and then, or polices connections; a host is
slow or stopped; a storage server is dead, its disk slow or full.
"""

import sys
from dataclasses import replace
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


def slow_port(emulation: Emulation, host: str, mbit_per_s: float, direction: Direction = "both") -> Emulation:
    """Change the rate of a port; in one direction only it looks like a duplex mismatch."""
    pid = _pid(emulation, host)
    end = wiring.port_of(emulation.state.description, host)
    slow = Fault(where=host, kind="slow", value=mbit_per_s, direction=direction)
    if not _is_bucketed(emulation, end):
        again = wiring.port(emulation.state.description, host, pid)
        return _noted(_slower_relay(emulation, end, again, slow), slow)
    _shape(emulation, host, INTERFACE if direction != "in" else None, mbit_per_s)
    _shape(emulation, None, end if direction != "out" else None, mbit_per_s)
    return _noted(emulation, slow)


def slow_trunk(emulation: Emulation, trunk: str, mbit_per_s: float, direction: Direction = "both") -> Emulation:
    """Change the rate of a trunk; in one direction only its rates are asymmetric."""
    number = _trunk(emulation, trunk)
    ends = wiring.trunk_ends(number)
    slow = Fault(where=trunk, kind="slow", value=mbit_per_s, direction=direction)
    if not _is_bucketed(emulation, ends[0]):
        again = wiring.trunk(emulation.state.description, number)
        return _noted(_slower_relay(emulation, ends[0], again, slow), slow)
    for end in {"both": ends, "out": ends[:1], "in": ends[1:]}[direction]:
        _shape(emulation, None, end, mbit_per_s)
    return _noted(emulation, slow)


def _slower_relay(emulation: Emulation, device: str, wire: wiring.Wiring, slow: Fault) -> Emulation:
    """Replace a relay by one of another rate; established connections break."""
    others = any(fault.where == slow.where and fault.kind != "slow" for fault in emulation.state.faults)
    if not wire.relays or others:
        raise _relayed(emulation, slow.where)
    if slow.direction != "both":
        raise UsageError(
            f"lab {emulation.state.name}: {slow.where}: --direction {slow.direction}: must be both for a link with"
            " latency or half duplex, which has one rate"
        )
    relays = [replace(relay, rate_mbit_per_s=slow.value) for relay in wire.relays]
    return lay(_without_relay(emulation, device), replace(wire, relays=relays))


def queued_port(emulation: Emulation, host: str, queue_bytes: float) -> Emulation:
    """Change the length of the queues at both ends of a port, at its declared rate."""
    end = _own_port(emulation, host)
    return _queued(emulation, host, [(None, end), (host, INTERFACE)], _port_rate(emulation, host), queue_bytes)


def queued_trunk(emulation: Emulation, trunk: str, queue_bytes: float) -> Emulation:
    """Change the length of the queues at both ends of a trunk, at its declared rate."""
    number = _bucketed_trunk(emulation, trunk)
    rate = emulation.state.description.trunk[number].total_mbit_per_s
    return _queued(emulation, trunk, [(None, end) for end in wiring.trunk_ends(number)], rate, queue_bytes)


def _queued(
    emulation: Emulation, where: str, ends: list[tuple[str | None, str]], rate: float, queue_bytes: float
) -> Emulation:
    # A segment that the queue could not hold would never pass.
    fastest = max(group.port_mbit_per_s for group in emulation.state.description.group)
    least = 10_000 if fastest <= wiring.FASTEST_SEGMENTED_MBIT else 70_000
    if not least <= queue_bytes <= MOST_QUEUE_BYTES:
        raise UsageError(f"--queue {queue_bytes:g}: must be from {least} to {MOST_QUEUE_BYTES} bytes in this lab")
    if any((fault.where, fault.kind) == (where, "slow") for fault in emulation.state.faults):
        raise UsageError(
            f"lab {emulation.state.name}: {where}: its rate was changed before; --clear removes all faults"
        )
    for host, device in ends:
        say(emulation, host, "tc", [wiring.bucket(device, rate, "replace", queue_bytes)])
    return _noted(emulation, Fault(where=where, kind="queue", value=queue_bytes))


def impaired_port(emulation: Emulation, host: str, kind: str, value: float) -> Emulation:
    """Impair a port (`IMPAIRMENTS`); established connections break."""
    end = _own_port(emulation, host)
    say(emulation, None, "ip", [f"link delete {end}"])
    pid = _pid(emulation, host)
    emulation = lay(emulation, wiring.port(emulation.state.description, host, pid, _impairment(kind, value)))
    return _noted(emulation, Fault(where=host, kind=kind, value=value))


def impaired_trunk(emulation: Emulation, trunk: str, kind: str, value: float) -> Emulation:
    """Impair a trunk (`IMPAIRMENTS`)."""
    number = _bucketed_trunk(emulation, trunk)
    say(emulation, None, "ip", [f"link delete {wiring.trunk_ends(number)[0]}"])
    emulation = lay(emulation, wiring.trunk(emulation.state.description, number, _impairment(kind, value)))
    return _noted(emulation, Fault(where=trunk, kind=kind, value=value))


def _impairment(kind: str, value: float) -> wiring.Impairment:
    return wiring.Impairment(**{IMPAIRMENTS[kind]: value})


def dead_port(emulation: Emulation, host: str) -> Emulation:
    """Disconnect a host."""
    say(emulation, None, "ip", [f"link set {_own_port(emulation, host)} down"])
    return _noted(emulation, Fault(where=host, kind="dead"))


def dead_trunk(emulation: Emulation, trunk: str) -> Emulation:
    """Cut a trunk."""
    say(emulation, None, "ip", [f"link set {wiring.trunk_ends(_trunk(emulation, trunk))[0]} down"])
    return _noted(emulation, Fault(where=trunk, kind="dead"))


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
    lab = emulation.state.description
    if fault.kind in ("slow-host", "stopped"):
        emulation.run(None, ["kill", str(fault.pid)])
        return emulation
    if fault.kind in ("dead-server", "full-disk", "slow-disk"):
        _repair_storage(emulation, fault)
        return emulation
    if emulation.state.host(fault.where) is not None:
        end = wiring.port_of(lab, fault.where)
        ends, rate = [(None, end), (fault.where, INTERFACE)], _port_rate(emulation, fault.where)
        again = wiring.port(lab, fault.where, _pid(emulation, fault.where))
    else:
        number = _trunk(emulation, fault.where)
        end, rate = wiring.trunk_ends(number)[0], lab.trunk[number].total_mbit_per_s
        ends, again = [(None, each) for each in wiring.trunk_ends(number)], wiring.trunk(lab, number)
    if fault.kind == "dead":
        say(emulation, None, "ip", [f"link set {end} up"])
    elif fault.kind in IMPAIRMENTS or (fault.kind == "slow" and again.relays):
        return lay(_without_relay(emulation, end), again)
    elif fault.kind in ("slow", "queue"):
        for host, device in ends:
            _shape(emulation, host, device, rate)
    return emulation


def _repair_storage(emulation: Emulation, fault: Fault) -> None:
    declared = emulation.state.description.storage
    if fault.kind == "dead-server":
        storage.restart_server(emulation, fault.where)
    elif fault.kind == "full-disk":
        storage.empty_disk(emulation, fault.where)
    else:
        storage.throttle_disk(emulation, fault.where, declared.disk_mb_per_s if declared else 0)


def _without_relay(emulation: Emulation, device: str) -> Emulation:
    """End the relay of a device; its devices disappear with it."""
    gone = [relay for relay in emulation.state.relays if _carries(emulation, relay.pid, device)]
    for one in gone:
        emulation.run(
            None, ["sh", "-c", 'kill "$0" && while kill -0 "$0" 2>/dev/null; do sleep 0.01; done', str(one.pid)]
        )
    kept = [relay for relay in emulation.state.relays if relay not in gone]
    return emulation.kept(emulation.state.model_copy(update={"relays": kept}))


def _carries(emulation: Emulation, pid: int, device: str) -> bool:
    words = emulation.run(None, ["cat", f"/proc/{pid}/cmdline"]).stdout.split("\0")
    return any(word.endswith(f":{device}") for word in words)


def _shape(emulation: Emulation, host: str | None, device: str | None, mbit_per_s: float) -> None:
    if device is not None:
        say(emulation, host, "tc", [wiring.bucket(device, mbit_per_s, "replace")])


def _noted(emulation: Emulation, fault: Fault) -> Emulation:
    return emulation.kept(emulation.state.model_copy(update={"faults": [*emulation.state.faults, fault]}))


def _pid(emulation: Emulation, host: str) -> int:
    known = emulation.state.host(host)
    if known is None:
        names = ", ".join(up_host.name for up_host in emulation.state.hosts)
        raise UsageError(f"lab {emulation.state.name}: host {host}: must be one of {names}")
    return known.pid


def _port_rate(emulation: Emulation, host: str) -> float:
    return emulation.state.description.group_of(host.rstrip("0123456789")).port_mbit_per_s


def _own_port(emulation: Emulation, host: str) -> str:
    """Return the fabric end of a port that is a pair of shaped devices."""
    _pid(emulation, host)
    _refuse_relayed(emulation, wiring.port_of(emulation.state.description, host), host)
    return wiring.port_of(emulation.state.description, host)


def _bucketed_trunk(emulation: Emulation, trunk: str) -> int:
    number = _trunk(emulation, trunk)
    _refuse_relayed(emulation, wiring.trunk_ends(number)[0], trunk)
    return number


def _is_bucketed(emulation: Emulation, device: str) -> bool:
    """Say whether the kernel shapes a link, not a relay."""
    return emulation.run(None, ["tc", "qdisc", "show", "dev", device]).stdout.startswith("qdisc tbf")


def _refuse_relayed(emulation: Emulation, device: str, where: str) -> None:
    if not _is_bucketed(emulation, device):
        raise _relayed(emulation, where)


def _relayed(emulation: Emulation, where: str) -> UsageError:
    return UsageError(
        f"lab {emulation.state.name}: {where}: uses a relay (a bus, latency, another fault), which takes no such"
        " fault: --clear the other one, or change the lab file"
    )


def _trunk(emulation: Emulation, name: str) -> int:
    names = [trunk.name for trunk in emulation.state.description.trunk]
    if name not in names:
        allowed = ", ".join(names) or "none, this lab has no trunk"
        raise UsageError(f"lab {emulation.state.name}: trunk {name}: must be one of {allowed}")
    return names.index(name)
