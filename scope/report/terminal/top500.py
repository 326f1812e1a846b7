"""A data sheet of LINPACK with the figures of the TOP500 list; unknown entries are marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from scope import units
from scope.machine.machine import Machine, Processor
from scope.models.computation.linpack_rates import BENCHMARK, PRODUCT, LinpackRates, used_cores
from scope.models.ladder.paths import link_between
from scope.report.run.tuning import half

UNKNOWN = "unknown"
COLUMN = 34
HPL_THRESHOLD = 16.0


def lines(rates: LinpackRates, machine: Machine) -> Iterator[str]:
    """Yield the sheet, section by section."""
    best = rates.case
    yield "LINPACK data sheet"
    yield "An entry of the list has to follow its rules, such as a run on the whole system."
    yield from _section("System", _system(machine))
    yield from _section("Results", _results(rates))
    yield from _section(
        "Settings",
        [
            ("Order of the matrix (N)", str(best.parameters["n"])),
            ("Block size (NB)", str(best.parameters["block"])),
            ("Processes", str(best.ranks)),
            ("Grid (P x Q)", _grid(rates)),
            ("Broadcast", str(best.parameters["broadcast"])),
            ("Row exchange", str(best.parameters["swap"])),
            ("Look-ahead", str(best.parameters["look_ahead"])),
            ("Transport", best.transport),
        ],
    )
    yield from _section("Software", _software(machine))


def _section(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield ""
    yield title
    for name, value in rows:
        yield f"  {name:<{COLUMN}}{value or UNKNOWN}"


def _system(machine: Machine) -> Iterator[tuple[str, str]]:
    hosts = machine.hosts
    yield "Name, site, manufacturer, year", UNKNOWN
    yield "Nodes", str(len(hosts))
    yield "Processor", _each(host.processor.model for host in hosts)
    yield "Clock, nominal", _each(_frequency(host.processor) for host in hosts)
    yield "Cores per node, used", _each(str(used_cores(host)) for host in hosts)
    yield "Cores per node, installed", _each(str(host.processor.cores) for host in hosts)
    yield "Cores, total used", str(sum(map(used_cores, hosts)))
    yield "Accelerators", "none used"
    yield "Memory per node", _each(_gigabytes(host.memory_bytes) for host in hosts)
    yield "Memory, total", _gigabytes(sum(host.memory_bytes for host in hosts))
    yield "Interconnect", _interconnect(machine)
    yield "Virtual machine", _each(host.virtualization or "none detected" for host in hosts)
    yield "Power", UNKNOWN


def _results(rates: LinpackRates) -> Iterator[tuple[str, str]]:
    peak, basis = rates.theoretical_flops_per_s, rates.theoretical_basis
    yield "R_max", units.interval(rates.rate.value, rates.rate.low, rates.rate.high, "flop/s")
    yield "N_max", str(rates.n_max)
    yield "N_1/2", half(rates).removeprefix("= ")
    yield "Time of N_max", units.quantity(rates.time_s, "s")
    yield "R_peak, theoretical", f"{units.quantity(peak, 'flop/s')} ({basis})" if peak else f"{UNKNOWN} ({basis})"
    if rates.theoretical_share is not None:
        yield "R_max / R_peak, theoretical", units.share(rates.theoretical_share)
    product, rate = rates.product, rates.product_rate
    if product is None or rate is None or rates.efficiency is None:
        yield "R_peak, measured (DGEMM)", f"not measured: run {PRODUCT} on {rates.case.ranks} processes"
    else:
        shown = units.interval(rate.value, rate.low, rate.high, "flop/s")
        yield "R_peak, measured (DGEMM)", f"{shown} (n={product.parameters['n']}, {product.ranks} processes)"
        share = rates.efficiency
        yield "R_max / R_peak, measured", units.share(share.value, share.low, share.high)
    yield "Largest scaled residual", _residual(rates)
    yield "Origin", rates.origin


def _software(machine: Machine) -> Iterator[tuple[str, str]]:
    build = machine.build
    yield "Operating system", _each(host.operating_system for host in machine.hosts)
    yield "Kernel", _each(host.kernel for host in machine.hosts)
    yield "Compiler", f"{build.compiler}, {build.labelled_flags}" if build else ""
    yield "MPI", f"{build.mpi.name} {build.mpi.version}" if build else ""
    blas = build.blas if build else None
    kernels = f", kernels for {blas.core}" if blas and blas.core else ""
    yield "BLAS", f"{blas.name} {blas.version}{kernels}" if blas else ""
    yield "Program", f"{BENCHMARK} of Scope {machine.scope_version}"


def _grid(rates: LinpackRates) -> str:
    given, ranks = rates.case.parameters, rates.case.ranks
    rows, columns = int(given["grid_rows"]), int(given["grid_columns"])
    if not rows and not columns:
        return "closest to a square"
    return f"{rows or ranks // columns} x {columns or ranks // rows}"


def _residual(rates: LinpackRates) -> str:
    if rates.residual is None:
        return UNKNOWN
    verdict = "passed" if rates.residual < HPL_THRESHOLD else "FAILED"
    return f"{units.digits(rates.residual)} (must be below {HPL_THRESHOLD:g}: {verdict})"


def _interconnect(machine: Machine) -> str:
    if len(machine.hosts) == 1:
        return "none: one node, shared memory"
    link = link_between(machine)
    if link is None:
        return UNKNOWN
    rate = f"{units.quantity(link.rate_bits_per_s, 'bit/s')}" if link.rate_bits_per_s else "rate unknown"
    lab = "; emulated" if machine.lab is not None else ""
    return f"{link.kind} ({link.name}, {rate}){lab}"


def _frequency(processor: Processor) -> str:
    return units.quantity(processor.base_frequency_hz, "Hz") if processor.base_frequency_hz else UNKNOWN


def _gigabytes(count: float) -> str:
    return units.quantity(count, "B") if count else UNKNOWN


def _each(values: Iterable[str]) -> str:
    """Return the value that all hosts have, or each value with its number of hosts."""
    counted = Counter(value or UNKNOWN for value in values)
    if len(counted) == 1:
        return next(iter(counted))
    return "; ".join(f"{value} ({count} nodes)" for value, count in counted.items())
