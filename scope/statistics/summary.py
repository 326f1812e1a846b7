"""The figures that describe one metric of one case, over all its launches."""

from __future__ import annotations

from typing import Literal

from scope.build.registry import Definition
from scope.samples.records import Origin, Value, Work
from scope.strict import Strict


class Case(Strict):
    """What identifies a case: everything that was chosen before it ran."""

    benchmark: str
    parameters: dict[str, Value]
    ranks: int
    transport: str
    placement: str

    @property
    def label(self) -> str:
        """The case as people read it: `mpi.latency mode=standard message_bytes=0, 2 ranks`."""
        words = [self.benchmark, *(f"{name}={value}" for name, value in self.parameters.items())]
        extra = [f"{self.ranks} rank{'s' if self.ranks != 1 else ''}"]
        extra += [self.transport] if self.transport != "default" else []
        kind, _, group = self.placement.partition(":")
        extra += {"node": ["one per host"], "threads": ["MPI_THREAD_MULTIPLE"]}.get(kind, [])
        extra += [f"on {group}"] if group else []
        return " ".join(words) + ", " + ", ".join(extra)


class Summary(Case):
    """One metric of a case under one definition of time. Rates are derived from the median time."""

    metric: str
    unit: str
    better: Literal["lower", "higher"]
    definition: Definition | Literal["observed"]
    primary: bool
    """Whether this is the metric's headline definition."""
    origin: Origin
    valid: bool
    """False when the case failed, was not verified, or has no valid sample; the figures are then not results."""
    reason: str
    """Why it is not valid; empty when it is."""
    work: Work | None = None
    """What one operation moves and computes; rates are this over the time."""
    steps: float = 1.0
    """What an operation's time is divided by: 1, or the declared steps where the metric is the time of one."""

    median: float | None
    """The median of the launch medians where the interval rests on launches, else of all valid samples."""
    ci_low: float | None
    ci_high: float | None
    interval_basis: Literal["launches", "samples", "none"]
    """What the interval rests on: medians of at least 6 launches, or pooled samples when there are fewer."""
    coverage: float | None
    """The confidence that the order statistics actually reach (at least 0.95 where n allows it)."""
    n: int
    """Valid samples over all launches, warm-up excluded."""
    launches: int
    launch_medians: list[float]
    mean: float | None
    coefficient_of_variation: float | None
    minimum: float | None
    p05: float | None
    p25: float | None
    p75: float | None
    p95: float | None
    p99: float | None
    maximum: float | None
    sanitised_mean: float | None
    """Mean of the samples up to the 99th percentile (NetFinity's sanitising), a view beside the raw mean."""
    sanitised_coefficient_of_variation: float | None
    autocorrelation: float | None
    """Largest lag-1 autocorrelation over the launches."""
    autocorrelated: bool
    between_launch_share: float | None
    """Share of the variance that lies between launches."""
    invalid_share: float
    """Share of samples that the measurement itself marked invalid (late window starts)."""
    tight_share: float
    """Share of launches in which the interval became as tight as asked."""
    relative_interval: float | None
    """Half width of the interval over the median."""


class Summaries(Strict):
    """`statistics.json`."""

    format: int
    summaries: list[Summary]
