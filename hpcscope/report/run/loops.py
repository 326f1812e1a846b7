"""The rates of the Livermore loops together, in words."""

from hpcscope import units
from hpcscope.models.computation.loop_rates import LoopRates
from hpcscope.statistics.estimate import in_unit


def sentence(spread: LoopRates) -> str:
    """Return the spread with its cases: `Livermore loops, long, 1 rank: harmonic mean ...`."""
    origin = f", {spread.origin}" if spread.origin != "measured" else ""
    return f"{spread.subject.label}{origin}: {spread_words(spread)}"


def spread_words(spread: LoopRates) -> str:
    """Return the harmonic mean, the slowest and the fastest loop, and their ratio."""
    slowest = units.quantity(spread.slowest_rate.value, "flop/s")
    fastest = units.quantity(spread.fastest_rate.value, "flop/s")
    return (
        f"harmonic mean {in_unit(spread.harmonic_mean, 'flop/s')} of {spread.loops} loops; {slowest} (loop "
        f"{spread.slowest}) to {fastest} (loop {spread.fastest}), ratio {in_unit(spread.ratio)}"
    )
