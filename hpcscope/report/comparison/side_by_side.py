"""The report of several runs side by side: one self-contained HTML file."""

from collections.abc import Sequence

from hpcscope.comparison import table
from hpcscope.comparison.compare import Side
from hpcscope.comparison.comparison import DIFFERENT
from hpcscope.comparison.efficiency import Efficiencies
from hpcscope.comparison.letters import letter
from hpcscope.comparison.side_by_side import SideBySide, rows
from hpcscope.comparison.side_by_side_table import COUNTED
from hpcscope.comparison.times import counts
from hpcscope.models.published.machines import PublishedMachine
from hpcscope.report.comparison.efficiency import figure
from hpcscope.report.comparison.run_curves import curves
from hpcscope.report.frame import page, plots

_OPEN = 6
"""Number of curves that are not folded."""


def render(
    side: SideBySide,
    sides: Sequence[Side],
    efficiencies: Efficiencies | None = None,
    historic: Sequence[PublishedMachine] = (),
) -> str:
    """Return the report: the runs, efficiencies if given, curves with a line for each run, and all cases.

    `sides` are the runs of `side`, in the same order. `historic`: machines with published results to compare with.
    """
    drawn = curves(side, sides, historic)
    every = rows(side)
    compared = [number for number in range(len(side.runs)) if number != side.baseline]
    return page(
        "side_by_side.html",
        found=side,
        in_words=table,
        letter=letter,
        compared=compared,
        letters=list(map(letter, compared)),
        counted=COUNTED,
        counts=counts,
        differing=[row for row in every if row.has(*DIFFERENT)],
        others=[row for row in every if not row.has(*DIFFERENT)],
        curves=drawn[:_OPEN],
        more_curves=drawn[_OPEN:],
        figures=plots(drawn),
        efficiencies=efficiencies,
        figure=figure(efficiencies) if efficiencies else None,
    )
