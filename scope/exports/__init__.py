"""Formats in which results leave Scope: one file each, found by walking this package.

Each has `write(runs)`, which returns the content of one or more runs: a text, bytes, or the files of a folder.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scope.catalog.catalog import Catalog
from scope.catalog.catalog import read as read_catalog
from scope.errors import UsageError
from scope.findings.finding import Finding
from scope.findings.read import read_findings
from scope.machine.machine import Machine
from scope.models.derive import read_models
from scope.models.measurements import Measurements
from scope.models.models import Models
from scope.rundirectory import RunDirectory, RunRecord, read_json
from scope.samples.reader import read as read_samples
from scope.samples.samples import Samples
from scope.statistics.summarise import read_summaries
from scope.statistics.summary import Summary, headlines


@dataclass(frozen=True)
class Results:
    """A run as other programs get it."""

    folder: Path
    run: RunRecord
    machine: Machine
    catalog: Catalog
    summaries: list[Summary]
    findings: list[Finding]

    @property
    def figures(self) -> list[Summary]:
        """The valid results under the headline definitions of their metrics, in the order of the run."""
        return headlines(self.summaries)

    @property
    def performance(self) -> list[Summary]:
        """Those whose role is `result`: no phases, counts or conditions."""
        declared = ((one, self.catalog.metric(one.benchmark, one.metric)) for one in self.figures)
        return [one for one, metric in declared if metric is not None and metric.role == "result"]

    @cached_property
    def samples(self) -> Samples:
        """All samples, which most formats do without."""
        return read_samples(self.folder, self.catalog)

    @cached_property
    def models(self) -> Models:
        """What was derived from all results of the run."""
        return read_models(self.folder)

    @property
    def measurements(self) -> Measurements:
        """The chosen results as models see them."""
        return Measurements(self.summaries, self.machine, self.samples.launches, self.catalog)

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


Content = str | bytes | Mapping[str, bytes]
"""A text, bytes that are no text, or the files of a folder by their names."""
Writer = Callable[[Sequence[Results]], Content]


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
        folder=folder,
        run=read_json(directory.run, RunRecord),
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
