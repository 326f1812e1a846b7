"""A comparison as one HTML file that needs nothing else."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from scope import units
from scope.compare.comparison import Comparison
from scope.compare.table import change


def render(comparison: Comparison) -> str:
    """Return the page: counts, what differs about the machines, every case worst first."""
    environment = Environment(
        loader=PackageLoader("scope.compare"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(quantity=units.quantity, change=change)
    return environment.get_template("comparison.html").render(comparison=comparison)
