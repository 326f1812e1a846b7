"""The samples of a run as arrays, which the statistics work on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hpcscope.catalog.benchmark import Value
from hpcscope.catalog.catalog import Catalog
from hpcscope.plan.case import Batch, Case, Key
from hpcscope.samples.records import (
    LONGEST_S,
    SHORTEST_S,
    CaseRecord,
    ClockSynchronization,
    Disturbances,
    EndRecord,
    JobRecord,
    LaunchRecord,
    Origin,
    PrintedRecord,
    RankState,
    RoundRecord,
    SentinelRecord,
    Series,
    Status,
    Verification,
    Work,
)

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ExtremeTimes:
    """Extremes of each repetition over all ranks; arrays of the shape (repetitions,), times in seconds."""

    minimum_s: Floats
    minimum_rank: Integers
    maximum_s: Floats
    maximum_rank: Integers
    mean_s: Floats
    first_entry_s: Floats
    """Relative to the agreed start, like the exits."""
    latest_exit_s: Floats


@dataclass(frozen=True)
class Times:
    """Raw times of one cadence of a case in one launch, in the order in which they were taken."""

    cadence: str
    synchronization: str
    operations: Integers
    """Operations behind each elapsed time; shape (repetitions,)."""
    warmup: Booleans
    """Which repetitions are warm-up; shape (repetitions,)."""
    ranks_kept: Integers
    """Shape (kept ranks,)."""
    elapsed_s: Floats
    """Shape (kept ranks, repetitions)."""
    entry_s: Floats | None
    """When each rank entered, relative to the agreed start; shape as `elapsed_s`."""
    valid: Booleans
    """Shape (repetitions,)."""
    observed: dict[str, Floats]
    """Each has the shape of `elapsed_s`."""
    extremes: ExtremeTimes | None
    observed_maximum: dict[str, Floats] = field(default_factory=dict)
    """Largest values over all ranks, if some are not kept; shape (repetitions,)."""
    medians_s: Floats | None = None
    """Median of every rank after the warm-up; shape (ranks,). Only for pairs on many ranks."""

    def largest_observed(self, name: str) -> Floats | None:
        """Return a quantity's largest value over all ranks, shape (repetitions,); None if there is none."""
        kept = self.observed.get(name)
        if kept is None or not kept.size:
            return None
        largest: Floats = kept.max(axis=0)
        return self.observed_maximum.get(name, largest)

    @property
    def repetitions(self) -> int:
        """Number of recorded repetitions, including warm-up and invalid ones."""
        return int(self.elapsed_s.shape[1])

    @property
    def counted(self) -> Booleans:
        """Which repetitions are results: neither warm-up nor invalid; shape (repetitions,)."""
        return self.valid & ~self.warmup

    @property
    def invalid(self) -> int:
        """Number of repetitions after the warm-up that were marked invalid."""
        return int(np.count_nonzero(~self.valid & ~self.warmup))

    @classmethod
    def from_record(cls, series: Series) -> Times:
        """Turn a validated line's series into arrays; raises ValueError naming the key with a wrong value."""
        if series.operations < 1:
            raise ValueError(f"operations = {series.operations}: must be at least 1")
        elapsed = _rows("elapsed_s", series.elapsed_s, len(series.ranks_kept))
        too_short = elapsed[(np.abs(elapsed) < SHORTEST_S) & (elapsed != 0)]
        if too_short.size:
            raise ValueError(f"elapsed_s: {too_short[0]:g}: must be 0, or from {SHORTEST_S:g} to {LONGEST_S:g} s")
        repetitions = elapsed.shape[1]
        if not 0 <= series.warmup <= repetitions:
            raise ValueError(f"warmup = {series.warmup}: must be from 0 to {repetitions} repetitions")
        shape = (len(series.ranks_kept), repetitions)
        valid = np.ones(repetitions, dtype=np.bool_) if series.valid is None else np.array(series.valid, np.bool_)
        if valid.shape != (repetitions,):
            raise ValueError(f"valid: {valid.size} values: must be one for each of the {repetitions} repetitions")
        observed = {name: _rows(f"observed.{name}", rows, *shape) for name, rows in series.observed.items()}
        maximum = {
            name: _rows(f"observed_maximum.{name}", [row], 1, repetitions)[0]
            for name, row in (series.observed_maximum or {}).items()
        }
        return cls(
            cadence=series.cadence,
            synchronization=series.synchronization,
            operations=np.full(repetitions, series.operations, dtype=np.int64),
            warmup=np.arange(repetitions) < series.warmup,
            ranks_kept=np.array(series.ranks_kept, dtype=np.int64),
            elapsed_s=elapsed,
            entry_s=None if series.entry_s is None else _rows("entry_s", series.entry_s, *shape),
            valid=valid,
            observed=observed,
            extremes=_extremes(series, repetitions),
            observed_maximum=maximum,
            medians_s=None if series.medians_s is None else _rows("medians_s", [series.medians_s], 1)[0],
        )


def _rows(key: str, rows: list[list[float]], ranks: int, repetitions: int | None = None) -> Floats:
    if len(rows) != ranks:
        raise ValueError(f"{key}: {len(rows)} rows: must be one for each of the {ranks} ranks kept")
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise ValueError(f"{key}: rows of {min(lengths)} and {max(lengths)} values: must be equally long")
    array = np.array(rows, dtype=np.float64).reshape(ranks, lengths.pop() if lengths else 0)
    if repetitions is not None and array.shape[1] != repetitions:
        raise ValueError(f"{key}: {array.shape[1]} values per rank: must be {repetitions} as in elapsed_s")
    if not np.isfinite(array).all():
        raise ValueError(f"{key}: holds a number that is not finite: only finite numbers are samples")
    return array


def _extremes(series: Series, repetitions: int) -> ExtremeTimes | None:
    if series.extremes is None:
        return None
    given = series.extremes

    def row(name: str) -> Floats:
        values: Floats = _rows(f"extremes.{name}", [list(map(float, getattr(given, name)))], 1, repetitions)[0]
        return values

    return ExtremeTimes(
        minimum_s=row("minimum_s"),
        minimum_rank=row("minimum_rank").astype(np.int64),
        maximum_s=row("maximum_s"),
        maximum_rank=row("maximum_rank").astype(np.int64),
        mean_s=row("mean_s"),
        first_entry_s=row("first_entry_s"),
        latest_exit_s=row("latest_exit_s"),
    )


SamplesKey = tuple[Key, Origin]


@dataclass(frozen=True)
class CaseSamples:
    """One visit of one launch to one case: what was chosen, how it ended, and its times."""

    case: Case
    origin: Origin
    launch: int
    attempt: int
    position: int
    """Position in the launch's shuffled order."""
    started_unix_s: float
    duration_s: float
    """Includes preparation, warm-up and verification."""
    disturbances: Disturbances | None
    """None if nothing was sampled."""
    status: Status
    reason: str
    verification: Verification | None
    work: Work | None
    times: list[Times]
    rank_states: list[RankState]
    synchronization: ClockSynchronization | None
    """How the clocks of its launch were synchronized; None if the launch never got so far."""
    clock_step_s: float
    """Smallest step of the clock that timed it; 0 if the launch never got so far."""
    settings: Mapping[str, Value] = field(default_factory=dict)
    """Settings that a library or a device reported for this case alone."""

    @cached_property
    def key(self) -> SamplesKey:
        """What the same case has in common in all launches: the case and the origin; hashable."""
        return self.case.key, self.origin

    @property
    def ok(self) -> bool:
        """Whether it ended normally with the right data."""
        return self.status == "ok"


@dataclass(frozen=True)
class PrintedFigure:
    """A value of a case as another program printed it."""

    case: Case
    record: PrintedRecord


@dataclass(frozen=True)
class CutLine:
    """A last line without an end: the run was interrupted while it was written."""

    line: int
    """Its number in the file, from 1."""
    length: int
    """Number of bytes that are present."""
    start: str
    """Its first characters."""


@dataclass(frozen=True)
class DamagedLine:
    """A line that changed after it was written, or that no version of Scope can have written; it is left out."""

    line: int
    """Its number in the file, from 1."""
    reason: str


@dataclass(frozen=True)
class Samples:
    """Everything in `samples.jsonl`."""

    launches: list[LaunchRecord]
    ends: list[EndRecord]
    cases: list[CaseSamples]
    """One per visit: the last attempt that was ok, else the last attempt."""
    failures: list[CaseSamples] = field(default_factory=list)
    """Every attempt that was not ok, even if it was later repeated with success."""
    printed: list[PrintedFigure] = field(default_factory=list)
    """Printed values of an imported run, which has neither launches nor cases."""
    sentinels: list[SentinelRecord] = field(default_factory=list)
    """In the order in which they were measured."""
    jobs: list[JobRecord] = field(default_factory=list)
    """The jobs of a mix whose throughput was measured, in the order in which they ended."""
    rounds: list[RoundRecord] = field(default_factory=list)
    """The rounds that ended."""
    cut_line: CutLine | None = None
    damaged: list[DamagedLine] = field(default_factory=list)

    def by_case(self) -> dict[SamplesKey, list[CaseSamples]]:
        """Group the cases over their launches, in the order in which they first occur."""
        groups: dict[SamplesKey, list[CaseSamples]] = {}
        for case in self.cases:
            groups.setdefault(case.key, []).append(case)
        return groups


def join(
    record: CaseRecord, launch: LaunchRecord | None, batch: Batch, origin: Origin, catalog: Catalog
) -> CaseSamples:
    """Combine the line of a case with what the line of its launch contains.

    Keys with the prefixes `sampling.` and `case.` control the sampling and do not identify the case.
    """
    parameters = {k: v for k, v in record.parameters.items() if not k.startswith(("sampling.", "case."))}
    return CaseSamples(
        case=Case.of(catalog, record.benchmark, parameters, batch),
        origin=origin,
        launch=record.launch,
        attempt=record.attempt,
        position=record.position,
        started_unix_s=record.started_unix_s,
        duration_s=record.duration_s,
        disturbances=record.disturbances,
        status=record.status,
        reason=record.reason,
        verification=record.verification,
        work=record.work,
        times=[Times.from_record(series) for series in record.series],
        rank_states=record.rank_states,
        synchronization=launch.clock_synchronization if launch else None,
        clock_step_s=launch.clock.resolution_s if launch else 0.0,
        settings=record.settings,
    )
