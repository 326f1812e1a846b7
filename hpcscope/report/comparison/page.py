"""The report of a comparison: one self-contained HTML file."""

from hpcscope.comparison.comparison import Comparison
from hpcscope.comparison.efficiency import Efficiencies
from hpcscope.comparison.letters import letter
from hpcscope.comparison.table import change, common_change, detectable, sentence, states_differ
from hpcscope.report.comparison.efficiency import figure
from hpcscope.report.comparison.figures import figures
from hpcscope.report.comparison.rows import axis, groups, place
from hpcscope.report.frame import as_json, environment, plot

_OPEN = 4
"""Number of curves that are not folded: the curves of the benchmarks that changed most."""


def render(comparison: Comparison, efficiencies: Efficiencies | None = None) -> str:
    """Return the report: efficiencies if given, counts, what differs, and every case, worst first."""
    frame = environment()
    frame.filters.update(
        change=change,
        common_change=common_change,
        detectable=detectable,
        letter=letter,
        sentence=sentence,
        states_differ=states_differ,
        place=place,
    )
    verdict_groups = groups(comparison)
    curves = figures(comparison)
    return frame.get_template("comparison.html").render(
        comparison=comparison,
        groups=verdict_groups,
        times={group.verdict: len(group.rows) for group in verdict_groups},
        end=axis(comparison),
        curves=curves[:_OPEN],
        more_curves=curves[_OPEN:],
        figures=as_json({curve.key: plot(curve) for curve in curves}),
        efficiencies=efficiencies,
        figure=figure(efficiencies) if efficiencies else None,
    )
