"""Bencher's metric format (BMF): a JSON object of benchmarks, measures and values with their intervals.

https://bencher.dev/docs/reference/bencher-metric-format/
"""

import json
from collections.abc import Sequence

from hpcscope.exchange.exports import only
from hpcscope.findings.results import Run


def write(runs: Sequence[Run]) -> str:
    """Return the values of one run; cases are named by their labels, without the name of the run."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for case in only(runs, "bencher").headlines:
        values = {"value": case.median, "lower_value": case.ci_low, "upper_value": case.ci_high}
        known = {name: value for name, value in values.items() if value is not None}
        found.setdefault(case.label, {})[case.metric.replace("_", "-")] = known
    return json.dumps(found, indent=1) + "\n"
