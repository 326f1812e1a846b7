"""`models.json`: everything that is derived from the statistics of a run."""

from __future__ import annotations

from scope.models.communication.congestion import Congestion
from scope.models.communication.pair_matrix import PairMatrix
from scope.models.communication.random_pairs import RandomPairs
from scope.models.computation.linpack_rates import LinpackRates
from scope.models.fitting.fit import Fit, NotFitted
from scope.models.ladder.limit_lines import Limit
from scope.models.ladder.rung import Ladder
from scope.models.prediction.operation_parts import OperationParts
from scope.models.prediction.prediction import Prediction
from scope.models.scaling.applications import Application
from scope.models.scaling.dealing import Dealing
from scope.models.scaling.phases_by_rank import PhasesByRank
from scope.models.scaling.saturation import Saturation
from scope.models.scaling.speedup import Speedup
from scope.strict import Strict


class Models(Strict):
    """Fits, ladders, speed-ups, predictions and other models of a run."""

    format: int
    fits: list[Fit]
    ladders: list[Ladder]
    limits: list[Limit] = []
    not_fitted: list[NotFitted] = []
    pairs: list[PairMatrix] = []
    random_pairs: list[RandomPairs] = []
    congestion: list[Congestion] = []
    speedups: list[Speedup] = []
    saturations: list[Saturation] = []
    predictions: list[Prediction] = []
    phases: list[PhasesByRank] = []
    operations: list[OperationParts] = []
    applications: list[Application] = []
    dealings: list[Dealing] = []
    linpack: LinpackRates | None = None
    """Of the largest LINPACK; None where it was not run."""
