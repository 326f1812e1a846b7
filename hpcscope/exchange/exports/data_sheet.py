"""A data sheet of a cluster in plain text: the values of the TOP500 list, and further results."""

from collections.abc import Iterator, Sequence

from hpcscope import units
from hpcscope.catalog.benchmark import Pattern
from hpcscope.exchange.exports import only, performance
from hpcscope.findings.results import Run
from hpcscope.models.computation.linpack_rates import BENCHMARK, theoretical
from hpcscope.models.measurements import Measurements
from hpcscope.report.data_sheet import UNKNOWN, software, system
from hpcscope.report.run.notes import spread_words
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
    """Return the sheet of one run; an entry that was not measured says what to run."""
    run = only(runs, "data-sheet")
    return "".join(f"{line}\n" for line in _lines(run))


def _lines(run: Run) -> Iterator[str]:
    rates = run.models.linpack
    if rates is not None:
        yield from top500.lines(rates, run.machine)
    else:
        peak, basis = theoretical(run.machine)
        yield "Data sheet"
        yield from section("System", system(run.machine))
        missing = f"not measured: run {BENCHMARK}"
        rows = [("R_max", missing), ("N_max", missing), ("N_1/2", missing)]
        known = f"{units.quantity(peak, 'flop/s')} ({basis})" if peak else f"{UNKNOWN} ({basis})"
        rows += [("R_peak, theoretical", known if run.machine.hosts else UNKNOWN)]
        yield from section("Results", [*rows, top500.SYMBOLS])
        yield from section("Software", software(run.machine))
    loops = ((spread.subject.label, spread_words(spread)) for spread in run.models.loops)
    yield from section("Further results", [*_further(run.measurements), *loops])
    yield from section("Applications", _applications(run))
    yield ""
    name = "".join(letter for letter in run.record.name if letter.isprintable())
    yield f"Run {name}; medians with their 95 % CIs. Power and cost were not measured."


def _further(measurements: Measurements) -> Iterator[tuple[str, str]]:
    for name, pattern in _STREAMS.items():
        cases = [on.summary for layer in _LAYERS for on in measurements.standing(pattern, layer, "B/s")]
        benchmarks = dict.fromkeys(standing.benchmark.name for standing in measurements.catalog.standing(pattern))
        if not benchmarks:
            continue  # not known to the run's version of Scope
        most = max((case.ranks for case in cases), default=0)
        largest = max((measurements.size(case) for case in cases if case.ranks == most), default=0)
        alike = [case for case in cases if (case.ranks, measurements.size(case)) == (most, largest)]
        best = max(alike, key=lambda one: one.median or 0.0, default=None)
        yield name, _shown(best) if best is not None else f"not measured: run {' or '.join(benchmarks)}"
    if not measurements.machine.hosts:
        yield "Latency and bandwidth", f"{UNKNOWN}: where the ranks ran is not recorded"
        return
    for inside, where in ((True, "inside a host"), (False, "between hosts")):
        if not inside and len(measurements.machine.hosts) == 1:
            continue
        measured = exchange(measurements, inside)
        missing = "not measured: run mpi.latency on 2 ranks"
        yield f"Latency {where}", _figure(measured.latency_s) if measured else missing
        yield f"Bandwidth {where}", _figure(measured.bandwidth_bytes_per_s) if measured else missing


def _applications(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the best rate of each application on its largest number of ranks."""
    names = [benchmark.name for benchmark in run.benchmarks if benchmark.level == "application"]
    cases = [case for case in performance(run) if case.benchmark in names and case.better == "higher"]
    if not cases:
        yield "Rates", "not measured: run the level application"
    for name in dict.fromkeys(case.benchmark for case in cases):
        mine = [case for case in cases if case.benchmark == name]
        most = max(case.ranks for case in mine)
        best = max((case for case in mine if case.ranks == most), key=lambda summary: summary.median or 0.0)
        yield run.benchmarks[name].title, _shown(best)


def _shown(case: Summary) -> str:
    return f"{units.interval(case.median, case.ci_low, case.ci_high, case.unit)} ({case.label})"


def _figure(platform_figure: PlatformFigure) -> str:
    ends = platform_figure.estimate
    return f"{in_unit(ends, platform_figure.unit)} ({platform_figure.case})"
