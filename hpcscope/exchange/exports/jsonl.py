"""All results as JSON Lines: one object per metric of each case, with all quantiles and the name of the run."""

import json
from collections.abc import Sequence

from hpcscope.exchange.exports import hosts
from hpcscope.findings.results import Run


def write(runs: Sequence[Run]) -> str:
    """Return the lines of all runs, with the keys of `statistics.json`."""
    return "".join(
        json.dumps({"run": run.record.name, "hosts": hosts(run).split(), **case.model_dump(mode="json")}) + "\n"
        for run in runs
        for case in run.headlines
    )
