"""All results as JSON Lines: an object for each metric of each case, with all quantiles and the run's name."""

import json
from collections.abc import Sequence

from hpcscope.exchange.exports import hosts
from hpcscope.findings.results import Run


def write(runs: Sequence[Run]) -> str:
    """Return the lines of all runs; the keys are those of `statistics.json`."""
    return "".join(
        json.dumps({"run": run.record.name, "hosts": hosts(run).split(), **case.model_dump(mode="json")}) + "\n"
        for run in runs
        for case in run.headlines
    )
