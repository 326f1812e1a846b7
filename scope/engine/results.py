"""A run as the public API shows it; each file is read when first needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from scope.catalog.benchmark import Definition, Value
from scope.catalog.catalog import Catalog
from scope.catalog.catalog import read as read_catalog
from scope.errors import ScopeError, UsageError
from scope.findings.finding import Finding
from scope.findings.read import read_findings
from scope.launch.supervision.journal import Journal
from scope.machine.machine import Machine
from scope.models.derive import read_models
from scope.models.measurements import Measurements
from scope.models.models import Models
from scope.plan.case import Case
from scope.rundirectory import RunDirectory, RunRecord, read_json
from scope.samples.reader import read as read_samples
from scope.samples.samples import Booleans, CaseSamples, Floats, Integers, Samples
from scope.statistics.definitions import series_of, times_under
from scope.statistics.summarise import read_summaries
from scope.statistics.summary import Summary
from scope.units import parsed

if TYPE_CHECKING:
    from pandas import DataFrame

BATCH = ("ranks", "transport", "placement")
"""Keys that select cases, besides their parameters."""
DEFAULTS: dict[str, Value] = {"transport": "default", "placement": "core"}


@dataclass(frozen=True)
class LaunchTimes:
    """The times of a case in one launch, in the order in which they were taken."""

    launch: int
    time_s: Floats
    """Seconds per operation under the definition of time; shape (repetitions,)."""
    valid: Booleans
    """False where the measurement itself marked a repetition invalid; shape (repetitions,)."""
    warmup: Booleans
    """True for the repetitions that are warm-up; shape (repetitions,)."""
    operations: Integers
    """Operations behind each elapsed time; shape (repetitions,)."""
    ranks: Integers
    """Ranks whose raw times were kept; shape (ranks,)."""
    elapsed_s: Floats
    """Raw elapsed times, not divided by operations; shape (ranks, repetitions)."""
    entry_s: Floats | None
    """When each rank entered, relative to the agreed start; shape as `elapsed_s`. None without an agreed start."""

    @property
    def counted(self) -> Booleans:
        """Which repetitions are results, neither warm-up nor invalid; shape (repetitions,)."""
        return self.valid & ~self.warmup


@dataclass(frozen=True)
class CaseTimes:
    """The times of one case in all launches, with their unit and the definition of time."""

    case: Case
    unit: str
    definition: Definition
    """Which time this is; see docs/method/time.md."""
    launches: list[LaunchTimes]

    @property
    def values(self) -> Floats:
        """The results of all launches: seconds per operation, without warm-up and invalid repetitions."""
        return np.concatenate([each.time_s[each.counted] for each in self.launches])

    @property
    def medians(self) -> Floats:
        """The median of each launch that has results; launches are the independent samples of a case."""
        counted = (each.time_s[each.counted] for each in self.launches)
        return np.array([np.median(values) for values in counted if values.size])

    def to_frame(self) -> DataFrame:
        """Return one row per launch and repetition (pandas); raises ScopeError where pandas is not installed."""
        return _frame(
            {
                "launch": each.launch,
                "repetition": number,
                "time_s": float(time_s),
                "warmup": bool(each.warmup[number]),
                "valid": bool(each.valid[number]),
            }
            for each in self.launches
            for number, time_s in enumerate(each.time_s)
        )


class Statistics(Sequence[Summary]):
    """The summaries of a run: one for each case, metric and definition of time."""

    def __init__(self, summaries: Sequence[Summary]) -> None:
        self._summaries = list(summaries)

    @overload
    def __getitem__(self, index: int) -> Summary: ...
    @overload
    def __getitem__(self, index: slice) -> Statistics: ...
    def __getitem__(self, index: int | slice) -> Summary | Statistics:
        found = self._summaries[index]
        return Statistics(found) if isinstance(found, list) else found

    def __len__(self) -> int:
        return len(self._summaries)

    def select(
        self, benchmark: str | None = None, metric: str | None = None, *, headline: bool = True, **choices: Value
    ) -> Statistics:
        """Return the summaries of a benchmark and a metric whose cases have these parameters.

        `headline`: only under the headline definition of each metric. `choices` may also be ranks, transport and
        placement; sizes may be written as `1Ki`.
        """
        return Statistics(
            [
                one
                for one in self._summaries
                if benchmark in (None, one.benchmark)
                and metric in (None, one.metric)
                and (one.primary or not headline)
                and _matches(one, choices)
            ]
        )

    def to_frame(self) -> DataFrame:
        """Return one row per summary (pandas), parameters as columns; ScopeError where pandas is not installed."""
        return _frame(_row(one) for one in self._summaries)


class Run:
    """A run directory: its samples, and everything that was derived from them.

    Raises UsageError naming the file, key and value where a file is missing or wrong.
    """

    def __init__(self, path: Path | str) -> None:
        self.directory = RunDirectory(Path(path))
        if not self.directory.run.is_file():
            raise UsageError(f"{path}: is not a run directory; must be one such as runs/latest, with its run.json")

    def __repr__(self) -> str:
        return f"Run({str(self.directory.path)!r})"

    @property
    def path(self) -> Path:
        """The folder."""
        return self.directory.path

    @cached_property
    def record(self) -> RunRecord:
        """The request, its time, and how the run ended."""
        return read_json(self.directory.run, RunRecord)

    @cached_property
    def well(self) -> bool:
        """Whether no case failed, crashed or timed out."""
        return not Journal.read_only(self.directory).failed

    @cached_property
    def machine(self) -> Machine:
        """The hosts, the MPI and the native program."""
        return read_json(self.directory.machine, Machine)

    @cached_property
    def benchmarks(self) -> Catalog:
        """The declarations of the benchmarks: parameters, metrics, units, definitions."""
        return read_catalog(self.directory.benchmarks)

    @cached_property
    def statistics(self) -> Statistics:
        """The median of every case and metric with its 95 % interval, and further statistics."""
        return Statistics(read_summaries(self.path))

    @cached_property
    def models(self) -> Models:
        """Fits, ladders, speed-ups and predictions."""
        return read_models(self.path)

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings, worst first."""
        return read_findings(self.path)

    @cached_property
    def raw_samples(self) -> Samples:
        """All samples of all cases and launches."""
        return read_samples(self.path, self.benchmarks)

    @cached_property
    def measurements(self) -> Measurements:
        """The results as models see them."""
        return Measurements(list(self.statistics), self.machine, self.raw_samples.launches, self.benchmarks)

    def cases(self, benchmark: str | None = None, **choices: Value) -> list[Case]:
        """Return the cases of a benchmark that have these parameters, ranks, transport and placement."""
        found = {one.case.key: one.case for one in self.raw_samples.cases}
        return [case for case in found.values() if benchmark in (None, case.benchmark) and _matches(case, choices)]

    def samples(self, benchmark: str, *, definition: Definition | None = None, **choices: Value) -> CaseTimes:
        """Return the times of the one case that these choices leave.

        `choices`: parameters of the benchmark, ranks, transport, placement; where several cases match, those that
        are not named have their defaults. `definition`: of time; None takes the headline definition of the
        benchmark. Raises UsageError naming what still differs where several cases are left, and the existing cases
        where none is.
        """
        case = self._single_case(benchmark, choices)
        asked = definition or self._headline(benchmark)
        launches = [
            launch
            for one in self.raw_samples.cases
            if one.case.key == case.key and (launch := _launch_times(one, asked)) is not None
        ]
        if not launches:
            raise UsageError(f"{self.path}: {case.label}: no times under the definition {asked}")
        return CaseTimes(case, "s", asked, launches)

    def _headline(self, benchmark: str) -> Definition:
        metrics = self.benchmarks[benchmark].metrics
        return next((each.definition for each in metrics if each.quantity != "observed"), metrics[0].definition)

    def _single_case(self, benchmark: str, choices: Mapping[str, Value]) -> Case:
        found = self._with_defaults(benchmark, self.cases(benchmark, **choices), choices)
        if len(found) == 1:
            return found[0]
        if not found:
            there = "; ".join(case.label for case in self.cases(benchmark)[:8]) or "none of this benchmark"
            asked = " ".join([benchmark, *(f"{key}={value}" for key, value in choices.items())])
            raise UsageError(f"{self.path}: no case {asked}; there are: {there}")
        values = {name: {str(_chosen(case, name)) for case in found} for name in (*found[0].parameters, *BATCH)}
        open_choices = ", ".join(
            f"{name}={'|'.join(sorted(each))}" for name, each in values.items() if len(each) > 1
        )
        raise UsageError(f"{self.path}: {len(found)} cases of {benchmark}: choose one by {open_choices}")

    def _with_defaults(self, benchmark: str, cases: list[Case], choices: Mapping[str, Value]) -> list[Case]:
        """Return the cases in which everything that was not chosen has its default, as far as there are any."""
        declared = {one.name: one.default for one in self.benchmarks[benchmark].parameters}
        for name, default in {**declared, **DEFAULTS}.items():
            if name not in choices:
                cases = [case for case in cases if _chosen(case, name) == default] or cases
        return cases


def _launch_times(one: CaseSamples, definition: Definition) -> LaunchTimes | None:
    times = series_of(definition, one.times)
    time_s = times_under(definition, times) if times else None
    if times is None or time_s is None:
        return None
    return LaunchTimes(
        launch=one.launch,
        time_s=time_s,
        valid=times.valid,
        warmup=times.warmup,
        operations=times.operations,
        ranks=times.ranks_kept,
        elapsed_s=times.elapsed_s,
        entry_s=times.entry_s,
    )


def _matches(case: Case, choices: Mapping[str, Value]) -> bool:
    return all(_same(_chosen(case, name), value) for name, value in choices.items())


def _chosen(case: Case, name: str) -> Value | None:
    return (
        str(case.placement)
        if name == "placement"
        else getattr(case, name)
        if name in BATCH
        else (case.parameters.get(name))
    )


def _same(value: Value | None, asked: Value) -> bool:
    if isinstance(asked, str) and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return value == parsed(asked)
        except ValueError:
            return False
    return value == asked


def _row(one: Summary) -> dict[str, Any]:
    plain = one.model_dump(exclude={"parameters", "placement", "work", "launch_medians", "launch_numbers"})
    return {"benchmark": one.benchmark, **one.parameters, "placement": str(one.placement), **plain}


def _frame(rows: Iterator[dict[str, Any]]) -> DataFrame:
    try:
        from pandas import DataFrame
    except ImportError as error:
        raise ScopeError("to_frame(): needs pandas, which is not installed; pip install pandas") from error
    return DataFrame(list(rows))
