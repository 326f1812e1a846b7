"""The page of a check of health: a map of nodes x checks, the evidence, and the facts that differ."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hpcscope import units
from hpcscope.health import links, verdict
from hpcscope.health.checks import BY_NAME
from hpcscope.health.history import NodePast
from hpcscope.health.records import HealthFile
from hpcscope.health.slow_nodes import slowness
from hpcscope.health.verdict import BAD, HEALTHY, SILENT, SUSPECT, UNSEEN, Health, NodeVerdict, Place, Sight
from hpcscope.names import host_ranges, several
from hpcscope.report.frame import environment
from hpcscope.report.terminal.health import verdict_sentence
from hpcscope.rundirectory import write_text
from hpcscope.version import VERSION

TONES = {BAD: "error", SILENT: "error", SUSPECT: "warning", UNSEEN: "information", HEALTHY: "information"}
FULL_AT, STRONGEST = 0.5, 32
"""Slowness with the strongest color, and its share of red in percent: black letters stay readable."""


MOST_SECTIONS = 50
"""Nodes with a section of their own, the worst."""
MOST_IN_A_MATRIX = 40


@dataclass(frozen=True)
class Cell:
    """What one node does in one check, beside its peers."""

    text: str
    beside: str
    """How it compares; empty without peers."""
    color: int
    """Share of red in percent."""


@dataclass(frozen=True)
class Row:
    """One node."""

    node: NodeVerdict
    tone: str
    cells: list[Cell | None]


def write(record: HealthFile, health: Health, past: Mapping[str, NodePast], target: Path) -> Path:
    """Write the page of a record and return its path."""
    write_text(target, render(record, health, past))
    return target


def render(record: HealthFile, health: Health, past: Mapping[str, NodePast]) -> str:
    """Return the page; `past`: earlier checks of the nodes."""
    columns = list(dict.fromkeys((sight.check.name, sight.place) for sight in health.sights))
    labels = {(sight.check.name, sight.place): sight.label for sight in health.sights}
    rows = [Row(node, TONES[node.verdict], _cells(health, node, columns)) for node in health.nodes]
    single = [row for row in rows if row.node.evidence or len(rows) == 1][:MOST_SECTIONS]
    return (
        environment()
        .get_template("health.html")
        .render(
            record=record,
            sentence=verdict_sentence(health),
            labels=[labels[column] for column in columns],
            rows=rows,
            single=[(row, _values(row, labels, past.get(row.node.host))) for row in single],
            numbers={row.node.host: number for number, row in enumerate(single, 1)},
            links=links.sentence(record),
            matrix=_matrix(record),
            differences=[
                (one.fact, one.usual or "", value, several(host_ranges(hosts)))
                for one in health.differences
                for value, hosts in one.odd.items()
            ],
            remarks=health.remarks,
            sights=health.sights,
            share=units.share,
            version=VERSION,
        )
    )


def _values(row: Row, labels: Mapping[Place, str], past: NodePast | None) -> list[tuple[str, Cell, str]]:
    """Return the values of a node: the check, the value beside its peers, and in earlier checks."""
    measured = zip(labels.items(), row.cells, strict=True)
    return [(label, cell, _past(past, place)) for (place, label), cell in measured if cell is not None]


def _past(past: NodePast | None, place: Place) -> str:
    own = past.places.get(place) if past is not None else None
    if own is None:
        return ""
    first = time.strftime("%Y-%m-%d", time.gmtime(own.unix_s[0]))
    value = verdict.value_of(BY_NAME[place[0]], float(np.median(own.costs)))
    return f"{value} ({len(own.costs)} since {first})"


def _matrix(record: HealthFile) -> list[tuple[str, list[Cell | None]]]:
    """Return the rates between hosts, a row for each; none where there are too many hosts for a table."""
    rate = next(metric for metric in links.METRICS if metric.name == "rate")
    costs: dict[frozenset[str], float] = {}
    for visit in record.links:
        if not visit.error:
            costs[frozenset((visit.first, visit.second))] = rate.typical(visit)
    hosts = [host for host in record.hosts if any(host in pair for pair in costs)]
    if not 1 < len(hosts) <= MOST_IN_A_MATRIX:
        return []
    typical = float(np.median(list(costs.values())))

    def cell(one: str, other: str) -> Cell | None:
        cost = costs.get(frozenset((one, other)))
        return None if cost is None else Cell(rate.value(cost), "", _color(slowness(cost - typical)))

    return [(one, [cell(one, other) for other in hosts]) for one in hosts]


def _color(slower: float) -> int:
    return round(STRONGEST * min(max(slower, 0) / FULL_AT, 1))


def _cells(health: Health, node: NodeVerdict, columns: list[tuple[str, str]]) -> list[Cell | None]:
    own = {(sight.check.name, sight.place): sight for sight in health.sights if node.host in sight.rows}
    return [_cell(own[column], node.host) if column in own else None for column in columns]


def _cell(sight: Sight, host: str) -> Cell:
    slower = sight.screening.slowness(sight.rows[host])
    own, peers = verdict.values(sight, host)
    much = f"{'-' if slower > 0 else '+'}{units.percent(abs(slower))}" if abs(slower) >= 0.005 else "0 %"
    return Cell(own, f"{much} of {peers}" if len(sight.hosts) > 1 else "", _color(slower))
