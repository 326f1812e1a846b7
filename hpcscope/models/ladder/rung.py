"""A ladder and its rungs: the values of the layers, each compared with what is below it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from hpcscope.catalog.benchmark import Layer
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.ratio import PerLaunch, Ratio, ratio
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict

Quantity = Literal["bandwidth_bytes_per_s", "latency_s", "flops_per_s"]
LAYERS: tuple[Layer, ...] = get_args(Layer)


class LadderRung(Strict):
    """One benchmark on one layer of the ladder, or its limit."""

    layer: Layer
    name: str
    """A case's label or the name of the limit."""
    value: float | None
    low: float | None
    high: float | None
    unit: str
    retained: float | None
    """Fraction of the layer below that this rung delivers; None on the lowest rung or if either is missing."""
    retained_low: float | None
    retained_high: float | None
    paired_launches: int = 0
    """Launches that measured this rung and the one below; their ratios give the interval of `retained`."""
    of_limit: float | None
    reason: str
    """Why a value is missing; empty if it is not."""
    note: str = ""
    """A remark on the value, for example that the messages stay in a cache."""
    mixes_states: bool = False
    """Whether the value mixes states of the machine."""


class Ladder(Strict):
    """The rungs from the physical limit up to programs, for one path between two ranks or for one machine."""

    path: str
    """For example `shared memory inside a host`, `TCP over the loopback`, `eth0 between hosts`."""
    quantity: Quantity
    exchange: Literal["ping-pong", "stream", ""] = ""
    """How messages are exchanged: one and its echo, or a window in one direction; empty without messages."""
    message_bytes: int | None
    rungs: list[LadderRung]
    """From the limit upwards."""
    successive: bool = False
    """Whether each rung is compared with the previous rung, instead of the best rung of the layer below."""


@dataclass(frozen=True)
class LadderStep:
    """A rung before its comparison with the layer below."""

    layer: Layer
    name: str
    figure: PerLaunch | None
    reason: str = ""
    note: str = ""


def compared(
    step: LadderStep, below: PerLaunch | None, limit: PerLaunch | None, unit: str, higher_is_better: bool
) -> LadderRung:
    """Compare a step with the value below it and with the limit."""
    retained = _share(step.figure, below, higher_is_better)
    of_limit = _share(step.figure, limit if step.layer != "limit" else None, higher_is_better)
    figure = step.figure.estimate if step.figure else None
    return LadderRung(
        layer=step.layer,
        name=step.name,
        value=figure.value if figure else None,
        low=figure.low if figure else None,
        high=figure.high if figure else None,
        unit=unit,
        retained=retained.value if retained else None,
        retained_low=retained.low if retained else None,
        retained_high=retained.high if retained else None,
        paired_launches=retained.paired_launches if retained else 0,
        of_limit=of_limit.value if of_limit else None,
        reason=step.reason,
        note="; ".join(filter(None, [step.note, _apart(step.figure, below)])),
        mixes_states=figure is not None and figure.mixes_states,
    )


def successive(steps: Sequence[LadderStep], unit: str, *, from_limit: bool = True) -> list[LadderRung]:
    """Compare each rate with the last measured one before it; without `from_limit` the limit is only a bound."""
    rungs: list[LadderRung] = []
    below: PerLaunch | None = None
    for step in steps:
        rungs.append(compared(step, below, steps[0].figure, unit, higher_is_better=True))
        if from_limit or step.layer != "limit":
            below = step.figure or below
    return rungs


def _share(this: PerLaunch | None, below: PerLaunch | None, higher_is_better: bool) -> Ratio | None:
    """Return the fraction of the layer below that this layer delivers: below 1 if this layer is worse.

    If the ratio of the printed values is inside the interval of the launches' ratios, it is returned: 13 GB/s of
    23 GB/s must not read 31 %.
    """
    if this is None or below is None:
        return None
    over, under = (this, below) if higher_is_better else (below, this)
    share, own = ratio(over, under), over.estimate.value / under.estimate.value
    inside = share.low is not None and share.high is not None and share.low <= own <= share.high
    return share.model_copy(update={"value": own}) if inside else share


def _apart(this: PerLaunch | None, below: PerLaunch | None) -> str:
    """Return a note if a rung and the layer below were not measured in the same launches; else an empty text."""
    if this is None or below is None or not this.launches or not below.launches:
        return ""
    return (
        "" if this.launches.keys() & below.launches.keys() else "measured in other launches than the layer below"
    )


def measured_step(layer: Layer, summary: Summary) -> LadderStep:
    """Return the step of a measured case."""
    return LadderStep(layer, summary.label, summary.per_launch)


def exact(value: float) -> PerLaunch:
    """Return a value that is known without error, such as the rate of a link."""
    return PerLaunch(Estimate.exact(value))
