"""A LINPACK tuning as text: the chosen settings, then predictions and measurements round by round."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hpcscope import units
from hpcscope.models.computation.linpack_rates import LinpackRates
from hpcscope.report.run.tuning import STAGES, figures, signed
from hpcscope.statistics.estimate import Estimate
from hpcscope.tune.candidates import untuned
from hpcscope.tune.record import Round, Try, Tuning

LEGEND = (
    "* marks the benchmark's defaults. error: predicted / measured time - 1. slower: slowdown relative to the "
    "fastest setting of the round, compared launch by launch. expected: predicted slowdown relative to the best "
    "setting at the final N, corrected by this error."
)


def page(tuning: Tuning, rates: LinpackRates | None) -> RenderableType:
    """Return the record as text and tables."""
    parts: list[RenderableType] = list(_head(tuning))
    if tuning.conclusion is not None:
        chosen = f"Chosen: {tuning.conclusion.chosen.label}, n={tuning.conclusion.n}"
        parts += [Text(""), Text(chosen, style="bold")]
        parts += [Text(f"  {words}") for words in tuning.conclusion.words]
    if rates is not None and tuning.conclusion is not None:
        parts += [Text(f"  {line}") for line in figures(rates)]
    for round_ in tuning.rounds:
        parts += [Text(""), Text(_caption(round_, tuning)), _table(round_)]
    if tuning.rounds:
        parts += [Text(""), Text(LEGEND, style="dim")]
    return Group(*parts)


def _head(tuning: Tuning) -> Iterator[Text]:
    asked = tuning.settings
    yield Text(f"LINPACK on {units.count(asked.ranks, 'rank')}", style="bold")
    if tuning.size is not None:
        yield Text(f"n = {tuning.size.n}: {tuning.size.why}")
        contention = (tuning.contention or 1.0) - 1
        slower = (
            f"; matrix products take {units.share(contention)} longer when all cores compute"
            if asked.ranks > 1
            else ""
        )
        yield Text(f"predictions from one rank and the ping-pong of this run{slower}; {tuning.source}")


def _caption(round_: Round, tuning: Tuning) -> str:
    tries, words = round_.tries, STAGES[round_.stage]
    if round_.stage == "sizes":
        return f"{words}: {tries[0].candidate.label}; Gflop/s"
    of = f"{len(tries)} of {len(tuning.predicted)} settings"
    launches = units.count(tuning.settings.launches, "launch", "launches")
    return f"{words}: {of}, n = {tries[0].n}, {launches}; Gflop/s"


def _table(round_: Round) -> Table:
    sizes, decides = round_.stage == "sizes", not any(trial.behind is not None for trial in round_.tries)
    columns = ["predicted", "measured", "error"]
    columns += [] if sizes else ["slower"] if decides else ["slower", "expected"]
    table = Table(box=None, pad_edge=False)
    table.add_column("n" if sizes else "settings", justify="right" if sizes else "left", min_width=16)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("", min_width=12)
    for trial in round_.tries:
        own = " *" if trial.candidate == untuned(trial.candidate.ranks) else ""
        row = [str(trial.n) if sizes else trial.candidate.label + own, _rate(trial.predicted_flops_per_s)]
        row += [_measured(trial), signed(trial.error), _slower(trial.slower), signed(trial.behind)]
        table.add_row(*map(Text, [*row[: 1 + len(columns)], trial.verdict]))
    return table


def _rate(flops_per_s: float) -> str:
    return units.digits(flops_per_s / 1e9)


def _measured(trial: Try) -> str:
    rate = trial.flops_per_s
    if rate is None:
        return "–"
    if rate.low is None or rate.high is None:
        return _rate(rate.value)
    return f"{_rate(rate.value)} [{_rate(rate.low)}, {_rate(rate.high)}]"


def _slower(slower: Estimate | None) -> str:
    if slower is None:
        return "–"
    if slower.low is None or slower.high is None:
        return units.percent(slower.value, 1)
    return f"{units.percent(slower.value, 1)} [{100 * slower.low:.1f}, {100 * slower.high:.1f}]"
