"""The verdicts of `scope health` for other programs: JUnit XML, OpenMetrics, and Node Health Check lines.

Host names and the facts that hosts report may contain any characters; each format escapes them in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from math import exp
from xml.etree import ElementTree

from hpcscope.errors import UsageError
from hpcscope.exchange.exports.junit import document, printable
from hpcscope.exchange.exports.openmetrics import add
from hpcscope.health.records import HealthFile
from hpcscope.health.verdict import BAD, ORDER, SILENT, Health, NodeVerdict
from hpcscope.visible import visible

UNITS = {"B/s": "_bytes_per_second", "s": "_seconds", "flop/s": "_flops_per_second", "": "_ratio"}
LONGEST_REASON = 200
_TAGS = {BAD: "failure", SILENT: "error"}


def junit(record: HealthFile, health: Health) -> str:
    """Return a suite with a test for each node: bad nodes fail, silent nodes are errors, suspects pass."""
    suite = ElementTree.Element("testsuite", name="scope health", tests=str(len(health.nodes)))
    started = datetime.fromtimestamp(record.started_unix_s, UTC)
    suite.set("timestamp", started.isoformat(timespec="seconds"))
    suite.set("failures", str(len(health.hosts(BAD))))
    suite.set("errors", str(len(health.hosts(SILENT))))
    for node in health.nodes:
        case = ElementTree.SubElement(suite, "testcase", classname="scope.health", name=printable(node.host))
        text = printable("\n".join(f"{evidence.verdict}: {evidence.text}" for evidence in node.evidence))
        if tag := _TAGS.get(node.verdict):
            ElementTree.SubElement(case, tag, message=printable(node.evidence[0].text)).text = text
        elif text:
            ElementTree.SubElement(case, "system-out").text = text
    return document([suite])


def openmetrics(record: HealthFile, health: Health) -> str:
    """Return gauges: each node's verdict (1 for the verdict that applies, else 0) and the median of each check."""
    gauges: dict[str, list[str]] = {}
    add(gauges, "scope_health_finished_timestamp_seconds", "time of the check's end", {}, record.finished_unix_s)
    for node in health.nodes:
        for verdict in ORDER:
            labels, has = {"node": node.host, "verdict": verdict}, int(node.verdict == verdict)
            add(gauges, "scope_health_verdict", "1 if the node has this verdict, otherwise 0", labels, has)
    for sight in health.sights:
        name = f"scope_health_{sight.check.name}{UNITS[sight.check.unit]}"
        for host, row in sight.rows.items():
            value = sight.check.cost(exp(float(sight.screening.typical[row])))
            add(gauges, name, f"{sight.check.label}, median", {"node": host, "place": sight.place}, value)
    return "".join(line + "\n" for lines in gauges.values() for line in lines) + "# EOF\n"


def nhc(_record: HealthFile, health: Health) -> str:
    """Return a line for each node that must not be used, as LBNL Node Health Check prints it; empty without any.

    https://github.com/mej/nhc, `die` in the script `nhc`; TORQUE treats lines that begin with ERROR as failures.
    """
    said = [
        " ".join(f"{node.host} is {node.verdict}: {node.evidence[0].text}".split())
        for node in health.nodes
        if node.verdict in (BAD, SILENT)
    ]
    return "".join(f"ERROR:  nhc:  Health check failed:  scope health:  {text}\n" for text in said)


FORMATS: Mapping[str, Callable[[HealthFile, Health], str]] = {
    "junit": junit,
    "nhc": nhc,
    "openmetrics": openmetrics,
}


def written(name: str, record: HealthFile, health: Health) -> str:
    """Return the verdicts in a format; UsageError for an unknown format lists the known ones."""
    if name not in FORMATS:
        raise UsageError(f"{name}: unknown format; for a check of health it must be one of {', '.join(FORMATS)}")
    return visible(FORMATS[name](record, health))


def drain_commands(template: Sequence[str], health: Health) -> list[list[str]]:
    """Return the words of a command for each node that must not be used; the command is run without a shell.

    `{node}` and `{reason}` are replaced inside words. In a reason, characters that a shell on another host would
    interpret become `_`. A node whose name could denote several nodes or an option gets no command.
    """
    nodes = [
        node
        for node in health.nodes
        if node.verdict in (BAD, SILENT) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", node.host)
    ]
    return [[_filled(word, node) for word in template] for node in nodes]


def _filled(word: str, node: NodeVerdict) -> str:
    said = f"scope health: {node.verdict}, {node.evidence[0].text}"
    values = {"{node}": node.host, "{reason}": re.sub(r"[^A-Za-z0-9 .,:%/+_-]", "_", said)[:LONGEST_REASON]}
    return re.sub(r"\{(?:node|reason)\}", lambda found: values[found[0]], word)
