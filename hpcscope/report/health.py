"""The report of a health check: a table of nodes x checks, the evidence, and the facts that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hpcscope import units
from hpcscope.errors import UsageError
from hpcscope.health import links, verdict
from hpcscope.health.history import NodePast
from hpcscope.health.records import HealthFile
from hpcscope.health.slow_nodes import slowness
from hpcscope.health.verdict import BAD, HEALTHY, SILENT, SUSPECT, UNSEEN, Health, NodeVerdict, Sight
from hpcscope.names import host_ranges, several
from hpcscope.report import node as node_pages
from hpcscope.report.frame import page
from hpcscope.report.terminal.health import few_peers, verdict_sentence
from hpcscope.rundirectory import write_text

TONES = {BAD: "error", SILENT: "error", SUSPECT: "warning", UNSEEN: "information", HEALTHY: "information"}
FULL_AT, STRONGEST = 0.5, 32
"""Slowness that has the strongest color, and the percentage of red in that color: black letters stay readable."""


MOST_ROWS = 200
"""Maximum number of nodes in the table, worst first; if there are more, a map of small squares shows all nodes."""
MOST_PAGES = 50
"""Maximum number of nodes with their own pages, worst first, besides those asked for."""
MOST_VALUES = 8
"""Maximum number of values listed per fact."""
MAP_COLUMNS, SQUARE = 100, 8
"""Number of squares in a row of the map, and the distance between them in pixels."""
MOST_IN_A_MATRIX = 40


@dataclass(frozen=True)
class Cell:
    """Result of one node in one check, compared with its peers."""

    text: str
    beside: str
    """Difference from the peers; empty without peers."""
    color: int
    """Percentage of red in the color."""


def write(
    record: HealthFile, health: Health, past: Mapping[str, NodePast], target: Path, asked: Sequence[str] = ()
) -> Path:
    """Write the report of a record and return its path; UsageError if a node that was asked for is unknown."""
    if unknown := set(asked) - set(record.hosts):
        known = several(host_ranges(record.hosts))
        raise UsageError(f"--node {unknown.pop()}: not a node of this check; must be one of {known}")
    write_text(target, render(record, health, past, asked))
    return target


def render(record: HealthFile, health: Health, past: Mapping[str, NodePast], asked: Sequence[str] = ()) -> str:
    """Return the report; `past`: earlier checks of the nodes; `asked`: nodes that always get their own page."""
    columns = list(dict.fromkeys((sight.check.name, sight.place) for sight in health.sights))
    labels = {(sight.check.name, sight.place): sight.label for sight in health.sights}
    known = {node.host: node for node in health.nodes}
    first = list(dict.fromkeys(asked))
    shown = [*map(known.__getitem__, first), *(node for node in health.nodes if node.host not in first)][
        :MOST_ROWS
    ]
    rows = [(node, _cells(health, node, columns)) for node in shown]
    own = node_pages.pages(record, health, past, shown[: MOST_PAGES + len(first)])
    return page(
        "health.html",
        record=record,
        sentence=verdict_sentence(health),
        labels=[labels[column] for column in columns],
        rows=rows,
        pages=own,
        told=[shown for shown in own if shown.node.evidence],
        tones=TONES,
        numbers={shown.node.host: number for number, shown in enumerate(own, 1)},
        map=_map(record, health) if len(rows) < len(known) else None,
        links=links.sentence(record),
        matrix=_matrix(record),
        differences=[
            (difference.fact, difference.usual or "", value, several(host_ranges(hosts)))
            for difference in health.differences
            for value, hosts in list(difference.odd.items())[:MOST_VALUES]
        ],
        usual={fact.fact: fact.usual for fact in health.differences if fact.usual is not None},
        remarks=[*health.remarks, *filter(None, [few_peers(health)])],
        sights=health.sights,
    )


def _map(record: HealthFile, health: Health) -> tuple[int, list[tuple[int, str]], dict[str, str]]:
    """Return the height of the map, the position and first host of each row, and the squares of each verdict."""
    at = {host: divmod(number, MAP_COLUMNS) for number, host in enumerate(record.hosts)}
    squares = {
        kind: "".join(
            f"M{SQUARE * column} {SQUARE * row}h7v7h-7z"
            for row, column in (at[host] for host in health.hosts(kind))
        )
        for kind in TONES
    }
    starts = [(SQUARE * (number // MAP_COLUMNS) + 7, host) for number, host in enumerate(record.hosts)]
    return SQUARE * -(-len(at) // MAP_COLUMNS), starts[::MAP_COLUMNS], squares


def _matrix(record: HealthFile) -> list[tuple[str, list[Cell | None]]]:
    """Return the rates between hosts, a row for each host; empty if there are too many hosts for a table."""
    rate = next(metric for metric in links.METRICS if metric.name == "rate")
    visits = [visit for visit in record.links if not visit.error]
    ends = {host for visit in visits for host in (visit.first, visit.second)}
    hosts = [host for host in record.hosts if host in ends]
    if not 1 < len(hosts) <= MOST_IN_A_MATRIX:
        return []
    pairs = [frozenset((visit.first, visit.second)) for visit in visits]
    costs: dict[frozenset[str], float] = dict(zip(pairs, rate.typical(visits).tolist(), strict=True))
    typical = float(np.median(list(costs.values())))

    def cell(one: str, other: str) -> Cell | None:
        cost = costs.get(frozenset((one, other)))
        return None if cost is None else Cell(rate.value(cost), "", _color(slowness(cost - typical)))

    return [(host, [cell(host, other) for other in hosts]) for host in hosts]


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
