"""A site's reference file: the performance of its sound nodes for each kind of hardware, as TOML.

[[node]]
processor = "AMD EPYC 7763 64-Core Processor"
memory_bandwidth = 1.9e11
governor = "performance"
"""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import Any

from hpcscope.errors import UsageError
from hpcscope.health import facts
from hpcscope.health.checks import BY_NAME
from hpcscope.health.verdict import EVERY, Reference
from hpcscope.rundirectory import read_toml, shortened


def read(path: Path) -> list[Reference]:
    """Return the references of a file; UsageError names the key that is wrong."""
    content = read_toml(path)
    nodes = content.get("node")
    if (
        set(content) != {"node"}
        or not isinstance(nodes, list)
        or not all(isinstance(node, dict) for node in nodes)
    ):
        raise UsageError(f"{path}: must have tables [[node]], and nothing else")
    return [_reference(f"{path}: node {number}", node) for number, node in enumerate(nodes, 1)]


def _reference(where: str, node: dict[str, Any]) -> Reference:
    hardware: dict[str, str] = {}
    asked: dict[str, str] = {}
    costs: dict[tuple[str, str], float] = {}
    for key, value in node.items():
        if key in BY_NAME:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                unit = BY_NAME[key].unit or "fractions of 1"
                raise UsageError(f"{where}: {key} = {shortened(value)}: must be a number above 0, in {unit}")
            costs[key, EVERY] = log(BY_NAME[key].cost(value))
        elif key not in facts.HARDWARE and not facts.MATTERS.fullmatch(key):
            known = ", ".join([*facts.HARDWARE, *BY_NAME])
            raise UsageError(
                f"{where}: {key}: unknown key; must be one of {known}, or a fact that health.json shows"
            )
        elif not isinstance(value, str):
            raise UsageError(f"{where}: {key} = {shortened(value)}: must be a text, as health.json shows it")
        else:
            (hardware if key in facts.HARDWARE else asked)[key] = value
    return Reference(hardware, costs, asked)
