"""A figure of the fractions of peak that benchmarks reach in several runs."""

from hpcscope import units
from hpcscope.comparison.efficiency import Efficiencies, EfficiencyRow
from hpcscope.comparison.efficiency_table import share
from hpcscope.comparison.letters import letter
from hpcscope.report.figure import DotPlot, Mark, Panel, Table
from hpcscope.statistics.estimate import Estimate


def figure(shares: Efficiencies) -> DotPlot:
    """Return the efficiencies of all runs, benchmark by benchmark; the axis ends at the peak or above."""
    end = max([1.0, *(efficiency.high or efficiency.share for row in shares.rows for efficiency in row.known)])
    letters = [letter(number) for number in range(len(shares.runs))]
    return DotPlot(
        key="efficiency-compared",
        title="Efficiency of each benchmark in all runs",
        caption=f"Fractions of the peak, with 95 % CIs; the axis ends at {units.percent(end)} of the peak.",
        panels=[Panel(row.label, _marks(row, letters, end)) for row in shares.rows],
        table=Table(
            ["benchmark", *(f"{name} [95 % CI]" for name in letters), "peak and best case of each run"],
            [[row.label, *map(share, row.runs), _cases(row, letters)] for row in shares.rows],
        ),
        origins=["measured"],
    )


def _marks(row: EfficiencyRow, letters: list[str], end: float) -> list[Mark]:
    return [
        Mark.of(
            name,
            units.percent(efficiency.share, 1),
            Estimate(value=efficiency.share, low=efficiency.low, high=efficiency.high).bounds,
            end,
        )
        for name, efficiency in zip(letters, row.runs, strict=True)
        if efficiency is not None
    ]


def _cases(row: EfficiencyRow, letters: list[str]) -> str:
    return "; ".join(
        f"{name}: {units.quantity(efficiency.peak, efficiency.unit)} ({efficiency.peak_is}),"
        f" {efficiency.case} ({efficiency.way})"
        for name, efficiency in zip(letters, row.runs, strict=True)
        if efficiency is not None
    )
