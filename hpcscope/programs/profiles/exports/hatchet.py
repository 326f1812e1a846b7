"""Hatchet's literal format: a tree of frames with metrics, for `GraphFrame.from_literal`.

Bhatele, Brink & Gamblin, Hatchet: pruning the overgrowth in parallel profiles, SC 2019.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hpcscope.programs.profiles.exports import place
from hpcscope.programs.profiles.records import Merged


@dataclass
class _Node:
    """A frame, its own time, and the frames below it."""

    time_s: float = 0.0
    calls: int = 0
    bytes: int = 0
    children: dict[str, _Node] = field(default_factory=dict)

    def below(self, names: Sequence[str]) -> _Node:
        """Return the frame at the end of a path."""
        node = self
        for name in names:
            node = node.children.setdefault(name, _Node())
        return node

    def inclusive_s(self) -> float:
        """Return the time of the frame and all frames below it."""
        return self.time_s + sum(child.inclusive_s() for child in self.children.values())

    def literal(self, name: str) -> dict[str, Any]:
        """Return the node in Hatchet's format."""
        return {
            "frame": {"name": name, "type": "function"},
            "metrics": {
                "time": self.time_s,
                "time (inc)": self.inclusive_s(),
                "calls": self.calls,
                "bytes": self.bytes,
            },
            "children": [child.literal(below) for below, child in self.children.items()],
        }


def write(runs: Sequence[Merged]) -> str:
    """Return a root for each run; times are sums over all ranks, in s."""
    return json.dumps([_tree(merged) for merged in runs], indent=1) + "\n"


def _tree(merged: Merged) -> dict[str, Any]:
    root = _Node(time_s=merged.total_s - merged.mpi_s)
    for call in merged.calls:
        node = root.below([*place(merged, call.site), call.routine])
        node.time_s += call.time_s
        node.calls += call.calls
        node.bytes += call.bytes
    name = (merged.arguments or [merged.program])[0].rpartition("/")[2] or "main"
    return root.literal(f"{name}, {merged.ranks} ranks")
