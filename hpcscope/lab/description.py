"""A lab file: groups of hosts, the switches that they are connected to, and the trunks between switches."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from hpcscope.errors import UsageError
from hpcscope.names import refuse_odd_name
from hpcscope.rundirectory import must, read_toml, shortened
from hpcscope.strict import Asked

PRESETS = Path(__file__).parent / "presets"
SUFFIX = ".toml"
NAME = r"[a-z][a-z-]{0,20}"
"""Names of groups and switches: letters only, since a number follows in the name of a host."""
SwitchName = Annotated[str, Field(pattern=f"^{NAME}$")]
FASTEST_MBIT = 10_000.0
SLOWEST_MBIT = 0.1
"""Limits of the kernel's token bucket: a frame of 1514 bytes must fit between two ticks and pass in a second."""
MOST_HOSTS = 250


class Group(Asked):
    """Equal hosts on one switch."""

    name: str = Field(pattern=f"^{NAME}$")
    hosts: int = Field(ge=1, le=MOST_HOSTS)
    ranks_per_host: int = Field(1, ge=0, le=64)
    """Ranks per host; 0: the hosts serve files and run no ranks."""
    switch: str = Field("", pattern=f"^({NAME})?$")
    """The switch of its hosts; empty: a switch with the name of the group."""
    rate_mbit_per_s: float = Field(ge=SLOWEST_MBIT, le=FASTEST_MBIT)
    """Rate of each link of a port, in each direction."""
    latency_us: float = Field(0.0, ge=0, le=1e6)
    """One-way latency added to every port."""
    links: int = Field(1, ge=1, le=8)
    """Bonded links: a port has this many times the rate."""

    @property
    def plugged_into(self) -> str:
        """Name of the group's switch."""
        return self.switch or self.name

    @property
    def port_mbit_per_s(self) -> float:
        """Rate of a port, all its links together."""
        return self.rate_mbit_per_s * self.links


class Switch(Asked):
    """A bus: a switch whose traffic shares one medium."""

    name: str = Field(pattern=f"^{NAME}$")
    shared_mbit_per_s: float = Field(ge=SLOWEST_MBIT, le=1000)


class Trunk(Asked):
    """A link between two switches."""

    between: Annotated[tuple[SwitchName, SwitchName], Field(strict=False)]
    rate_mbit_per_s: float = Field(ge=SLOWEST_MBIT, le=FASTEST_MBIT)
    latency_us: float = Field(0.0, ge=0, le=1e6)
    links: int = Field(1, ge=1, le=8)
    duplex: Literal["full", "half"] = "full"

    @property
    def name(self) -> str:
        """Name of the trunk: giza-router."""
        return "-".join(self.between)

    @property
    def total_mbit_per_s(self) -> float:
        """Rate of the trunk, in each direction."""
        return self.rate_mbit_per_s * self.links


class Storage(Asked):
    """The file system of a lab."""

    kind: Literal["glusterfs", "local"]
    """GlusterFS that all hosts mount, or a separate disk for each host."""
    servers: str = Field("", pattern=f"^({NAME})?$")
    """GlusterFS: the group whose hosts are the servers."""
    copies: int = Field(1, ge=1, le=8)
    """GlusterFS: servers that keep the same file (replicas)."""
    disk_mb: int = Field(256, ge=32, le=1_000_000)
    """Size of each disk."""
    disk_mb_per_s: float = Field(0.0, ge=0, le=1e6)
    """Rate of each disk in each direction; 0: as fast as the disk of this machine."""

    def words(self) -> str:
        """Return the file system in words."""
        rate = f", {self.disk_mb_per_s:g} MB/s" if self.disk_mb_per_s else ""
        disk = f"of {self.disk_mb} MB{rate}"
        if self.kind == "local":
            return f"ext4 on a disk {disk} in each host"
        copies = f", {self.copies} copies of each file" if self.copies > 1 else ""
        return f"GlusterFS on the disks {disk} of the hosts {self.servers}{copies}"


@dataclass(frozen=True)
class LabHost:
    """One emulated host."""

    name: str
    group: str
    slots: int
    data_address: str
    """Address on the emulated network."""
    management_address: str
    """Address on the unshaped network of the launchers."""


class Lab(Asked):
    """A whole lab file."""

    title: str = ""
    source: str = ""
    group: list[Group] = Field(min_length=1)
    switch: list[Switch] = []
    trunk: list[Trunk] = []
    storage: Storage | None = None

    def hosts(self) -> list[LabHost]:
        """Return all hosts, group by group: hpc1, hpc2, ..."""
        return [
            LabHost(
                name=f"{group.name}{number}",
                group=group.name,
                slots=group.ranks_per_host,
                data_address=f"10.77.{position}.{number}",
                management_address=f"10.78.{position}.{number}",
            )
            for position, group in enumerate(self.group, start=1)
            for number in range(1, group.hosts + 1)
        ]

    def switches(self) -> list[str]:
        """Return the names of all switches, those with hosts first."""
        named = [group.plugged_into for group in self.group] + [switch.name for switch in self.switch]
        return list(dict.fromkeys(named + [end for trunk in self.trunk for end in trunk.between]))

    def shared_mbit_per_s(self, switch: str) -> float | None:
        """Return the rate of a bus; None for a switch."""
        return next((one.shared_mbit_per_s for one in self.switch if one.name == switch), None)

    def group_of(self, name: str) -> Group:
        """Return the group of this name."""
        return next(group for group in self.group if group.name == name)

    def way(self, start: str, end: str) -> list[Trunk]:
        """Return the trunks between two switches, in order."""
        beside = defaultdict(list)
        for trunk in self.trunk:
            for here, there in (trunk.between, trunk.between[::-1]):
                beside[here].append((there, trunk))
        ways: dict[str, list[Trunk]] = {start: []}
        for here in (queue := [start]):
            for there, trunk in beside[here]:
                if there not in ways:
                    ways[there] = [*ways[here], trunk]
                    queue.append(there)
        return ways[end]


def presets() -> list[str]:
    """Return the names of the labs that come with Scope."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def name_of(name_or_path: str) -> str:
    """Return the name of a lab: the name of a preset, or the stem of its file.

    Raises UsageError for a name that cannot be the name of a folder.
    """
    if not name_or_path.endswith(SUFFIX):
        return refuse_odd_name("lab", name_or_path)
    return refuse_odd_name(f"{name_or_path}: name of the lab", Path(name_or_path).name.removesuffix(SUFFIX))


def read(name_or_path: str) -> tuple[str, Lab]:
    """Return the name and the description of a lab; UsageError names file, key, value and what is allowed."""
    name = name_of(name_or_path)
    file = Path(name_or_path) if name_or_path.endswith(SUFFIX) else PRESETS / f"{name}{SUFFIX}"
    if file.parent == PRESETS and name not in presets():
        raise UsageError(f"lab {name_or_path}: must be one of {', '.join(presets())}, or a .toml file")
    try:
        lab = Lab.model_validate(read_toml(file))
    except ValidationError as error:
        raise UsageError(_explain(file, error)) from error
    _refuse_contradictions(file, lab)
    return name, lab


def _explain(file: Path, error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    if first["type"] == "extra_forbidden":
        models: dict[str, type[Asked]] = {"group": Group, "switch": Switch, "trunk": Trunk, "storage": Storage}
        allowed = models.get(str(first["loc"][0]), Lab) if len(first["loc"]) > 1 else Lab
        return f"{file}: {key}: unknown key; allowed here: {', '.join(allowed.model_fields)}"
    if first["type"] == "missing":
        return f"{file}: {key}: missing"
    return f"{file}: {key} = {shortened(first['input'])}: {must(first['msg'])}"


def _refuse_contradictions(file: Path, lab: Lab) -> None:
    names = [group.name for group in lab.group]
    for position, group in enumerate(lab.group):
        if group.name in names[:position]:
            raise UsageError(f"{file}: group[{position}].name = {group.name!r}: must differ from earlier names")
    buses = [switch.name for switch in lab.switch]
    for position, name in enumerate(buses):
        if name in buses[:position]:
            raise UsageError(f"{file}: switch[{position}].name = {name!r}: must differ from earlier names")
    if not any(group.ranks_per_host for group in lab.group):
        raise UsageError(f"{file}: group[0].ranks_per_host = 0: must be at least 1 in at least one group")
    _refuse_odd_storage(file, lab)
    if len(lab.hosts()) > MOST_HOSTS:
        raise UsageError(f"{file}: {len(lab.hosts())} hosts: must be at most {MOST_HOSTS}")
    reached = {lab.switches()[0]}
    for _ in lab.trunk:
        reached |= {end for trunk in lab.trunk if reached & set(trunk.between) for end in trunk.between}
    if apart := [name for name in lab.switches() if name not in reached]:
        raise UsageError(f"{file}: switch {apart[0]!r}: no trunk connects it to {lab.switches()[0]!r}")
    if len(lab.trunk) != len(lab.switches()) - 1:
        between = ", ".join(trunk.name for trunk in lab.trunk)
        raise UsageError(f"{file}: trunk: {between}: must form a tree, with one path between any two switches")


def _refuse_odd_storage(file: Path, lab: Lab) -> None:
    storage = lab.storage
    if storage is None:
        return
    if storage.kind == "local":
        for key in ("servers", "copies"):
            if key in storage.model_fields_set:
                raise UsageError(
                    f"{file}: storage.{key} = {getattr(storage, key)!r}: only valid with kind = 'glusterfs'"
                )
        return
    names = [group.name for group in lab.group]
    if storage.servers not in names:
        raise UsageError(f"{file}: storage.servers = {storage.servers!r}: must be one of {', '.join(names)}")
    hosts = lab.group_of(storage.servers).hosts
    if hosts % storage.copies != 0:
        raise UsageError(
            f"{file}: storage.copies = {storage.copies}: must divide {hosts}, the number of server hosts"
        )
