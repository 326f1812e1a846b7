"""Several offers simulated for one run: what each would gain, and what each percent gained costs."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import median

from hpcscope.engine.analysis import explain
from hpcscope.engine.progress import RunProgress, silent
from hpcscope.engine.simulate import simulate
from hpcscope.engine.simulate.request import SimulateOptions
from hpcscope.engine.simulate.simulate import Prepared, Simulated
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.rundirectory import write_json
from hpcscope.simulation import offers
from hpcscope.simulation.offers import Offer
from hpcscope.simulation.record import OfferGain

logger = logging.getLogger(__name__)


def simulated(run: Path, file: Path, options: SimulateOptions, progress: RunProgress = silent) -> list[Simulated]:
    """Simulate the offers of a file, each as a run of its own whose record has the gains of all.

    All offers are checked before anything is compiled; the platform as it was measured is simulated once.
    Each offer is simulated on the numbers of ranks for which it has room. In an output directory, each offer gets
    a subdirectory of its name. Raises UsageError naming the file and the offer, or a number of ranks for which no
    offer has room.
    """
    found = offers.read(file)
    for offer in found:
        with _named(file, offer):
            simulate.platforms(Run(run), _changed(options, offer))
    prepared: list[Prepared] = []
    for offer in found:
        with _named(file, offer):
            prepared.append(simulate.prepared(run, _changed(options, offer)))
    planned = {launch.ranks for offer in prepared for launch in offer.asked.plan.launches}
    if too_many := [count for count in options.ranks if count not in planned]:
        raise UsageError(f"--ranks {too_many[0]}: no offer of {file} has room for this many ranks")
    made: list[Simulated] = []
    for offer, each in zip(found, prepared, strict=True):
        logger.info("offer %s: %s", offer.name, " ".join(each.changes))
        made.append(simulate.carried_out(each, progress, f"simulate-{offer.name}", made[0] if made else None))
    gains = [_gain(offer, simulated) for offer, simulated in zip(found, made, strict=True)]
    return [_with_all(simulated, gains) for simulated in made]


def _changed(options: SimulateOptions, offer: Offer) -> SimulateOptions:
    return replace(
        options,
        ranks_that_fit=True,
        changes=offer.set,
        hosts=offer.hosts,
        topology=offer.topology,
        cost=offer.cost,
        output=options.output / offer.name if options.output else None,
    )


@contextmanager
def _named(file: Path, offer: Offer) -> Iterator[None]:
    """Prefix each UsageError with the file and the offer."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{file}: offer {offer.name}: {error}") from error


def _gain(offer: Offer, simulated: Simulated) -> OfferGain:
    values = list(chain.from_iterable(simulated.gains.values()))
    return OfferGain(
        name=offer.name,
        changes=simulated.record.changes,
        cost=offer.cost,
        figures=len(values),
        median=median(values) if values else None,
        least=min(values, default=None),
        most=max(values, default=None),
    )


def _with_all(simulated: Simulated, gains: Sequence[OfferGain]) -> Simulated:
    """Return a simulated offer whose record and report compare it with all others."""
    record = simulated.record.model_copy(update={"offers": list(gains)})
    write_json(simulated.directory.simulation, record)
    explain(simulated.directory.path)
    return replace(simulated, record=record)
