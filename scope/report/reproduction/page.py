"""All published experiments as one HTML page that needs nothing else."""

from __future__ import annotations

from scope.models.published.overview import Overview, tally
from scope.report.frame import environment
from scope.report.reproduction import words


def render(overview: Overview) -> str:
    """Return the page: how much holds, experiment by experiment, then every figure."""
    return (
        environment()
        .get_template("reproductions.html")
        .render(
            overview=overview,
            counted=words.counted(overview.tally),
            heads=words.HEADS,
            summary=[(outcome, tally(outcome.rows)) for outcome in overview.outcomes],
            statements={one.name: list(map(words.cells, one.stated)) for one in overview.outcomes},
            orientation={one.name: list(map(words.cells, one.orientation)) for one in overview.outcomes},
        )
    )
