"""All results as JSON Lines: an object for each metric of each case, with all quantiles and the run's name."""

from __future__ import annotations

import json
from collections.abc import Sequence

from scope.exchange.exports import Results


def write(runs: Sequence[Results]) -> str:
    """Return the lines of all runs; the keys are those of `statistics.json`."""
    return "".join(
        json.dumps(
            {"run": each.run.name, "hosts": each.hosts.split(), **one.model_dump(mode="json")}, ensure_ascii=False
        )
        + "\n"
        for each in runs
        for one in each.figures
    )
