"""Export formats: one module each, found by walking this package.

Each module has `write(runs)`, which returns the export of one or more runs: a text, or bytes for a binary format.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence

from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.statistics.summary import Summary

Content = str | bytes
Writer = Callable[[Sequence[Run]], Content]


def names() -> list[str]:
    """Return the names of the formats, as used on the command line."""
    return [info.name.replace("_", "-") for info in pkgutil.iter_modules(__path__)]


def writer(name: str) -> Writer:
    """Return the writer of a format."""
    found: Writer = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").write
    return found


def only(runs: Sequence[Run], name: str) -> Run:
    """Return the only run, for a format that holds a single run; UsageError for any other number of runs."""
    if len(runs) != 1:
        raise UsageError(f"{name}: must have one run, not {len(runs)}")
    return runs[0]


def parameter_names(figures: Iterable[Summary]) -> list[str]:
    """Return the names of all parameters, in the order of their first occurrence."""
    return list(dict.fromkeys(name for case in figures for name in case.parameters))


def hosts(run: Run) -> str:
    """Return the names of the hosts of a run, separated by spaces."""
    return " ".join(host.name for host in run.machine.hosts)


def performance(run: Run) -> list[Summary]:
    """Return the valid results of a run with the role `result`, without phases, counts and conditions."""
    declared = ((summary, run.benchmarks.metric(summary.benchmark, summary.metric)) for summary in run.headlines)
    return [summary for summary, metric in declared if metric is not None and metric.role == "result"]


def by_case(run: Run) -> list[list[Summary]]:
    """Return the headline summaries of each case, wrong ones included, in the order of the run."""
    cases: dict[object, list[Summary]] = {}
    for summary in run.statistics.primary:
        cases.setdefault(summary.samples_key, []).append(summary)
    return list(cases.values())
