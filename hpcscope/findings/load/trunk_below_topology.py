"""A trunk, or the bisection, delivers less under full load than the topology predicts."""

from collections.abc import Sequence

import numpy as np

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.statistics.order_statistics import median_interval
from hpcscope.topology.loading import BISECTION, LoadedCut

DELIVERS = 0.85
"""Least fraction of the predicted rate; the check of a discovery has the same tolerance."""


def find(loaded: Sequence[LoadedCut]) -> list[Finding]:
    """Find the cuts that deliver less at 95 % confidence; one finding per cut, for its worse direction."""
    worst: dict[str, tuple[LoadedCut, float]] = {}
    for loaded_cut in loaded:
        share = _certain_share(loaded_cut)
        if share is not None and share < worst.get(loaded_cut.cut.name, (loaded_cut, DELIVERS))[1]:
            worst[loaded_cut.cut.name] = (loaded_cut, share)
    return [_finding(cut) for cut, _ in worst.values()]


def _certain_share(cut: LoadedCut) -> float | None:
    """Return the upper bound on the delivered fraction of the predicted rate; None if there is no valid bound."""
    interval = median_interval(np.array(cut.full.delivered_bytes_per_s))
    if interval is None or cut.starved:
        return None
    return interval.high / cut.predicted


def _finding(loaded_cut: LoadedCut) -> Finding:
    full, idle = loaded_cut.full, min(loaded_cut.levels, key=lambda level: level.share)
    delivered = float(np.median(full.delivered_bytes_per_s))
    interval = median_interval(np.array(full.delivered_bytes_per_s))
    low, high = (interval.low, interval.high) if interval else (None, None)
    what = "the bisection" if loaded_cut.cut.name == BISECTION else f"the trunk of {loaded_cut.cut.name}"
    rate, predicted = units.interval(delivered, low, high, "B/s"), units.quantity(loaded_cut.predicted, "B/s")
    beside = [float(np.median(level.half_round_trips_s)) for level in (full, idle)]
    return Finding(
        code="trunk-below-topology",
        severity="warning",
        title=(
            f"Under full load {what} ({loaded_cut.cut.direction}) delivers {rate}, "
            f"{units.share(delivered / loaded_cut.predicted)} of the {predicted} that the topology predicts"
        ),
        where={"group": loaded_cut.cut.name, "layer": "network"},
        evidence=[
            Evidence(what="delivered", value=delivered, unit="B/s"),
            Evidence(what="predicted", value=loaded_cut.predicted, unit="B/s"),
            Evidence(what="streams", value=len(loaded_cut.cut.transfers)),
            Evidence(what="one-way latency at full load", value=beside[0], unit="s"),
            Evidence(what="one-way latency at the lowest load", value=beside[1], unit="s"),
        ],
        advice=(
            "Look for other traffic and for members of a bond that are down (`ip -s link`, counters of the "
            "switch). Then measure the topology again (`scope topology discover`). Algorithms and placements "
            "that use the topology's file expect the higher rate."
        ),
        lost=1 - delivered / loaded_cut.predicted,
    )
