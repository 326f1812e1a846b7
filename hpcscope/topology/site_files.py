"""Topologies in files of sites: Slurm's topology.conf and topology.yaml, ibnetdiscover's output, XML of hwloc.

The content decides how a file is read. Such files tell which hosts share a switch. At most they also tell the
rates of the links (ibnetdiscover), but never a latency.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from hpcscope.settings.hosts import Nodes, hostnames

KINDS = ("switchname", "blockname", "switch", "block", "ring", "name")
"""Keys for the name of what connects nodes; a torus has a `name`."""
GBIT = {"SDR": 2, "DDR": 4, "QDR": 8, "FDR10": 10, "FDR": 13.64, "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200}
"""Data rate of one lane in 10^9 bit/s, without line code (InfiniBand Architecture Specification, volume 2)."""
ALL = "all"
"""The group of all switches for which the file names nothing above."""

_NODE = re.compile(r'^(?P<kind>Switch|Ca|Rt)\s+\d+\s+"(?P<id>[^"]+)"\s*#\s*"(?P<name>[^"]*)"')
_LINK = re.compile(
    r'^\[\d+\]\S*\s+"(?P<id>[^"]+)"\[\d+\]\S*\s*#.*?"(?P<name>[^"]*)"(?:.*?(?P<lanes>\d+)x(?P<rate>\w+))?'
)
_SLURM = re.compile(r"(?im)^\s*(?:SwitchName|BlockName)\s*=")
_YAML = re.compile(r"(?m)^\s*-?\s*topology\s*:")
_ENTRY = re.compile(r"^(?P<indent>\s*)(?P<new>-\s+)?(?P<key>\w+)\s*:\s*(?P<value>.*?)\s*$")


@dataclass
class Switch:
    """A switch with its hosts and the switches below it."""

    hosts: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    """Rates of the links to hosts, in bytes per second."""
    up: float = 0.0
    """Total rate of all links to other switches."""


Switches = dict[str, Switch]
Table = dict[str, Any]
"""A group as in a topology.toml."""


def groups(text: str) -> list[Table] | None:
    """Return the groups in a site's file, parents first; None for any other text.

    Switches without hosts, even below them, are left out. Raises ValueError if none has hosts.
    """
    reader = next((reader for mark, reader in READERS if mark.search(text)), None)
    if reader is None:
        return None
    switches = reader(text)
    below = {name for switch in switches.values() for name in switch.below}
    seen: set[str] = set()

    def peopled(name: str) -> bool:
        known = switches.get(name, Switch())
        return name not in seen and bool(known.hosts or any(map(peopled, known.below)))

    def under(name: str, parent: str | None) -> Iterator[Table]:
        switch = switches[name]
        seen.add(name)
        inside = list(filter(peopled, switch.below))
        if inside:
            yield {"name": name, "level": "lan", "parent": parent}
        if switch.hosts:
            yield _leaf(f"{name}-hosts" if inside else name, name if inside else parent, switch)
        for element in inside:
            yield from under(element, name)

    tops = [name for name in switches if name not in below and peopled(name)]
    if not tops:
        raise ValueError("it names no host")
    several = len(tops) > 1
    found = [{"name": ALL, "level": "lan"}] if several else []
    return found + [table for name in tops for table in under(name, ALL if several else None)]


def _leaf(name: str, parent: str | None, switch: Switch) -> Table:
    limits = 0 < switch.up < sum(switch.rates)
    return {
        "name": name,
        "level": "cluster",
        "parent": parent,
        "hosts": switch.hosts,
        "bandwidth_bytes_per_s": median(switch.rates) if switch.rates else 0.0,
        "uplink_bytes_per_s": switch.up if limits else None,
    }


def _slurm(text: str) -> Switches:
    """Read `SwitchName=s0 Nodes=n[0-3]`, `SwitchName=top Switches=s[0-1]`, `BlockName=b1 Nodes=...`."""
    plain = (line.partition("#")[0] for line in text.replace("\\\n", " ").splitlines())
    return _named({key.lower(): value for key, value in re.findall(r"(\w+)\s*=\s*(\S+)", line)} for line in plain)


def _yaml(text: str) -> Switches:
    """Read the cluster's default topology, else the first that names switches or blocks; one key per line."""
    topologies: list[list[dict[str, str]]] = [[]]
    default = 0
    for line in text.splitlines():
        entry = _ENTRY.match(re.sub(r"(^|\s)#.*", "", line))
        if not entry:
            continue
        key, value = entry["key"].lower(), entry["value"].strip("\"'")
        if key == "topology":
            topologies.append([])
        elif key == "cluster_default" and value.lower() == "true":
            default = len(topologies) - 1
        if entry["new"]:
            topologies[-1].append({})
        if topologies[-1]:
            topologies[-1][-1][key] = value
    read_ones = [_named(entries) for entries in topologies]
    return read_ones[default] or next(filter(None, read_ones), {})


def _named(entries: Iterator[dict[str, str]] | list[dict[str, str]]) -> Switches:
    switches: Switches = {}
    for entry in entries:
        name = next((entry[key] for key in KINDS if entry.get(key)), "")
        below = entry.get("switches") or entry.get("children") or ""
        if name:
            switches[name] = Switch(_names(entry.get("nodes", "")), _names(below))
    return switches


def _names(text: str) -> list[str]:
    return hostnames(Nodes().read(text)) if text else []


def _infiniband(text: str) -> Switches:
    """Read the switches of a fabric and join them by the number of links between them, the nearest first.

    A description such as `node1 HCA-1` begins with the host; an adapter described otherwise is a host of its own.
    A host belongs to the first switch that it is linked to.
    """
    switches: Switches = {}
    links: dict[str, set[str]] = defaultdict(set)
    names: dict[str, str] = {}
    here, placed = "", set[str]()
    for line in text.splitlines():
        if node := _NODE.match(line):
            here = node["id"] if node["kind"] == "Switch" else ""
            if here:
                switches[here], names[here] = Switch(), node["name"]
        elif here and (link := _LINK.match(line)):
            rate = float(link["lanes"] or 0) * GBIT.get(link["rate"] or "", 0) * 1e9 / 8
            words = link["name"].split()
            host = words[0] if len(words) in (1, 2) else link["id"]
            if link["id"].startswith("S-") and link["id"] != here:
                links[here].add(link["id"])
                switches[here].up += rate
            elif link["id"].startswith("H-") and "Aggregation Node" not in link["name"]:
                switches[here].rates += [rate] if rate else []
                switches[here].hosts += [host] if host not in placed else []
                placed.add(host)
    leaves = {id_: switch for id_, switch in switches.items() if switch.hosts}
    shown = {id_: names[id_] if Counter(names.values())[names[id_]] == 1 else id_ for id_ in leaves}
    return {shown[id_]: switch for id_, switch in leaves.items()} | _joined(shown, links)


def _joined(leaves: dict[str, str], links: dict[str, set[str]]) -> Switches:
    """Return the groups over leaf switches: switches that are the fewest links apart form a group first.

    `leaves`: names by identifiers.
    """
    far = {leaf: _distances(leaf, links) for leaf in leaves}
    parts = {name: {leaf} for leaf, name in leaves.items()}
    joins: Switches = {}
    for most in sorted({far[leaf][other] for leaf in leaves for other in leaves if other in far[leaf]} - {0}):
        left = dict(parts)
        while left:
            name, reached = left.popitem()
            below, reached = [name], set(reached)
            near: list[str] | None = None
            while near is None or near:
                near = [
                    other
                    for other, members in left.items()
                    if any(far[switch].get(member, most + 1) <= most for switch in reached for member in members)
                ]
                below += near
                reached |= set().union(*(left.pop(other) for other in near))
            if len(below) > 1:
                made = f"join{len(joins) + 1}"
                joins[made] = Switch(below=sorted(below))
                parts = {other: members for other, members in parts.items() if other not in below}
                parts[made] = reached
    return joins


def _distances(start: str, links: dict[str, set[str]]) -> dict[str, int]:
    far, edge = {start: 0}, [start]
    while edge:
        edge = list({other for switch in edge for other in links.get(switch, ()) if other not in far})
        far |= dict.fromkeys(edge, max(far.values()) + 1)
    return far


def _hwloc(text: str) -> Switches:
    """Read the names of the machines in an XML export of lstopo; what is inside a machine is left out."""
    from xml.etree import ElementTree

    try:
        tree = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error
    machines = [element for element in tree.iter("object") if element.get("type") == "Machine"]
    infos = [info for machine in machines for info in machine.iter("info") if info.get("name") == "HostName"]
    return {"machines": Switch([info.get("value", "") for info in infos])}


READERS: tuple[tuple[re.Pattern[str], Callable[[str], Switches]], ...] = (
    (re.compile(r'(?m)^Switch\s+\d+\s+"S-'), _infiniband),
    (re.compile(r"(?s)<topology\b.*<object\b"), _hwloc),
    (_SLURM, _slurm),
    (_YAML, _yaml),
)
"""Patterns for the content of a file, and how such a file is read."""
