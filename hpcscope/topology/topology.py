"""`topology.toml`: groups of hosts, how they are connected, and what they share."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from hpcscope.errors import UsageError
from hpcscope.rundirectory import must, read_text, read_toml, shortened
from hpcscope.strict import Asked
from hpcscope.topology import site_files

FORMAT = 1

Level = Literal["cluster", "lan", "wan"]
Origin = Literal["measured", "emulated", "simulated", "declared"]
"""`declared`: a site's own file says so (`site_files.py`)."""


class InsideHost(Asked):
    """Latency and rate between two processes of one host."""

    latency_s: float = Field(gt=0)
    bandwidth_bytes_per_s: float = Field(gt=0)


class Group(Asked):
    """Hosts, or groups, that a switch, bus or network connects."""

    name: str = Field(min_length=1)
    level: Level
    """What connects its children."""
    parent: str | None = None
    """Name of the parent group; None for the root group."""
    hosts: list[str] = []
    """Hosts of the group; empty if its children are groups."""
    medium: Literal["switched", "shared"] = "switched"
    """`shared`: all transfers inside share `bandwidth_bytes_per_s`."""
    latency_s: float = Field(gt=0)
    """One-way latency (RTT/2) of an empty message between two of its children."""
    bandwidth_bytes_per_s: float = Field(gt=0)
    """Rate of an isolated transfer between two of its children."""
    uplink_bytes_per_s: float | None = Field(None, gt=0)
    """Total rate that leaves, or enters, the group; None if it is never the limit."""
    uplink_duplex: Literal["full", "half"] = "full"
    """`half`: both directions share the uplink."""
    confidence: float | None = Field(None, ge=0, le=1)
    """Probability that its members are right, according to the discovery."""


class DeclaredGroup(Group):
    """A group for which a site's file may tell neither latency nor rate: then they are 0."""

    latency_s: float = Field(0.0, ge=0)
    bandwidth_bytes_per_s: float = Field(0.0, ge=0)


class HostException(Asked):
    """A host with a slower port than its group."""

    host: str
    bandwidth_bytes_per_s: float = Field(gt=0)
    """Rate of the slower direction."""
    latency_s: float = Field(gt=0)


class Topology(Asked):
    """`topology.toml`."""

    format: int = Field(default=1, ge=1, le=1)
    origin: Origin
    host: InsideHost | None = None
    """Values inside a host; None if no host has two processes."""
    group: list[Group] = Field(min_length=1)
    exception: list[HostException] = []

    @cached_property
    def by_name(self) -> dict[str, Group]:
        """The groups by their names."""
        return {group.name: group for group in self.group}

    @cached_property
    def group_of(self) -> dict[str, Group]:
        """The group of each host."""
        return {host: group for group in self.group for host in group.hosts}

    @property
    def hosts(self) -> list[str]:
        """All hosts, group by group."""
        return list(self.group_of)

    @property
    def root(self) -> Group:
        """The group that contains all hosts."""
        return next(group for group in self.group if group.parent is None)

    def children(self, group: Group) -> list[Group]:
        """Return the groups directly inside a group."""
        return [other for other in self.group if other.parent == group.name]

    def members(self, group: Group) -> list[str]:
        """Return all hosts of a group, including its children's."""
        inside = [host for child in self.children(group) for host in self.members(child)]
        return [*group.hosts, *inside]

    def way_up(self, group: Group) -> Iterator[Group]:
        """Yield a group and its ancestors, up to the root."""
        yield group
        while group.parent is not None:
            group = self.by_name[group.parent]
            yield group

    def join(self, a: str, b: str) -> Group:
        """Return the smallest group that contains both hosts."""
        above = {group.name for group in self.way_up(self.group_of[a])}
        return next(group for group in self.way_up(self.group_of[b]) if group.name in above)


def read(path: Path, rates: bool = True) -> Topology:
    """Return the topology in a file; UsageError names file, key, value and what is allowed.

    `rates`: whether latencies and rates are required, which a site's own file does not have.
    """
    try:
        groups = site_files.groups(read_text(path))
        if groups is None:
            topology = Topology.model_validate(read_toml(path))
        else:
            topology = Topology(origin="declared", group=[DeclaredGroup(**group) for group in groups])
    except ValidationError as error:
        raise UsageError(f"{path}: {_explain(error)}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: its switches form a loop") from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    if rates and topology.origin == "declared":
        raise UsageError(f"{path}: has no latencies; `scope topology discover` measures them (topology.toml)")
    _check_tree(topology, path)
    return topology


def write(topology: Topology) -> str:
    """Return the topology as TOML that `read` reads back."""
    lines = [f"format = {topology.format}", f'origin = "{topology.origin}"']
    if topology.host:
        lines += ["", "[host]", *_assignments(topology.host)]
    for group in topology.group:
        lines += ["", "[[group]]", *_assignments(group)]
    for host_exception in topology.exception:
        lines += ["", "[[exception]]", *_assignments(host_exception)]
    return "\n".join(lines) + "\n"


def _assignments(part: Asked) -> list[str]:
    """Return `key = value` for all values that differ from their defaults."""
    lines = []
    for key, value in part:
        default = type(part).model_fields[key].default
        if value == default or (key == "hosts" and not value):
            continue
        # Strings and lists of them are the same in JSON and TOML; the collectives read only a subset of TOML.
        text = f"{value:.4g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
        lines.append(f"{key} = {text}")
    return lines


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    value = shortened(first["input"])
    if first["type"] == "missing":
        return f"{key}: missing"
    if first["type"] == "extra_forbidden":
        return f"{key} = {value}: unknown key; allowed here: {', '.join(_keys_beside(first['loc']))}"
    if first["type"] == "literal_error":
        return f"{key} = {value}: must be one of {first['ctx']['expected'].replace(' or ', ', ')}"
    return f"{key} = {value}: {must(first['msg'])}"


def _keys_beside(location: tuple[int | str, ...]) -> list[str]:
    tables: dict[int | str, type[Asked]] = {"host": InsideHost, "group": Group, "exception": HostException}
    return list((tables[location[0]] if len(location) > 1 else Topology).model_fields)


def _check_tree(topology: Topology, path: Path) -> None:
    """Raise UsageError unless the groups are a tree in which every host occurs once."""

    def refuse(what: str) -> UsageError:
        return UsageError(f"{path}: {what}")

    for index, group in enumerate(topology.group):
        where = f"group[{index}]"
        if topology.by_name[group.name] is not group:
            raise refuse(f"{where}.name = {group.name}: must be different from the names of the other groups")
        if group.parent is not None and group.parent not in topology.by_name:
            known = ", ".join(topology.by_name)
            raise refuse(f"{where}.parent = {group.parent}: must be the name of a group: {known}")
    roots = [group.name for group in topology.group if group.parent is None]
    if len(roots) != 1:
        names = ", ".join(roots) or "none"
        raise refuse(f"group.parent: exactly one group must have no parent; groups without it: {names}")
    counts = Counter(host for group in topology.group for host in group.hosts)
    for index, group in enumerate(topology.group):
        where = f"group[{index}]"
        seen, above = {group.name}, group.parent
        while above is not None:
            if above in seen:
                raise refuse(f"{where}.parent = {group.parent}: must not lead back to {above}")
            seen.add(above)
            above = topology.by_name[above].parent
        if bool(group.hosts) == bool(topology.children(group)):
            raise refuse(
                f"{where}.hosts = {json.dumps(group.hosts)}: {group.name} must have hosts or groups, not both"
            )
        if twice := [host for host in group.hosts if counts[host] > 1]:
            raise refuse(f"{where}.hosts: {twice[0]} must be listed only once, in one group")
    for index, host_exception in enumerate(topology.exception):
        if host_exception.host not in topology.group_of:
            raise refuse(f"exception[{index}].host = {host_exception.host}: must be a host of a group")
