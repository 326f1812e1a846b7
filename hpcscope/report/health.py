"""The page of a check of health: a map of nodes x checks, the evidence, and the facts that differ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hpcscope import units
from hpcscope.health import verdict
from hpcscope.health.records import HealthFile
from hpcscope.health.verdict import BAD, HEALTHY, SILENT, SUSPECT, UNSEEN, Health, NodeVerdict, Sight
from hpcscope.names import host_ranges, several
from hpcscope.report.frame import environment
from hpcscope.report.terminal.health import verdict_sentence
from hpcscope.rundirectory import write_text
from hpcscope.version import VERSION

TONES = {BAD: "error", SILENT: "error", SUSPECT: "warning", UNSEEN: "information", HEALTHY: "information"}
FULL_AT, STRONGEST = 0.5, 32
"""Slowness with the strongest color, and its share of red in percent: black letters stay readable."""


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


def write(record: HealthFile, target: Path) -> Path:
    """Write the page of a record and return its path."""
    write_text(target, render(record))
    return target


def render(record: HealthFile) -> str:
    """Return the page."""
    health = verdict.judge(record)
    columns = list(dict.fromkeys((sight.check.name, sight.place) for sight in health.sights))
    labels = {(sight.check.name, sight.place): sight.label for sight in health.sights}
    return (
        environment()
        .get_template("health.html")
        .render(
            record=record,
            sentence=verdict_sentence(health),
            labels=[labels[column] for column in columns],
            evidence=[(node.host, one) for node in health.nodes for one in node.evidence],
            rows=[Row(node, TONES[node.verdict], _cells(health, node, columns)) for node in health.nodes],
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


def _cells(health: Health, node: NodeVerdict, columns: list[tuple[str, str]]) -> list[Cell | None]:
    own = {(sight.check.name, sight.place): sight for sight in health.sights if node.host in sight.rows}
    return [_cell(own[column], node.host) if column in own else None for column in columns]


def _cell(sight: Sight, host: str) -> Cell:
    slower = sight.screening.slowness(sight.rows[host])
    own, peers = verdict.values(sight, host)
    color = round(STRONGEST * min(max(slower, 0) / FULL_AT, 1))
    much = f"{'-' if slower > 0 else '+'}{units.percent(abs(slower))}" if abs(slower) >= 0.005 else "0 %"
    return Cell(own, f"{much} of {peers}" if len(sight.hosts) > 1 else "", color)
