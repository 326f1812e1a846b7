"""Fault injection in a lab.

A port or trunk is slow or dead, or loses, duplicates, reorders or corrupts frames; a host is slow or stopped; a
storage server is dead, its disk slow or full.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from scope.errors import ScopeError, UsageError
from scope.lab import storage, wiring
from scope.lab.active import INTERFACE, Fault
from scope.lab.emulation import lay, say
from scope.lab.entry import Emulation

THROTTLE = Path(__file__).with_name("throttle.py")
IMPAIRMENTS = {
    "lossy": "loss",
    "duplicating": "duplication",
    "reordering": "reordering",
    "corrupting": "corruption",
}
"""Kinds of faults of a relay, and the share of frames of each."""
Direction = Literal["both", "in", "out"]
"""Direction of a port: to the host, or from it."""


def slow_port(emulation: Emulation, host: str, mbit_per_s: float, direction: Direction = "both") -> Emulation:
    """Change the rate of a port; in one direction only it looks like a duplex mismatch."""
    end = _own_port(emulation, host)
    _shape(emulation, host, INTERFACE if direction != "in" else None, mbit_per_s)
    _shape(emulation, None, end if direction != "out" else None, mbit_per_s)
    return _noted(emulation, Fault(where=host, kind="slow", value=mbit_per_s, direction=direction))


def slow_trunk(emulation: Emulation, trunk: str, mbit_per_s: float) -> Emulation:
    """Change the rate of a trunk in both directions."""
    for end in wiring.trunk_ends(_bucketed_trunk(emulation, trunk)):
        _shape(emulation, None, end, mbit_per_s)
    return _noted(emulation, Fault(where=trunk, kind="slow", value=mbit_per_s))


def impaired_port(emulation: Emulation, host: str, kind: str, share: float) -> Emulation:
    """Lose, duplicate, reorder or corrupt a share of the frames on a port; established connections break."""
    end = _own_port(emulation, host)
    say(emulation, None, "ip", [f"link delete {end}"])
    pid = _pid(emulation, host)
    emulation = lay(emulation, wiring.port(emulation.state.description, host, pid, _impairment(kind, share)))
    return _noted(emulation, Fault(where=host, kind=kind, value=share))


def impaired_trunk(emulation: Emulation, trunk: str, kind: str, share: float) -> Emulation:
    """Lose, duplicate, reorder or corrupt a share of the frames on a trunk."""
    number = _bucketed_trunk(emulation, trunk)
    say(emulation, None, "ip", [f"link delete {wiring.trunk_ends(number)[0]}"])
    emulation = lay(emulation, wiring.trunk(emulation.state.description, number, _impairment(kind, share)))
    return _noted(emulation, Fault(where=trunk, kind=kind, value=share))


def _impairment(kind: str, share: float) -> wiring.Impairment:
    return wiring.Impairment(**{IMPAIRMENTS[kind]: share})


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
        end, group = wiring.port_of(lab, fault.where), fault.where.rstrip("0123456789")
        ends, rate = [(None, end), (fault.where, INTERFACE)], lab.group_of(group).port_mbit_per_s
        again = wiring.port(lab, fault.where, _pid(emulation, fault.where))
    else:
        number = _trunk(emulation, fault.where)
        end, rate = wiring.trunk_ends(number)[0], lab.trunk[number].total_mbit_per_s
        ends, again = [(None, each) for each in wiring.trunk_ends(number)], wiring.trunk(lab, number)
    if fault.kind == "dead":
        say(emulation, None, "ip", [f"link set {end} up"])
    elif fault.kind == "slow":
        for host, device in ends:
            _shape(emulation, host, device, rate)
    elif fault.kind in IMPAIRMENTS:
        return lay(_without_relay(emulation, end), again)
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
    gone = [one for one in emulation.state.relays if _carries(emulation, one.pid, device)]
    for one in gone:
        emulation.run(
            None, ["sh", "-c", 'kill "$0" && while kill -0 "$0" 2>/dev/null; do sleep 0.01; done', str(one.pid)]
        )
    kept = [one for one in emulation.state.relays if one not in gone]
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
        names = ", ".join(one.name for one in emulation.state.hosts)
        raise UsageError(f"lab {emulation.state.name}: host {host}: must be one of {names}")
    return known.pid


def _own_port(emulation: Emulation, host: str) -> str:
    """Return the fabric end of a port that is a pair of shaped devices."""
    _pid(emulation, host)
    _refuse_relayed(emulation, wiring.port_of(emulation.state.description, host), host)
    return wiring.port_of(emulation.state.description, host)


def _bucketed_trunk(emulation: Emulation, trunk: str) -> int:
    number = _trunk(emulation, trunk)
    _refuse_relayed(emulation, wiring.trunk_ends(number)[0], trunk)
    return number


def _refuse_relayed(emulation: Emulation, device: str, where: str) -> None:
    if emulation.run(None, ["tc", "qdisc", "show", "dev", device]).stdout.startswith("qdisc tbf"):
        return
    raise UsageError(
        f"lab {emulation.state.name}: {where}: uses a relay (a bus, latency, another fault);"
        " change its rate in the lab file"
    )


def _trunk(emulation: Emulation, name: str) -> int:
    names = [trunk.name for trunk in emulation.state.description.trunk]
    if name not in names:
        allowed = ", ".join(names) or "none, this lab has no trunk"
        raise UsageError(f"lab {emulation.state.name}: trunk {name}: must be one of {allowed}")
    return names.index(name)
