"""Notes on what the cases of a benchmark show together."""

from collections.abc import Iterator

from hpcscope import units
from hpcscope.catalog.benchmark import Pattern
from hpcscope.findings.results import Run
from hpcscope.models.communication.switch_latency import SwitchLatency
from hpcscope.models.computation.loop_rates import LoopRates
from hpcscope.statistics.estimate import in_unit

_PAIRS: tuple[Pattern, ...] = ("pair_matrix", "pair_sample")


def switch_notes(run: Run, benchmark: str) -> Iterator[str]:
    """Yield how much latency a switch adds at each message size."""
    paired = {place.benchmark.name for pattern in _PAIRS for place in run.benchmarks.standing(pattern)}
    if benchmark not in paired or not run.directory.models.is_file():
        return
    sizes = [(matrix.benchmark, matrix.message_bytes, matrix.switches) for matrix in run.models.pairs]
    sizes += [(sample.benchmark, sample.message_bytes, sample.switches) for sample in run.models.random_pairs]
    for name, message_bytes, latency in sizes:
        if name == benchmark and latency is not None:
            yield f"{units.size(message_bytes)}: {_added(latency)}"


def _added(latency: SwitchLatency) -> str:
    medians = (
        f"{units.quantity(time_s, 's')} through {units.count(switches, 'switch', 'switches')}"
        f" ({units.count(pairs, 'pair')})"
        for switches, time_s, pairs in zip(latency.switches, latency.time_s, latency.pairs, strict=True)
    )
    return f"each switch adds {in_unit(latency.per_switch, 's')} to the one-way latency; {', '.join(medians)}"


def loop_note(spread: LoopRates) -> str:
    """Return the spread of the loops' rates and its cases: `Livermore loops, long, 1 rank: harmonic mean ...`."""
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
