"""Formats in which results leave Scope: one file each, found by walking this package.

Each has `write(runs)`, which returns the text of one or more runs.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scope.catalog.catalog import Catalog
from scope.catalog.catalog import read as read_catalog
from scope.errors import UsageError
from scope.findings.finding import Finding
from scope.findings.read import read_findings
from scope.machine.machine import Machine
from scope.rundirectory import Run, RunDirectory, read_json
from scope.statistics.summarise import read_summaries
from scope.statistics.summary import Summary, headlines


@dataclass(frozen=True)
class Results:
    """A run as other programs get it."""

    run: Run
    machine: Machine
    catalog: Catalog
    summaries: list[Summary]
    findings: list[Finding]

    @property
    def figures(self) -> list[Summary]:
        """The valid results under the headline definitions of their metrics, in the order of the run."""
        return headlines(self.summaries)

    @property
    def hosts(self) -> str:
        """The names of the hosts, separated by spaces."""
        return " ".join(host.name for host in self.machine.hosts)

    def by_case(self) -> list[list[Summary]]:
        """Return the headline summaries of each case, wrong ones included, in the order of the run."""
        cases: dict[object, list[Summary]] = {}
        for one in self.summaries:
            if one.primary:
                cases.setdefault(one.samples_key, []).append(one)
        return list(cases.values())


Writer = Callable[[Sequence[Results]], str]


def names() -> list[str]:
    """Return the names of the formats, as the command line has them."""
    return [info.name.replace("_", "-") for info in pkgutil.iter_modules(__path__)]


def writer(name: str) -> Writer:
    """Return the writer of a format."""
    found: Writer = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").write
    return found


def results(folder: Path) -> Results:
    """Read a run; UsageError names what is missing or wrong in its files."""
    directory = RunDirectory(folder)
    return Results(
        run=read_json(directory.run, Run),
        machine=read_json(directory.machine, Machine),
        catalog=read_catalog(directory.benchmarks),
        summaries=read_summaries(folder),
        findings=read_findings(folder),
    )


def only(runs: Sequence[Results], name: str) -> Results:
    """Return the run of a format that holds one; UsageError for more."""
    if len(runs) != 1:
        raise UsageError(f"{name}: must have one run, not {len(runs)}")
    return runs[0]


def parameter_names(figures: Iterable[Summary]) -> list[str]:
    """Return the names of all parameters, in the order in which they first occur."""
    return list(dict.fromkeys(name for one in figures for name in one.parameters))
