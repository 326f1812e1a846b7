"""A figure with its interval: what every derived number of a run is."""

from __future__ import annotations

from hpcscope import units
from hpcscope.strict import Strict


class Estimate(Strict):
    """A figure with its 95 % interval; a bound is None where it is not known, or where there is none."""

    value: float
    low: float | None = None
    high: float | None = None
    mixes_states: bool = False
    """Whether it rests on a case whose figures mix states of the machine."""

    @classmethod
    def exact(cls, value: float) -> Estimate:
        """Return a figure that is known: its interval has no width."""
        return cls(value=value, low=value, high=value)

    @property
    def bounds(self) -> tuple[float, float, float]:
        """Low bound, value and high bound; a bound that is not known is the value."""
        return (
            self.value if self.low is None else self.low,
            self.value,
            self.value if self.high is None else self.high,
        )

    def scaled(self, factor: float) -> Estimate:
        """Return so many times the figure; the factor is positive."""
        return Estimate(
            value=self.value * factor,
            low=None if self.low is None else self.low * factor,
            high=None if self.high is None else self.high * factor,
            mixes_states=self.mixes_states,
        )

    def as_rate(self, amount: float) -> Estimate:
        """Return an amount over this time."""
        return Estimate(
            value=amount / self.value,
            low=amount / self.high if self.high else None,
            high=amount / self.low if self.low else None,
            mixes_states=self.mixes_states,
        )


def in_unit(estimate: Estimate | None, unit: str = "") -> str:
    """Write an estimate with its interval: `12.3 µs [12.1, 12.6]`."""
    return "–" if estimate is None else units.interval(estimate.value, estimate.low, estimate.high, unit)


def in_percent(estimate: Estimate | None) -> str:
    """Write an estimated share with its interval: `91 % [89, 93]`."""
    return "–" if estimate is None else units.share(estimate.value, estimate.low, estimate.high)
