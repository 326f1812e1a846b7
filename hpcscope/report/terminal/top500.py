"""A LINPACK data sheet with the values of the TOP500 list; unknown entries are marked."""

from collections.abc import Iterable, Iterator

from hpcscope import units
from hpcscope.machine.machine import Machine
from hpcscope.models.computation.linpack_rates import BENCHMARK, PRODUCT, LinpackRates
from hpcscope.report.data_sheet import UNKNOWN, software, system
from hpcscope.report.run.tuning import half
from hpcscope.report.terminal.hpl import THRESHOLD
from hpcscope.statistics.estimate import in_percent, in_unit

COLUMN = 34


def lines(rates: LinpackRates, machine: Machine) -> Iterator[str]:
    """Yield the sheet, section by section."""
    best = rates.case
    yield "LINPACK data sheet"
    yield "A TOP500 entry must follow the list's rules; one rule is a run on the whole system."
    yield from section("System", system(machine))
    yield from section("Results", _results(rates))
    yield from section(
        "Settings",
        [
            ("Order of the matrix (N)", str(best.parameters["n"])),
            ("Block size (NB)", str(best.parameters["block"])),
            ("Ranks", str(best.ranks)),
            ("Grid (P x Q)", _grid(rates)),
            ("Broadcast", str(best.parameters["broadcast"])),
            ("Row exchange", str(best.parameters["swap"])),
            ("Look-ahead", str(best.parameters["look_ahead"])),
            ("Transport", best.transport),
        ],
    )
    yield from section(
        "Software", [*software(machine), ("Program", f"{BENCHMARK} of Scope {machine.scope_version}")]
    )


SYMBOLS = (
    "Symbols",
    "R_max: best rate, N_max: matrix order of R_max, N_1/2: matrix order of R_max / 2, R_peak: limit of the cores",
)


def section(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a heading and its entries; an entry without a value is unknown."""
    yield ""
    yield title
    for name, value in rows:
        yield f"  {name:<{COLUMN}}{value or UNKNOWN}"


def _results(rates: LinpackRates) -> Iterator[tuple[str, str]]:
    peak, basis = rates.theoretical_flops_per_s, rates.theoretical_basis
    yield "R_max", in_unit(rates.rate, "flop/s")
    yield "N_max", str(rates.n_max)
    yield "N_1/2", half(rates).removeprefix("= ")
    yield "Time of N_max", units.quantity(rates.time_s, "s") if rates.time_s is not None else "unknown"
    yield "R_peak, theoretical", f"{units.quantity(peak, 'flop/s')} ({basis})" if peak else f"{UNKNOWN} ({basis})"
    if rates.theoretical_share is not None:
        yield "R_max / R_peak, theoretical", units.share(rates.theoretical_share)
    product, rate = rates.product, rates.product_rate
    if product is None or rate is None or rates.efficiency is None:
        yield "R_peak, measured (DGEMM)", f"not measured: run {PRODUCT} on {rates.case.ranks} ranks"
    else:
        shown = in_unit(rate, "flop/s")
        yield "R_peak, measured (DGEMM)", f"{shown} (n={product.parameters['n']}, {product.ranks} ranks)"
        share = rates.efficiency
        yield "R_max / R_peak, measured", in_percent(share)
    yield "Largest scaled residual", _residual(rates)
    yield SYMBOLS
    yield "Origin", rates.origin


def _grid(rates: LinpackRates) -> str:
    given, ranks = rates.case.parameters, rates.case.ranks
    rows, columns = int(given["grid_rows"]), int(given["grid_columns"])
    if not rows and not columns:
        return "closest to a square"
    return f"{rows or ranks // columns} x {columns or ranks // rows}"


def _residual(rates: LinpackRates) -> str:
    if rates.residual is None:
        return UNKNOWN
    verdict = "passed" if rates.residual < THRESHOLD else "FAILED"
    return f"{units.digits(rates.residual)} (must be below {THRESHOLD:g}: {verdict})"
