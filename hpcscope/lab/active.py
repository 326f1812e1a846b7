"""A lab that is up, read from its state file; programs inside find the path of the file in `SCOPE_LAB`."""

import json
import os
from pathlib import Path
from typing import Literal

from hpcscope import units
from hpcscope.lab.description import Lab
from hpcscope.machine.machine import EmulatedCluster, EmulatedLink, Host, RelayedLink
from hpcscope.rundirectory import read_json, write_json
from hpcscope.strict import Strict

VARIABLE = "SCOPE_LAB"
INTERFACE = "eth0"
"""The emulated network interface of every host."""
MANAGEMENT = "eth1"
"""The unshaped network of the launchers."""


class UpHost(Strict):
    """One host."""

    name: str
    slots: int
    pid: int
    """Process number inside the lab of the process that holds its namespaces."""


class Relay(Strict):
    """The switches and links in user space, and the delay that they add."""

    pid: int
    statistics: str
    """Path of the file with its current statistics."""

    def facts(self) -> RelayedLink:
        """Return the delays of its frames so far."""
        said = json.loads(Path(self.statistics).read_text())
        return RelayedLink.model_validate({"link": "all links", **said})


class Fault(Strict):
    """An injected fault."""

    where: str
    """A host, or a trunk such as `giza-router`."""
    kind: str
    """Kind of fault: slow, dead, queue, an impairment; or slow-host, stopped, full-disk, ... of a host."""
    value: float = 0.0
    """Mbit/s, bytes, milliseconds, a share of frames, a share of time, or MB/s of a disk."""
    direction: Literal["both", "in", "out"] = "both"
    """Direction of a fault of a link: to the host or first switch, or from it."""
    pid: int = 0
    """Process number inside the lab of the process that causes it; 0 if there is none."""

    def words(self) -> str:
        """Return the fault in words."""
        which = "" if self.direction == "both" else f" {self.direction}"
        amount = {"slow": f" ({self.value:g} Mbit/s)"}
        for impairment in ("lossy", "duplicating", "reordering", "corrupting"):
            amount[impairment] = f" ({units.percent(self.value, 2)} of frames)"
        amount["queue"] = f" of {units.quantity(self.value, 'B')}"
        amount["black-hole"] = f" (packets above {self.value:g} B)"
        amount["pausing"] = f" ({self.value:g} ms of every 100 ms)"
        amount["policing"] = f" (every other connection, {self.value:g} Mbit/s)"
        amount["slow-disk"] = f" ({self.value:g} MB/s)"
        amount["slow-host"] = f" (stopped {units.percent(self.value)} of the time)"
        return f"{self.where} {self.kind}{which}{amount.get(self.kind, '')}"


class ActiveLab(Strict):
    """The state file."""

    name: str
    description: Lab
    holder: int
    """The process number of its holder outside the lab."""
    holder_started: int
    """When the holder started, in clock ticks since boot: its process number may have been reused."""
    holder_network: int
    """The number of the holder's network namespace."""
    rootless: bool
    """Whether the lab is in a user namespace."""
    hosts: list[UpHost]
    remote_shell: str
    """The program that replaces ssh inside the lab."""
    relay: Relay | None = None
    checks: list[EmulatedLink] = []
    faults: list[Fault] = []
    verified: list[str] = []
    """MPI compilers whose messages were counted on the emulated network."""

    def facts(self) -> EmulatedCluster:
        """Return the facts of this lab that a run records."""
        return EmulatedCluster(
            name=self.name,
            title=self.description.title,
            links=self.checks,
            relayed=[self.relay.facts()] if self.relay else [],
            faults=[fault.words() for fault in self.faults],
            storage=self.description.storage.words() if self.description.storage else "",
            switch_of={
                host.name: self.description.group_of(host.group).plugged_into for host in self.description.hosts()
            },
            trunks=[trunk.between for trunk in self.description.trunk],
        )

    def with_declared_links(self, host: Host) -> Host:
        """Return the host without the launchers' network, with its port at the declared rate."""
        declared = next((lab_host for lab_host in self.description.hosts() if lab_host.name == host.name), None)
        if declared is None:
            return host
        rate = self.description.group_of(declared.group).port_mbit_per_s * 1e6
        port = {"kind": "ethernet", "rate_bits_per_s": rate}
        links = [
            link.model_copy(update=port) if link.name == INTERFACE else link
            for link in host.links
            if link.name != MANAGEMENT
        ]
        return host.model_copy(update={"links": links})

    def host(self, name: str) -> UpHost | None:
        """Return the host of this name."""
        return next((host for host in self.hosts if host.name == name), None)


def active() -> ActiveLab | None:
    """Return the lab that this process runs in; None outside of any."""
    path = os.environ.get(VARIABLE)
    return read_json(Path(path), ActiveLab) if path else None


def topology_file() -> Path | None:
    """Return the topology file of the lab of this process; None if it has none."""
    file = Path(os.environ[VARIABLE]).with_name("topology.toml")
    return file if file.is_file() else None


def note_verified(lab: ActiveLab, compiler: str) -> None:
    """Record, from inside the lab, that the messages of an MPI take the emulated network."""
    write_json(Path(os.environ[VARIABLE]), lab.model_copy(update={"verified": [*lab.verified, compiler]}))
