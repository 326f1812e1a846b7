"""A value with its interval: the type of every derived number of a run."""

from __future__ import annotations

from hpcscope import units
from hpcscope.strict import Strict


class Estimate(Strict):
    """A value with its 95 % interval; a bound is None if it is unknown or does not exist."""

    value: float
    low: float | None = None
    high: float | None = None
    mixes_states: bool = False
    """Whether it is based on a case whose values mix states of the machine."""

    @classmethod
    def exact(cls, value: float) -> Estimate:
        """Return a value that is known exactly: its interval has no width."""
        return cls(value=value, low=value, high=value)

    @property
    def bounds(self) -> tuple[float, float, float]:
        """Low bound, value and high bound; an unknown bound is replaced by the value."""
        return (
            self.value if self.low is None else self.low,
            self.value,
            self.value if self.high is None else self.high,
        )

    def scaled(self, factor: float) -> Estimate:
        """Return the estimate times a positive factor."""
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
    """Write an estimated fraction with its interval: `91 % [89, 93]`."""
    return "–" if estimate is None else units.share(estimate.value, estimate.low, estimate.high)
