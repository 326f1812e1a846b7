"""The values that describe one metric of one case, over all its launches."""

from collections.abc import Iterable, Mapping
from typing import Literal

from hpcscope.catalog.benchmark import Definition, Metric
from hpcscope.plan.case import Case
from hpcscope.samples.records import Origin, Work
from hpcscope.samples.samples import SamplesKey
from hpcscope.statistics.course import Course
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.figures import STATES_DIFFER
from hpcscope.statistics.ratio import PerLaunch
from hpcscope.strict import Strict

HoldsFor = Literal["further launches", "these launches", "these minutes", "no interval"]


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
    """False if the case failed, was not verified, or has no valid sample; its values are then not results."""
    reason: str
    """Why it is not valid; empty if it is."""
    work: Work | None = None
    """What one operation moves and computes; rates are this over the time."""
    steps: float = 1.0
    """Divisor of an operation's time: 1, or the declared steps if the metric is the time of one step."""

    median: float | None
    """The median of the launch medians if the interval is based on launches, else of all valid samples."""
    ci_low: float | None
    ci_high: float | None
    interval_basis: Literal["launches", "samples", "none"]
    """What the interval is based on: medians of at least 6 launches, or pooled samples if there are fewer."""
    coverage: float | None
    """The confidence that the order statistics actually reach (at least 0.95 if n allows it)."""
    n: int
    """Number of valid samples over all launches, warm-up excluded."""
    launches: int
    launch_medians: list[float]
    launch_numbers: list[int] = []
    """Numbers of the same launches in the run; empty if the values have none."""
    mean: float | None
    coefficient_of_variation: float | None
    minimum: float | None
    p05: float | None
    p25: float | None
    p75: float | None
    p95: float | None
    p99: float | None
    maximum: float | None
    sanitized_mean: float | None
    """Mean of the samples up to the 99th percentile (NetFinity's sanitizing), alongside the raw mean."""
    sanitized_coefficient_of_variation: float | None
    between_launch_share: float | None
    """Fraction of the variance that is between launches."""
    invalid_share: float
    """Fraction of samples that the measurement itself marked invalid: some rank began late in its window."""
    relative_interval: float | None
    """Half width of the interval over the median."""
    resolution: float = 0.0
    """Half a step of the clock over the median: no launch's median is known more precisely."""
    between_modes: bool = False
    """Whether the median is in a gap between two modes: a value that was hardly ever measured."""
    launch_states: list[int] = []
    """The state of the machine in each launch, as the course numbers them; empty if there is only one."""
    state_medians: list[float | None] = []
    """The median in each state of the machine; None if the case was not measured in it."""
    printed: str = ""
    """The statistic that another program printed: `mean of 10,000 repetitions`; empty for a median."""
    launches_dependent: bool = False
    """Whether successive launches of the run were alike: the interval is then valid for its time only."""

    @property
    def dimensionless(self) -> bool:
        """Whether it is an observed fraction, deviation or quotient: near zero, a factor says little."""
        return self.definition == "observed" and self.unit in ("", "1")

    @property
    def state_factor(self) -> float | None:
        """Time of the case in the slowest state of the machine over its time in the fastest state.

        None if it was not measured in every state, and for dimensionless values.
        """
        if self.dimensionless:
            return None
        known = [median for median in self.state_medians if median]
        if len(known) < max(len(self.state_medians), 2):
            return None
        return known[-1] / known[0] if self.better == "lower" else known[0] / known[-1]

    @property
    def state_mixture(self) -> bool:
        """Whether the values mix states of the machine in which they differ."""
        return (self.state_factor or 1.0) > STATES_DIFFER

    @property
    def holds_for(self) -> HoldsFor:
        """What the interval is valid for; `further launches` if it is based on independent launches."""
        if self.median is None or self.interval_basis == "none":
            return "no interval"
        if self.interval_basis == "samples":
            return "these launches"
        return "these minutes" if self.launches_dependent else "further launches"

    @property
    def samples_key(self) -> SamplesKey:
        """The key of its case in the samples: `CaseSamples.key`."""
        return self.key, self.origin

    @property
    def case(self) -> Case:
        """The case alone."""
        return Case.model_validate({name: getattr(self, name) for name in Case.model_fields})

    @property
    def is_headline(self) -> bool:
        """Whether it is a result under its metric's headline definition."""
        return self.primary and self.valid and self.median is not None

    @property
    def estimate(self) -> Estimate:
        """The median with its interval; raises ValueError if there is no median."""
        if self.median is None:
            raise ValueError(f"{self.metric} of {self.label}: has no median")
        return Estimate(value=self.median, low=self.ci_low, high=self.ci_high, mixes_states=self.state_mixture)

    @property
    def per_launch(self) -> PerLaunch:
        """Return the estimate with the value of each launch; raises ValueError if there is no median."""
        launches = dict(zip(self.launch_numbers, self.launch_medians, strict=False))
        return PerLaunch(self.estimate, launches, self.resolution)


def summary_of(case: Case, metric: Metric, values: Mapping[str, object], reason: str, **known: object) -> Summary:
    """Return the summary of a metric of a case from its values, and what else is known about it by field.

    `reason`: why it is not valid; empty if it is.
    """
    declared = {"metric": metric.name, "unit": metric.unit, "better": metric.better}
    validity = {"valid": not reason, "reason": reason, "invalid_share": 0.0}
    return Summary.model_validate({**case.model_dump(), **declared, **validity, **known, **values})


def headlines(summaries: Iterable[Summary]) -> list[Summary]:
    """Return the results under their headline definitions."""
    return [summary for summary in summaries if summary.is_headline]


class Summaries(Strict):
    """`statistics.json`."""

    format: int
    summaries: list[Summary]
    course: Course
