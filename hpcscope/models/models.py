"""`models.json`: everything that is derived from the statistics of a run."""

from hpcscope.models.communication.congestion import Congestion, congestion
from hpcscope.models.communication.library_settings import name_breaks
from hpcscope.models.communication.network_steps import name_steps
from hpcscope.models.communication.pair_matrix import PairMatrix, pair_matrices
from hpcscope.models.communication.random_pairs import RandomPairs, random_pairs
from hpcscope.models.communication.switch_latency import Wiring
from hpcscope.models.computation.linpack_rates import LinpackRates, linpack_rates
from hpcscope.models.computation.loop_rates import LoopRates, loop_rates
from hpcscope.models.fitting.fit import Fit, NotFitted
from hpcscope.models.fitting.model import fit_all
from hpcscope.models.ladder.devices import device_ladders
from hpcscope.models.ladder.files import file_ladders
from hpcscope.models.ladder.ladder import ladders
from hpcscope.models.ladder.limit_lines import Limit, limits
from hpcscope.models.ladder.rung import Ladder
from hpcscope.models.measurements import Measurements
from hpcscope.models.prediction.operation_parts import OperationParts, operation_parts
from hpcscope.models.prediction.prediction import Prediction, predictions
from hpcscope.models.scaling.applications import Application, applications
from hpcscope.models.scaling.dealing import Dealing, dealings
from hpcscope.models.scaling.phases_by_rank import PhasesByRank, phases_by_rank
from hpcscope.models.scaling.saturation import Saturation, saturations
from hpcscope.models.scaling.speedup import Speedup, speedups
from hpcscope.rundirectory import FORMAT
from hpcscope.samples.samples import Samples
from hpcscope.strict import Strict
from hpcscope.topology.topology import Topology


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
    loops: list[LoopRates] = []
    linpack: LinpackRates | None = None
    """Rates of the largest LINPACK; None if it was not run."""


def derive(measurements: Measurements, samples: Samples, topology: Topology | None = None) -> Models:
    """Fit all models, build all ladders, decompose the pair matrices, and derive the effect of more ranks.

    `topology` says which hosts share a switch; None if that is not known.
    """
    machine, catalog = measurements.machine, measurements.catalog
    fits, not_fitted = fit_all(measurements)
    fits = name_breaks(fits, samples.launches, machine.environment, catalog)
    phases = phases_by_rank(samples, catalog)
    wiring = Wiring.known(machine.lab, topology)
    return Models(
        format=FORMAT,
        fits=name_steps(fits, samples.launches, machine, catalog),
        ladders=[*ladders(measurements), *file_ladders(measurements), *device_ladders(measurements)],
        limits=limits(measurements),
        not_fitted=not_fitted,
        pairs=pair_matrices(samples, catalog, wiring),
        random_pairs=random_pairs(samples, catalog, topology, wiring),
        congestion=congestion(samples, catalog),
        speedups=speedups(measurements),
        saturations=saturations(measurements),
        predictions=predictions(measurements),
        phases=phases,
        dealings=dealings(phases, measurements, samples.launches),
        operations=operation_parts(measurements),
        applications=applications(measurements),
        loops=loop_rates(measurements.summaries, catalog),
        linpack=linpack_rates(measurements),
    )
