"""The times of one case as arrays, launch by launch, under one definition of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hpcscope.catalog.benchmark import Definition
from hpcscope.plan.case import Case
from hpcscope.samples.samples import Booleans, CaseSamples, Floats, Integers
from hpcscope.statistics.definitions import series_of, times_under
from hpcscope.statistics.selection import frame

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class LaunchTimes:
    """The times of a case in one launch, in the order in which they were taken."""

    launch: int
    time_s: Floats
    """Seconds per operation under the definition of time; shape (repetitions,)."""
    valid: Booleans
    """False if the measurement itself marked a repetition invalid; shape (repetitions,)."""
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
        return np.concatenate([launch.time_s[launch.counted] for launch in self.launches])

    @property
    def medians(self) -> Floats:
        """The median of each launch that has results; launches are the independent samples of a case."""
        counted = (launch.time_s[launch.counted] for launch in self.launches)
        return np.array([np.median(values) for values in counted if values.size])

    def to_frame(self) -> DataFrame:
        """Return one row per launch and repetition (pandas); raises ScopeError if pandas is not installed."""
        return frame(
            {
                "launch": times.launch,
                "repetition": number,
                "time_s": float(time_s),
                "warmup": bool(times.warmup[number]),
                "valid": bool(times.valid[number]),
            }
            for times in self.launches
            for number, time_s in enumerate(times.time_s)
        )


def launch_times(case: CaseSamples, definition: Definition) -> LaunchTimes | None:
    """Return the times of a case in one launch; None if they do not allow this definition."""
    times = series_of(definition, case.times)
    time_s = times_under(definition, times) if times else None
    if times is None or time_s is None:
        return None
    return LaunchTimes(
        launch=case.launch,
        time_s=time_s,
        valid=times.valid,
        warmup=times.warmup,
        operations=times.operations,
        ranks=times.ranks_kept,
        elapsed_s=times.elapsed_s,
        entry_s=times.entry_s,
    )
