"""The report of a topology: one self-contained HTML file with a drawing of nested groups, and tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hpcscope import units
from hpcscope.report.frame import page
from hpcscope.topology import drawing
from hpcscope.topology.topology import Group, Topology

HOST_WIDTH, HOST_HEIGHT, GAP, HEAD = 86, 28, 10, 64
WIDEST = 1260
"""Maximum width in pixels; groups that do not fit next to each other wrap to the next row."""
COLUMNS = 4
"""Hosts side by side in a group."""


@dataclass
class Box:
    """A group as a rectangle, with its contents; lengths in pixels."""

    group: Group
    x: int = 0
    y: int = 0
    width: int = 0
    height: int = 0
    depth: int = 0
    children: list[Box] = field(default_factory=list)
    hosts: list[Seat] = field(default_factory=list)
    caption: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Seat:
    """A host in its group."""

    name: str
    x: int
    y: int
    slow: bool
    title: str


def render(topology: Topology, name: str) -> str:
    """Return the report of a topology that was read from the file `name`."""
    box = _laid_out(topology, topology.root, 0)
    box.x, box.y = GAP, GAP
    return page(
        "topology.html",
        topology=topology,
        ranges=drawing.ranges,
        name=name,
        root=box,
        boxes=list(_all(box)),
        width=box.width + 2 * GAP,
        height=box.height + 2 * GAP,
        host_width=HOST_WIDTH,
        host_height=HOST_HEIGHT,
    )


def _laid_out(topology: Topology, group: Group, depth: int) -> Box:
    """Return the box of a group and everything in it, with its corner at the origin."""
    box = Box(group, depth=depth, caption=_caption(group))
    if group.hosts:
        columns = min(COLUMNS, len(group.hosts))
        rows = -(-len(group.hosts) // columns)
        box.hosts = _seats(topology, group, columns)
        box.width = columns * (HOST_WIDTH + GAP) + GAP
        box.height = HEAD + rows * (HOST_HEIGHT + GAP)
    else:
        box.children = [_laid_out(topology, child, depth + 1) for child in topology.children(group)]
        x, y, row = GAP, HEAD, 0
        for child in box.children:
            if x > GAP and x + child.width > WIDEST - 2 * GAP * depth:
                x, y, row = GAP, y + row + GAP, 0
            child.x, child.y = x, y
            x, row = x + child.width + GAP, max(row, child.height)
            box.width = max(box.width, x)
        box.height = y + row + GAP
    needed = max(7 * len(line) for line in [*box.caption, group.name]) + 3 * GAP
    box.width = max(box.width, needed)
    return box


def _caption(group: Group) -> list[str]:
    kind = "shared by all" if group.medium == "shared" else "each pair"
    figures = [
        f"{units.quantity(group.bandwidth_bytes_per_s, 'B/s')} {kind}",
        units.quantity(group.latency_s, "s"),
    ]
    known = (group.bandwidth_bytes_per_s, group.latency_s)
    lines = [", ".join(text for text, value in zip(figures, known, strict=True) if value)]
    if group.uplink_bytes_per_s is not None:
        half = ", half duplex" if group.uplink_duplex == "half" else ""
        lines.append(f"uplink {units.quantity(group.uplink_bytes_per_s, 'B/s')}{half}")
    return lines


def _seats(topology: Topology, group: Group, columns: int) -> list[Seat]:
    slow = {exception.host: exception for exception in topology.exception}
    return [
        Seat(
            name=host,
            x=GAP + (number % columns) * (HOST_WIDTH + GAP),
            y=HEAD + (number // columns) * (HOST_HEIGHT + GAP),
            slow=host in slow,
            title=f"{host}: {units.quantity(slow[host].bandwidth_bytes_per_s, 'B/s')}" if host in slow else host,
        )
        for number, host in enumerate(group.hosts)
    ]


def _all(box: Box) -> list[Box]:
    """Return all boxes with absolute corners, outer boxes first."""
    boxes = [box]
    box.hosts = [replace(seat, x=seat.x + box.x, y=seat.y + box.y) for seat in box.hosts]
    for child in box.children:
        child.x, child.y = child.x + box.x, child.y + box.y
        boxes += _all(child)
    return boxes
