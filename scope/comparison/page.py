"""A comparison as one HTML file that needs nothing else."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from scope import units
from scope.comparison.comparison import Comparison
from scope.comparison.efficiency import Efficiencies
from scope.comparison.efficiency_figure import figure
from scope.comparison.efficiency_table import share
from scope.comparison.table import change, common_change, detectable, states_differ


def render(comparison: Comparison, efficiencies: Efficiencies | None = None) -> str:
    """Return the page: efficiencies where they are given, counts, what differs, every case worst first."""
    environment = Environment(
        loader=PackageLoader("scope.comparison"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        quantity=units.quantity,
        change=change,
        common_change=common_change,
        detectable=detectable,
        share=share,
        states_differ=states_differ,
    )
    return environment.get_template("comparison.html").render(
        comparison=comparison, efficiencies=efficiencies, figure=figure(efficiencies) if efficiencies else None
    )
