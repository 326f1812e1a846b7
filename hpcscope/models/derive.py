"""From summaries to `models.json`."""

from hpcscope.models.communication.congestion import congestion
from hpcscope.models.communication.library_settings import name_breaks
from hpcscope.models.communication.network_steps import name_steps
from hpcscope.models.communication.pair_matrix import pair_matrices
from hpcscope.models.communication.random_pairs import random_pairs
from hpcscope.models.computation.linpack_rates import linpack_rates
from hpcscope.models.fitting.model import fit_all
from hpcscope.models.ladder.devices import device_ladders
from hpcscope.models.ladder.files import file_ladders
from hpcscope.models.ladder.ladder import ladders
from hpcscope.models.ladder.limit_lines import limits
from hpcscope.models.measurements import Measurements
from hpcscope.models.models import Models
from hpcscope.models.prediction.operation_parts import operation_parts
from hpcscope.models.prediction.prediction import predictions
from hpcscope.models.scaling.applications import applications
from hpcscope.models.scaling.dealing import dealings
from hpcscope.models.scaling.phases_by_rank import phases_by_rank
from hpcscope.models.scaling.saturation import saturations
from hpcscope.models.scaling.speedup import speedups
from hpcscope.rundirectory import FORMAT
from hpcscope.samples.samples import Samples
from hpcscope.topology.topology import Topology


def derive(measurements: Measurements, samples: Samples, topology: Topology | None = None) -> Models:
    """Fit all models, build all ladders, decompose the pair matrices, and derive what more processes give.

    `topology` tells which hosts stand on one switch; None where nobody knows.
    """
    machine, catalog = measurements.machine, measurements.catalog
    fits, not_fitted = fit_all(measurements)
    fits = name_breaks(fits, samples.launches, machine.environment, catalog)
    phases = phases_by_rank(samples, catalog)
    return Models(
        format=FORMAT,
        fits=name_steps(fits, samples.launches, machine, catalog),
        ladders=[*ladders(measurements), *file_ladders(measurements), *device_ladders(measurements)],
        limits=limits(measurements),
        not_fitted=not_fitted,
        pairs=pair_matrices(samples, catalog),
        random_pairs=random_pairs(samples, catalog, topology),
        congestion=congestion(samples, catalog),
        speedups=speedups(measurements),
        saturations=saturations(measurements),
        predictions=predictions(measurements),
        phases=phases,
        dealings=dealings(phases, measurements, samples.launches),
        operations=operation_parts(measurements),
        applications=applications(measurements),
        linpack=linpack_rates(measurements),
    )
