"""The report of a comparison: one self-contained HTML file."""

from hpcscope.comparison import table
from hpcscope.comparison.comparison import Comparison
from hpcscope.comparison.efficiency import Efficiencies
from hpcscope.comparison.letters import letter
from hpcscope.report.comparison.efficiency import figure
from hpcscope.report.comparison.figures import figures
from hpcscope.report.comparison.rows import axis, groups, place
from hpcscope.report.frame import page, plots

_OPEN = 4
"""Number of curves that are not folded: the curves of the benchmarks that changed most."""


def render(comparison: Comparison, efficiencies: Efficiencies | None = None) -> str:
    """Return the report: efficiencies if given, counts, what differs, and every case, worst first."""
    verdict_groups = groups(comparison)
    curves = figures(comparison)
    return page(
        "comparison.html",
        comparison=comparison,
        in_words=table,
        letter=letter,
        place=place,
        groups=verdict_groups,
        times={group.verdict: len(group.rows) for group in verdict_groups},
        end=axis(comparison),
        curves=curves[:_OPEN],
        more_curves=curves[_OPEN:],
        figures=plots(curves),
        efficiencies=efficiencies,
        figure=figure(efficiencies) if efficiencies else None,
    )
