"""From summaries to `models.json`."""

from __future__ import annotations

from scope.machine.machine import Machine
from scope.models.fit import Models
from scope.models.ladder import ladders
from scope.models.limit_lines import limits
from scope.models.model import fit_all
from scope.rundirectory import FORMAT
from scope.samples.records import LaunchRecord
from scope.statistics.summary import Summary


def derive(summaries: list[Summary], machine: Machine, launches: list[LaunchRecord]) -> Models:
    """Fit all models and build all ladders."""
    fits, not_fitted = fit_all(summaries)
    return Models(
        format=FORMAT,
        fits=fits,
        ladders=ladders(summaries, machine, launches),
        limits=limits(summaries, machine, launches),
        not_fitted=not_fitted,
    )
