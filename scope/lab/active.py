"""A lab that is up, as its state file tells; a program inside finds that file's path in `SCOPE_LAB`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

from scope.lab.description import Lab
from scope.machine.machine import EmulatedCluster, EmulatedLink, RelayedLink
from scope.rundirectory import read_json, write_json
from scope.strict import Strict

VARIABLE = "SCOPE_LAB"
INTERFACE = "eth0"
"""The emulated wire of every host."""
MANAGEMENT = "eth1"
"""The unshaped network that carries the launchers."""


class UpHost(Strict):
    """One host."""

    name: str
    slots: int
    pid: int
    """Of the process that holds its namespaces, numbered inside the lab."""


class Relay(Strict):
    """A wire in user space and how late it delivers."""

    link: str
    pid: int
    statistics: str
    """Path of the file that it keeps writing."""

    def facts(self) -> RelayedLink:
        """Return how late it delivered so far."""
        file = Path(self.statistics)
        said = json.loads(file.read_text()) if file.is_file() else {}
        nothing = {"frames": 0, "late_median_us": 0.0, "late_p99_us": 0.0}
        return RelayedLink.model_validate({"link": self.link, **nothing, **said})


class Fault(Strict):
    """What was asked to go wrong."""

    where: str
    """A host, or a trunk as `giza-router`."""
    kind: str
    """slow, lossy, dead, slow-host or stopped."""
    value: float = 0.0
    """Mbit/s, a share of frames, or a share of time."""
    direction: Literal["both", "in", "out"] = "both"
    """Of a slow port: to the host, or from it."""
    pid: int = 0
    """Of the process inside the lab that keeps it up; 0 where none does."""

    def words(self) -> str:
        """Say it in words."""
        which = "" if self.direction == "both" else f" {self.direction}"
        amount = {"slow": f"{which} ({self.value:g} Mbit/s)", "lossy": f" ({self.value:.2%} of frames)"}
        amount["slow-host"] = f" (stands still {self.value:.0%} of the time)"
        return f"{self.where} {self.kind}{amount.get(self.kind, '')}"


class ActiveLab(Strict):
    """The state file."""

    name: str
    description: Lab
    holder: int
    """Its number outside."""
    holder_started: int
    """In clock ticks since boot: a number alone may be somebody else's by now."""
    rootless: bool
    """Below a user namespace."""
    hosts: list[UpHost]
    agent: str
    """A program that stands in for ssh inside the lab."""
    relays: list[Relay] = []
    checks: list[EmulatedLink] = []
    faults: list[Fault] = []
    proven: list[str] = []
    """MPI compilers whose messages were seen on the wire."""

    def facts(self) -> EmulatedCluster:
        """Return what a run in this lab writes down of it."""
        return EmulatedCluster(
            name=self.name,
            title=self.description.title,
            links=self.checks,
            relayed=[relay.facts() for relay in self.relays],
            faults=[fault.words() for fault in self.faults],
        )

    def host(self, name: str) -> UpHost | None:
        """Return the host of this name."""
        return next((host for host in self.hosts if host.name == name), None)


def active() -> ActiveLab | None:
    """Return the lab that this process runs in; None outside of any."""
    path = os.environ.get(VARIABLE)
    return read_json(Path(path), ActiveLab) if path else None


def topology_file() -> Path | None:
    """Return the topology that the lab around this process declares; None where nobody has written it down."""
    file = Path(os.environ[VARIABLE]).with_name("topology.toml")
    return file if file.is_file() else None


def note_proof(lab: ActiveLab, compiler: str) -> None:
    """Write down, from inside, that an MPI uses the wire."""
    write_json(Path(os.environ[VARIABLE]), lab.model_copy(update={"proven": [*lab.proven, compiler]}))
