"""Cases without a result that a person asked for by name: the run has failed, however well its other cases are."""

from __future__ import annotations

from pathlib import Path

from scope.catalog import catalog as catalogs
from scope.plan import experiment as asking
from scope.rundirectory import Run, RunDirectory, read_json
from scope.samples.reader import read as read_samples


def without_result(run: Path) -> list[str]:
    """Return `benchmark: reason` of every such case of a run, each once.

    A `[[case]]` is asked for as it stands; of a benchmark that `only` names in full one result is enough.
    """
    directory = RunDirectory(run)
    experiment = asking.resolve(directory.experiment, {})
    explicit = {selection.benchmark for selection in experiment.case}
    named = explicit | set(experiment.only)
    if not named or not directory.samples.exists():
        return []
    launches = read_samples(run, catalogs.read(directory.benchmarks)).by_case().values()
    measured = {each[0].case.benchmark for each in launches if any(one.status == "ok" for one in each)}
    reached = {each[0].case.benchmark for each in launches}
    reasons = [
        f"{each[0].case.benchmark}: {each[0].reason}"
        for each in launches
        if each[0].case.benchmark in named
        and all(one.status == "unavailable" for one in each)
        and (each[0].case.benchmark in explicit or each[0].case.benchmark not in measured)
    ]
    skipped = read_json(directory.run, Run).skipped
    reasons += [f"{one.benchmark}: {one.reason}" for one in skipped if one.benchmark in named - reached]
    return list(dict.fromkeys(reasons))
