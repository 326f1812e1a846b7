"""Caliper's split JSON, which Hatchet and Thicket read: cases in a tree, metrics as columns, the run as metadata.

`Thicket.from_caliper` composes the files of several runs; equal cases of two runs are one node.
Brink et al., Thicket: seeing the performance experiment forest for the individual run trees, HPDC 2023.
https://software.llnl.gov/Caliper/OutputFormats.html#json-split
"""

import json
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from hpcscope.exchange.exports import hosts, only
from hpcscope.findings.results import Run

PATH = "path"
ORDER = "Node order"
"""Column with the order of the nodes; Hatchet expects it as the first column, and a row for each node."""
RANKS = "mpi.world.size"
_ENDS = {"": "median", " low": "ci_low", " high": "ci_high"}


def write(runs: Sequence[Run]) -> str:
    """Return the tree of one run (level, benchmark, case), with columns for each metric's median and interval."""
    run = only(runs, "thicket")
    units = {f"{case.metric}{end}": case.unit for case in run.headlines for end in _ENDS}
    columns = [RANKS, *units]
    nodes: dict[tuple[str, ...], int] = {}
    rows: dict[int, dict[str, float | None]] = {}
    for summary in run.headlines:
        layer = summary.benchmark.partition(".")[0]
        for path in accumulate(((part,) for part in (layer, summary.benchmark, summary.label)), tuple.__add__):
            nodes.setdefault(path, len(nodes))
        row = rows.setdefault(nodes[path], {RANKS: summary.ranks})
        row.update({f"{summary.metric}{end}": getattr(summary, name) for end, name in _ENDS.items()})
    document = {
        "data": [[node, *(rows.get(node, {}).get(name) for name in columns), node] for node in nodes.values()],
        "columns": [ORDER, *columns, PATH],
        "column_metadata": [
            {"is_value": name not in (ORDER, PATH)} | ({"attribute.unit": units[name]} if name in units else {})
            for name in (ORDER, *columns, PATH)
        ],
        "nodes": [
            {"label": path[-1], "column": PATH} | ({"parent": nodes[path[:-1]]} if path[:-1] else {})
            for path in nodes
        ],
        **_about(run),
    }
    return json.dumps(document, allow_nan=False, indent=1) + "\n"


def _about(run: Run) -> dict[str, Any]:
    """Return the metadata by which Thicket tells runs apart."""
    build = run.machine.build
    return {
        "run": run.record.name,
        "launchdate": int(run.record.started_unix_s),
        "hosts": hosts(run),
        "origin": " ".join(sorted({case.origin for case in run.headlines})),
        "processor": " ".join(dict.fromkeys(host.processor.model for host in run.machine.hosts)),
        "mpi": f"{build.mpi.name} {build.mpi.version}" if build else "",
        "compiler": build.compiler if build else "",
        "scope_version": run.record.scope_version,
    }
