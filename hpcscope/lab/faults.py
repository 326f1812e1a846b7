"""Fault injection in a lab.

A port or trunk is slow or dead, has another queue, loses, duplicates, reorders or corrupts frames, silently drops
large packets, stops now and then, or polices connections, in one direction or both, or is half-duplex. A host is
slow or stopped. A storage server is dead; its disk is slow or full.
"""

import sys
from pathlib import Path

from hpcscope.errors import ScopeError, UsageError
from hpcscope.lab import storage, wiring
from hpcscope.lab.active import Fault
from hpcscope.lab.emulation import carry, say
from hpcscope.lab.entry import Emulation
from hpcscope.settings.fault import Direction

THROTTLE = Path(__file__).with_name("throttle.py")
MOST_QUEUE_BYTES = 100_000_000


def faulty_link(
    emulation: Emulation, where: str, kind: str, value: float = 0.0, direction: Direction = "both"
) -> Emulation:
    """Disturb the port of a host, or a trunk, in addition to its present faults; established connections stay.

    `kind` is slow, queue, dead, half-duplex or one of `wiring.IMPAIRMENTS`.
    """
    state, name = emulation.state, f"lab {emulation.state.name}: {where}"
    fault = Fault(where=where, kind=kind, value=value, direction=direction)
    bus, rate = _link(emulation, where)
    if bus and kind in ("slow", "queue", "half-duplex"):
        raise UsageError(f"{name}: is on a bus, so it has no rate and no queue of its own")
    if kind == "slow" and value > rate:
        raise UsageError(f"{name}: --rate {value:g}: must be at most {rate:g} Mbit/s, the declared rate")
    if kind == "half-duplex" and direction != "both":
        raise UsageError(f"--direction {direction}: must be both with --half-duplex")
    # A segment larger than the queue would never pass.
    fastest = max(group.port_mbit_per_s for group in state.description.group)
    least = 10_000 if fastest <= wiring.FASTEST_SEGMENTED_MBIT else 70_000
    if kind == "queue" and not least <= value <= MOST_QUEUE_BYTES:
        raise UsageError(f"--queue {value:g}: must be from {least} to {MOST_QUEUE_BYTES} bytes in this lab")
    others = [one for one in state.faults if (one.where, one.kind, one.direction) != (where, kind, direction)]
    return _with_faults(emulation, [*others, fault])


def _link(emulation: Emulation, where: str) -> tuple[bool, float]:
    """Return whether a link is on a bus, and its declared rate in Mbit/s.

    Raises UsageError for what is neither a host nor a trunk.
    """
    lab = emulation.state.description
    for line in lab.trunk:
        if line.name == where:
            return False, line.total_mbit_per_s
    for host in lab.hosts():
        if host.name == where:
            group = lab.group_of(host.group)
            return lab.shared_mbit_per_s(group.plugged_into) is not None, group.port_mbit_per_s
    links = ", ".join([*(host.name for host in lab.hosts()), *(line.name for line in lab.trunk)])
    raise UsageError(f"lab {emulation.state.name}: {where}: must be one of {links}")


def _with_faults(emulation: Emulation, faults: list[Fault]) -> Emulation:
    """Give the links of a lab exactly these faults; return the lab with them recorded."""
    state = emulation.state
    pids = {host.name: host.pid for host in state.hosts}
    before, after = (wiring.wire(state.description, pids, each) for each in (state.faults, faults))
    if before.ways != after.ways:
        carry(emulation, after.ways)
    for place, lines in after.buckets.items():
        say(emulation, place, "tc", [line for line in lines if line not in before.buckets[place]])
    return emulation.kept(state.model_copy(update={"faults": faults}))


def slow_host(emulation: Emulation, host: str, share: float) -> Emulation:
    """Stop the processes of a host for a fraction of the time; 1: all the time."""
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
        if fault.kind in ("slow-host", "stopped"):
            emulation.run(None, ["kill", str(fault.pid)])
        elif fault.kind in ("dead-server", "full-disk", "slow-disk"):
            _repair_storage(emulation, fault)
    return _with_faults(emulation, [])


def _repair_storage(emulation: Emulation, fault: Fault) -> None:
    declared = emulation.state.description.storage
    if fault.kind == "dead-server":
        storage.restart_server(emulation, fault.where)
    elif fault.kind == "full-disk":
        storage.empty_disk(emulation, fault.where)
    else:
        storage.throttle_disk(emulation, fault.where, declared.disk_mb_per_s if declared else 0)


def _noted(emulation: Emulation, fault: Fault) -> Emulation:
    return emulation.kept(emulation.state.model_copy(update={"faults": [*emulation.state.faults, fault]}))


def _pid(emulation: Emulation, host: str) -> int:
    known = emulation.state.host(host)
    if known is None:
        names = ", ".join(up_host.name for up_host in emulation.state.hosts)
        raise UsageError(f"lab {emulation.state.name}: host {host}: must be one of {names}")
    return known.pid
