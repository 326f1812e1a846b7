"""`models.json`: everything that is derived from the statistics of a run."""

from hpcscope.models.communication.congestion import Congestion
from hpcscope.models.communication.pair_matrix import PairMatrix
from hpcscope.models.communication.random_pairs import RandomPairs
from hpcscope.models.computation.linpack_rates import LinpackRates
from hpcscope.models.fitting.fit import Fit, NotFitted
from hpcscope.models.ladder.limit_lines import Limit
from hpcscope.models.ladder.rung import Ladder
from hpcscope.models.prediction.operation_parts import OperationParts
from hpcscope.models.prediction.prediction import Prediction
from hpcscope.models.scaling.applications import Application
from hpcscope.models.scaling.dealing import Dealing
from hpcscope.models.scaling.phases_by_rank import PhasesByRank
from hpcscope.models.scaling.saturation import Saturation
from hpcscope.models.scaling.speedup import Speedup
from hpcscope.strict import Strict


class Models(Strict):
    """Fits, ladders, speedups, predictions and other models of a run."""

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
    """Rates of the largest LINPACK; None where it was not run."""
