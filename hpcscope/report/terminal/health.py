"""The verdicts on a cluster in lines of at most 80 columns: the cluster in one sentence, then the worst nodes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from hpcscope import units
from hpcscope.health.facts import Difference
from hpcscope.health.links import sentence
from hpcscope.health.records import HealthFile
from hpcscope.health.slow_nodes import FEWEST
from hpcscope.health.verdict import HEALTHY, ORDER, SILENT, Health, NodeVerdict
from hpcscope.names import host_ranges, several
from hpcscope.visible import visible

COLUMNS = 80
MOST_NODES = 20
"""Maximum number of nodes with their own lines; further nodes are folded into one line per verdict."""
MOST_FACTS = 8
MOST_VALUES = 4
"""Maximum number of values shown per fact, most frequent first."""


def lines(record: HealthFile, health: Health) -> list[str]:
    """Return the lines that the terminal shows."""
    return [
        visible(line) for line in (*_whole(health), *_nodes(health), *_facts(health), *_sights(record, health))
    ]


def as_json(record: HealthFile, health: Health) -> dict[str, Any]:
    """Return the verdicts as plain data."""
    return {
        "origin": record.origin,
        "sound": health.sound,
        "nodes": [
            {
                "host": node.host,
                "verdict": node.verdict,
                "evidence": [
                    {"verdict": said.verdict, "what": said.text, "likely_cause": said.cause, "advice": said.advice}
                    for said in node.evidence
                ],
            }
            for node in health.nodes
        ],
        "differences": [
            {"fact": difference.fact, "usual": difference.usual, "nodes": difference.nodes, "odd": difference.odd}
            for difference in health.differences
        ],
        "visible": [
            {
                "check": sight.check.name,
                "place": sight.place,
                "nodes": len(sight.hosts),
                "smallest_slowness": sight.screening.visible,
            }
            for sight in health.sights
        ],
        "remarks": health.remarks,
    }


def verdict_sentence(health: Health) -> str:
    """Return the verdict on the whole cluster."""
    counts = {verdict: len(health.hosts(verdict)) for verdict in ORDER[:-1]}
    nodes = len(health.nodes)
    if not any(counts.values()):
        if nodes == 1:
            return "The node shows no fault; it has no peers to compare with."
        compared = any(sight.screening.visible is not None for sight in health.sights)
        rest = "are healthy." if compared else "show no fault; they are too few to compare with each other."
        return f"All {nodes} nodes {rest}"
    words = {SILENT: "without an answer"}
    parts = [f"{count} {words.get(verdict, verdict)}" for verdict, count in counts.items() if count]
    return f"{len(health.hosts(HEALTHY))} of {nodes} nodes are healthy; {', '.join(parts)}."


def few_peers(health: Health) -> str:
    """Return a remark on nodes with too few peers; empty if all nodes have enough."""
    few = max((len(sight.hosts) for sight in health.sights if sight.screening.visible is None), default=0)
    group = "1 node has no peers" if few == 1 else f"{few} nodes are too few peers"
    return f"{group}: at least {FEWEST} nodes of equal hardware are needed." if few else ""


def _whole(health: Health) -> Iterator[str]:
    yield verdict_sentence(health)
    for remark in health.remarks:
        yield from _wrapped(remark, "  ", "  ")


def _nodes(health: Health) -> Iterator[str]:
    named = [node for node in health.nodes if node.verdict != HEALTHY]
    width = min(max((len(node.host) for node in named[:MOST_NODES]), default=0), 24)
    if named:
        yield ""
    for node in named[:MOST_NODES]:
        yield from _node(node, width)
    for verdict in ORDER[:-1]:
        if folded := [node.host for node in named[MOST_NODES:] if node.verdict == verdict]:
            yield _cut(f"and {len(folded)} more {verdict}: {several(host_ranges(folded))}")


def _node(node: NodeVerdict, width: int) -> Iterator[str]:
    first = node.evidence[0]
    more = f" (+{len(node.evidence) - 1})" if len(node.evidence) > 1 else ""
    start = f"{node.host:<{width}}  {node.verdict:<9}  "
    yield from _wrapped(first.text + more, start, " " * len(start))


def _facts(health: Health) -> Iterator[str]:
    if not health.differences:
        return
    yield ""
    yield "Facts that differ between nodes of equal hardware:"
    for difference in health.differences[:MOST_FACTS]:
        yield from (_cut(f"  {text}") for text in _difference(difference))
    if (hidden := len(health.differences) - MOST_FACTS) > 0:
        yield f"  and {hidden} more facts (--json)"


def _difference(difference: Difference) -> Iterator[str]:
    frequent = sorted(difference.odd.items(), key=lambda one: -len(one[1]))
    for value, hosts in frequent[:MOST_VALUES]:
        count = f"{len(hosts)} of {difference.nodes}"
        yield f"{count} have {difference.fact} {value}: {several(host_ranges(hosts))}"
    if hidden := sum(len(hosts) for _, hosts in frequent[MOST_VALUES:]):
        yield f"{hidden} of {difference.nodes} have {len(frequent) - MOST_VALUES} other values: {difference.fact}"


def _sights(record: HealthFile, health: Health) -> Iterator[str]:
    compared = [(sight, share) for sight in health.sights if (share := sight.screening.visible) is not None]
    yield ""
    if compared:
        yield "A slow node is noticed with 99 % probability if it is slower by:"
        yield from (
            f"  {units.share(share):>6}  {sight.label}, {len(sight.hosts)} nodes" for sight, share in compared
        )
    if said := few_peers(health):
        yield said
    if said := sentence(record):
        yield from _wrapped(said)
    busy = sum(visit.ended_unix_s - visit.started_unix_s for visit in record.visits)
    emulated = ", emulated" if record.origin == "emulated" else ""
    visits = f"{len(record.visits):,} measurements" if len(record.visits) != 1 else "1 measurement"
    yield f"{visits}, {busy:,.0f} s of node time{emulated}."


def _cut(text: str) -> str:
    return text if len(text) <= COLUMNS else f"{text[: COLUMNS - 3]}..."


def _wrapped(text: str, start: str = "", indent: str = "") -> list[str]:
    wrapper = textwrap.TextWrapper(COLUMNS - 1, start, indent, break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(text)
