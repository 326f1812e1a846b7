"""From summaries to `models.json`."""

from __future__ import annotations

from scope.machine.machine import Machine
from scope.models.communication.library_settings import name_breaks
from scope.models.communication.pair_matrix import pair_matrices
from scope.models.fit import Models
from scope.models.fitting.model import fit_all
from scope.models.ladder.ladder import ladders
from scope.models.ladder.limit_lines import limits
from scope.models.ladder.operation_parts import operation_parts
from scope.models.prediction.prediction import predictions
from scope.models.scaling.applications import applications
from scope.models.scaling.phases_by_rank import phases_by_rank
from scope.models.scaling.speedup import speedups
from scope.rundirectory import FORMAT
from scope.samples.samples import Samples
from scope.statistics.summary import Summary


def derive(summaries: list[Summary], machine: Machine, samples: Samples) -> Models:
    """Fit all models, build all ladders, take the matrices of pairs apart and see what more processes give."""
    fits, not_fitted = fit_all(summaries)
    return Models(
        format=FORMAT,
        fits=name_breaks(fits, samples.launches, machine.environment),
        ladders=ladders(summaries, machine, samples.launches),
        limits=limits(summaries, machine, samples.launches),
        not_fitted=not_fitted,
        pairs=pair_matrices(samples),
        speedups=speedups(summaries, machine, samples.launches),
        predictions=predictions(summaries, machine, samples.launches),
        phases=phases_by_rank(samples),
        operations=operation_parts(summaries, machine, samples.launches),
        applications=applications(summaries, machine, samples.launches),
    )
