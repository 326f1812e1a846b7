"""A tuning of LINPACK for people: what was predicted, what was measured, who went on and why."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from scope import units
from scope.models.computation.linpack_rates import LinpackRates
from scope.report.wording import count
from scope.statistics.estimate import Estimate
from scope.tune.candidates import untuned
from scope.tune.record import Round, Try, Tuning

STAGES = {
    "screen": "the best predicted",
    "refine": "more equations",
    "decide": "all equations",
    "sizes": "the chosen settings at other sizes",
}
LEGEND = (
    "* what the benchmark does by itself. time off: predicted over measured time, less 1. slower: than the "
    "fastest of the round, launch by launch. expected: how far behind the best at the last size, as predicted "
    "there and as wrong as here."
)


def page(tuning: Tuning, rates: LinpackRates | None) -> RenderableType:
    """Return the record as text and tables."""
    parts: list[RenderableType] = list(_head(tuning))
    for round_ in tuning.rounds:
        parts += [Text(""), Text(_caption(round_, tuning)), _table(round_)]
    if tuning.rounds:
        parts += [Text(""), Text(LEGEND, style="dim")]
    if tuning.conclusion is not None:
        parts += [Text(""), Text(f"Chosen: {tuning.conclusion.chosen.label}, n={tuning.conclusion.n}")]
        parts += [Text(f"  {words}") for words in tuning.conclusion.words]
    if rates is not None and tuning.conclusion is not None:
        parts += [Text(f"  {line}") for line in figures(rates)]
    return Group(*parts)


def figures(rates: LinpackRates) -> Iterator[str]:
    """Yield R_max, N_max, N_1/2 and the share of the products' rate."""
    best = rates.best
    yield f"R_max {units.interval(best.median, best.ci_low, best.ci_high, 'flop/s')} at N_max = {rates.n_max}"
    yield f"N_1/2 {half(rates)}"
    if rates.efficiency is not None and rates.product is not None:
        share = units.share(rates.efficiency.value, rates.efficiency.low, rates.efficiency.high)
        product = units.quantity(rates.product.median, "flop/s")
        yield f"{share} of what products (DGEMM) reach on as many processes, {product}"


def half(rates: LinpackRates) -> str:
    """Write N_1/2 with its interval, or why there is none."""
    found = rates.n_half
    if found is None:
        return f"unknown: {rates.n_half_reason}"
    if found.low is None or found.high is None:
        return f"= {found.value:.0f}"
    return f"= {found.value:.0f} [{found.low:.0f}, {found.high:.0f}]"


def _head(tuning: Tuning) -> Iterator[Text]:
    asked = tuning.settings
    yield Text(f"LINPACK on {asked.ranks} process{'es' if asked.ranks != 1 else ''}", style="bold")
    if tuning.size is not None:
        yield Text(f"n = {tuning.size.n}: {tuning.size.why}")
        contention = (tuning.contention or 1.0) - 1
        slower = (
            f"; products take {units.share(contention)} longer where all cores work" if asked.ranks > 1 else ""
        )
        yield Text(f"predicted from one process and the ping-pong of this run{slower}; {tuning.source}")


def _caption(round_: Round, tuning: Tuning) -> str:
    tries, words = round_.tries, STAGES[round_.stage]
    if round_.stage == "sizes":
        return f"{words}: {tries[0].candidate.label}; Gflop/s"
    of = f"{len(tries)} of {len(tuning.predicted)} settings"
    return f"{words}: {of}, n = {tries[0].n}, {count(tuning.settings.launches, 'launch', 'launches')}; Gflop/s"


def _table(round_: Round) -> Table:
    sizes, decides = round_.stage == "sizes", not any(each.behind is not None for each in round_.tries)
    columns = ["predicted", "measured", "time off"]
    columns += [] if sizes else ["slower"] if decides else ["slower", "expected"]
    table = Table(box=None, pad_edge=False)
    table.add_column("n" if sizes else "settings", justify="right" if sizes else "left", min_width=16)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("", min_width=12)
    for each in round_.tries:
        own = " *" if each.candidate == untuned(each.candidate.ranks) else ""
        row = [str(each.n) if sizes else each.candidate.label + own, _rate(each.predicted_flops_per_s)]
        row += [_measured(each), _signed(each.error), _slower(each.slower), _signed(each.behind)]
        table.add_row(*map(Text, [*row[: 1 + len(columns)], each.verdict]))
    return table


def _rate(flops_per_s: float) -> str:
    return units.digits(flops_per_s / 1e9)


def _measured(each: Try) -> str:
    rate = each.flops_per_s
    if rate is None:
        return "–"
    if rate.low is None or rate.high is None:
        return _rate(rate.value)
    return f"{_rate(rate.value)} [{_rate(rate.low)}, {_rate(rate.high)}]"


def _signed(share: float | None) -> str:
    return "–" if share is None else f"{share:+.1%}"


def _slower(slower: Estimate | None) -> str:
    if slower is None:
        return "–"
    if slower.low is None or slower.high is None:
        return f"{slower.value:.1%}"
    return f"{slower.value:.1%} [{100 * slower.low:.1f}, {100 * slower.high:.1f}]"
