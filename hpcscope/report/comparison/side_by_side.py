"""Runs side by side as one HTML file that needs nothing else."""

from collections.abc import Sequence

from hpcscope.comparison.compare import Side
from hpcscope.comparison.comparison import DIFFERENT
from hpcscope.comparison.efficiency import Efficiencies
from hpcscope.comparison.letters import letter
from hpcscope.comparison.side_by_side import SideBySide, rows
from hpcscope.comparison.side_by_side_table import COUNTED
from hpcscope.comparison.table import change, common_change, states_differ
from hpcscope.comparison.times import counts
from hpcscope.models.published.machines import PublishedMachine
from hpcscope.report.comparison.efficiency import figure
from hpcscope.report.comparison.run_curves import curves
from hpcscope.report.frame import as_json, environment, plot

_OPEN = 6
"""Curves that stand open."""


def render(
    side: SideBySide,
    sides: Sequence[Side],
    efficiencies: Efficiencies | None = None,
    historic: Sequence[PublishedMachine] = (),
) -> str:
    """Return the page: the runs, efficiencies where they are given, a line for each run in every curve, all cases.

    `sides` are the runs of `found`, in its order. `historic`: machines whose published figures stand beside them.
    """
    frame = environment()
    frame.filters.update(change=change, common_change=common_change, letter=letter, states_differ=states_differ)
    drawn = curves(side, sides, historic)
    every = rows(side)
    return frame.get_template("side_by_side.html").render(
        found=side,
        compared=[number for number in range(len(side.runs)) if number != side.baseline],
        counted=COUNTED,
        counts=counts,
        differing=[row for row in every if row.has(*DIFFERENT)],
        others=[row for row in every if not row.has(*DIFFERENT)],
        curves=drawn[:_OPEN],
        more_curves=drawn[_OPEN:],
        figures=as_json({one.key: plot(one) for one in drawn}),
        efficiencies=efficiencies,
        figure=figure(efficiencies) if efficiencies else None,
    )
