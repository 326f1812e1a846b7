"""A data sheet of LINPACK with the figures that the TOP500 list asks for; what is not known is said so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from scope import units
from scope.machine.machine import Host, Machine, Processor
from scope.models.computation.linpack_rates import BENCHMARK, LinpackRates
from scope.models.ladder.paths import link_between
from scope.report.terminal.tuning import half

UNKNOWN = "unknown"
COLUMN = 34
FUSED = {"fma", "avx512f", "asimd"}
"""Any of these: an addition and a multiplication are one operation."""
DOUBLES = {"avx512f": 8, "avx2": 4, "avx": 4, "sse2": 2, "asimd": 2}
"""Doubles in a vector, widest first."""
HPL_THRESHOLD = 16.0


def lines(rates: LinpackRates, machine: Machine) -> Iterator[str]:
    """Yield the sheet, section by section."""
    best = rates.best
    yield "LINPACK data sheet"
    yield "An entry of the list itself has to obey its rules, among them that the whole system takes part."
    yield from _section("System", _system(machine))
    yield from _section("Results", _results(rates, machine))
    yield from _section(
        "Settings",
        [
            ("Equations (N)", str(best.parameters["n"])),
            ("Block (NB)", str(best.parameters["block"])),
            ("Processes", str(best.ranks)),
            ("Grid (P x Q)", _grid(rates)),
            ("Broadcast", str(best.parameters["broadcast"])),
            ("Exchange of rows", str(best.parameters["swap"])),
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
    yield "Cores of a node, used", _each(str(usable(host)) for host in hosts)
    yield "Cores of a node, installed", _each(str(host.processor.cores) for host in hosts)
    yield "Cores, all that were used", str(sum(map(usable, hosts)))
    yield "Accelerators", "none used"
    yield "Memory of a node", _each(_gigabytes(host.memory_bytes) for host in hosts)
    yield "Memory, all", _gigabytes(sum(host.memory_bytes for host in hosts))
    yield "Interconnect", _interconnect(machine)
    yield "Virtual machine", _each(host.virtualization or "no sign of one" for host in hosts)
    yield "Power", UNKNOWN


def _results(rates: LinpackRates, machine: Machine) -> Iterator[tuple[str, str]]:
    best, product = rates.best, rates.product
    peak, how = theoretical(machine)
    yield "R_max", units.interval(best.median, best.ci_low, best.ci_high, "flop/s")
    yield "N_max", str(rates.n_max)
    yield "N_1/2", half(rates).removeprefix("= ")
    yield "Time of N_max", units.quantity((best.work.flops if best.work else 0.0) / (best.median or 1.0), "s")
    yield "R_peak, by theory", f"{units.quantity(peak, 'flop/s')} ({how})" if peak else f"{UNKNOWN} ({how})"
    if peak:
        yield "R_max / R_peak, by theory", units.share((best.median or 0.0) / peak)
    if product is None or rates.efficiency is None:
        yield "R_peak, by products (DGEMM)", f"not measured: run node.matrix_multiply on {best.ranks} processes"
    else:
        rate = units.interval(product.median, product.ci_low, product.ci_high, "flop/s")
        yield "R_peak, by products (DGEMM)", f"{rate} (n={product.parameters['size']}, {product.ranks} processes)"
        share = rates.efficiency
        yield "R_max / R_peak, by products", units.share(share.value, share.low, share.high)
    yield "Largest scaled residual", _residual(rates)
    yield "Origin", best.origin


def _software(machine: Machine) -> Iterator[tuple[str, str]]:
    build = machine.build
    yield "Operating system", _each(host.operating_system for host in machine.hosts)
    yield "Kernel", _each(host.kernel for host in machine.hosts)
    yield "Compiler", f"{build.compiler}, {build.flags}" if build else ""
    yield "MPI", f"{build.mpi.name} {build.mpi.version}" if build else ""
    blas = build.blas if build else None
    kernels = f", kernels for {blas.core}" if blas and blas.core else ""
    yield "BLAS", f"{blas.name} {blas.version}{kernels}" if blas else ""
    yield "Program", f"{BENCHMARK} of Scope {machine.scope_version}"


def theoretical(machine: Machine) -> tuple[float | None, str]:
    """Return cores x clock x operations a cycle in flop/s, and how; None with the reason where that is unknown.

    Two vectors are taken for each cycle, the widest that the processor names, with fused multiply-adds where it
    has them: what most do, but no system says so of itself.
    """
    total, words = 0.0, []
    for host in machine.hosts:
        processor = host.processor
        vector = next((flag for flag in DOUBLES if flag in processor.flags), None)
        if not processor.base_frequency_hz:
            return None, f"the clock of {host.name} is not known"
        if vector is None or processor.architecture not in ("x86_64", "aarch64"):
            return None, f"the vectors of {processor.architecture} are not known"
        per_cycle = DOUBLES[vector] * (4 if FUSED & set(processor.flags) else 2)
        total += usable(host) * processor.base_frequency_hz * per_cycle
        words.append(f"{per_cycle} operations a cycle taken for {vector}")
    return total, f"{_each(words)}, nominal clock"


def usable(host: Host) -> int:
    """Return the cores that a run may use: hardware threads of its own, as cores, within a quota."""
    processor = host.processor
    per_core = max(1, processor.threads // max(processor.cores, 1))
    cores = max(1, len(processor.usable) // per_core) if processor.usable else processor.cores
    return min(cores, max(1, int(processor.quota_cores))) if processor.quota_cores else cores


def _grid(rates: LinpackRates) -> str:
    given, ranks = rates.best.parameters, rates.best.ranks
    rows, columns = int(given["grid_rows"]), int(given["grid_columns"])
    if not rows and not columns:
        return "nearest to a square"
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
    """Write what all hosts have, or each with how many have it."""
    counted = Counter(value or UNKNOWN for value in values)
    if len(counted) == 1:
        return next(iter(counted))
    return "; ".join(f"{value} ({count} nodes)" for value, count in counted.items())
