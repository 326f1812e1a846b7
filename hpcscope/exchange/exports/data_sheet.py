"""A data sheet of a cluster with the figures of the TOP500 list and what else was measured; plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hpcscope import units
from hpcscope.catalog.benchmark import Pattern
from hpcscope.exchange.exports import only, performance
from hpcscope.findings.results import Run
from hpcscope.models.computation.linpack_rates import BENCHMARK, theoretical
from hpcscope.models.measurements import Measurements
from hpcscope.report.data_sheet import UNKNOWN, software, system
from hpcscope.report.terminal import top500
from hpcscope.report.terminal.top500 import section
from hpcscope.simulation.platform import PlatformFigure, exchange
from hpcscope.statistics.estimate import in_unit
from hpcscope.statistics.summary import Summary

_STREAMS: dict[str, Pattern] = {
    "Memory bandwidth": "memory",
    "Writing files": "file_write",
    "Reading files": "file_read",
}

_LAYERS = ("limit", "node", "storage")


def write(runs: Sequence[Run]) -> str:
    """Return the sheet of one run; what was not measured says how it would be."""
    each = only(runs, "data-sheet")
    return "".join(f"{line}\n" for line in _lines(each))


def _lines(each: Run) -> Iterator[str]:
    rates = each.models.linpack
    if rates is not None:
        yield from top500.lines(rates, each.machine)
    else:
        peak, basis = theoretical(each.machine)
        yield "Data sheet"
        yield from section("System", system(each.machine))
        missing = f"not measured: run {BENCHMARK}"
        rows = [("R_max", missing), ("N_max", missing), ("N_1/2", missing)]
        known = f"{units.quantity(peak, 'flop/s')} ({basis})" if peak else f"{UNKNOWN} ({basis})"
        rows += [("R_peak, theoretical", known if each.machine.hosts else UNKNOWN)]
        yield from section("Results", [*rows, top500.SYMBOLS])
        yield from section("Software", software(each.machine))
    yield from section("Further results", _further(each.measurements))
    yield from section("Applications", _applications(each))
    yield ""
    name = "".join(letter for letter in each.record.name if letter.isprintable())
    yield f"Run {name}; medians with their 95 % intervals. Power and cost were not measured."


def _further(measurements: Measurements) -> Iterator[tuple[str, str]]:
    for name, pattern in _STREAMS.items():
        found = [on.summary for layer in _LAYERS for on in measurements.standing(pattern, layer, "B/s")]
        benchmarks = dict.fromkeys(one.benchmark.name for one in measurements.catalog.standing(pattern))
        if not benchmarks:
            continue  # the run's version of Scope had none
        most = max((one.ranks for one in found), default=0)
        largest = max((measurements.size(one) for one in found if one.ranks == most), default=0)
        alike = [one for one in found if (one.ranks, measurements.size(one)) == (most, largest)]
        best = max(alike, key=lambda one: one.median or 0.0, default=None)
        yield name, _shown(best) if best is not None else f"not measured: run {' or '.join(benchmarks)}"
    if not measurements.machine.hosts:
        yield "Latency and bandwidth", f"{UNKNOWN}: where the processes ran is not recorded"
        return
    for inside, where in ((True, "inside a host"), (False, "between hosts")):
        if not inside and len(measurements.machine.hosts) == 1:
            continue
        measured = exchange(measurements, inside)
        missing = "not measured: run mpi.latency on 2 ranks"
        yield f"Latency {where}", _figure(measured.latency_s) if measured else missing
        yield f"Bandwidth {where}", _figure(measured.bandwidth_bytes_per_s) if measured else missing


def _applications(each: Run) -> Iterator[tuple[str, str]]:
    """Yield the best rate of each application on its most ranks."""
    names = [one.name for one in each.benchmarks if one.level == "application"]
    found = [one for one in performance(each) if one.benchmark in names and one.better == "higher"]
    if not found:
        yield "Rates", "not measured: run the level application"
    for name in dict.fromkeys(one.benchmark for one in found):
        mine = [one for one in found if one.benchmark == name]
        most = max(one.ranks for one in mine)
        best = max((one for one in mine if one.ranks == most), key=lambda one: one.median or 0.0)
        yield each.benchmarks[name].title, _shown(best)


def _shown(one: Summary) -> str:
    return f"{units.interval(one.median, one.ci_low, one.ci_high, one.unit)} ({one.label})"


def _figure(one: PlatformFigure) -> str:
    ends = one.estimate
    return f"{in_unit(ends, one.unit)} ({one.case})"
