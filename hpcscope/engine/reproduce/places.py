"""A published experiment on several networks, repeated here: one run for each place, in a lab where it says so."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from hpcscope.engine.reproduce.own_command import run_scope
from hpcscope.errors import InterruptedRunError, ScopeError, UsageError
from hpcscope.findings.results import Run
from hpcscope.models.published.observed import ObservedPlace, ObservedRun
from hpcscope.models.published.reference import ReproductionPlace
from hpcscope.plan.experiment import write
from hpcscope.rundirectory import RunDirectory, write_json, write_text
from hpcscope.settings.experiment import Experiment

logger = logging.getLogger(__name__)

ABSENT = "not-measured.json"
"""Why a place was not measured, by its name."""


def run(places: Sequence[ReproductionPlace], experiments: Mapping[str, Experiment], folder: Path) -> None:
    """Measure every place that has no finished run in the folder; an interrupted run goes on.

    A place that cannot be measured here does not keep the others from it: the folder says why. ScopeError where
    none can.
    """
    absent: dict[str, str] = {}
    for place in places:
        own = RunDirectory(folder / place.name)
        if _finished(own):
            continue
        logger.info(f"{place.name}: {place.words}")
        if own.run.exists():
            words = ["run", "--resume", str(own.path)]
        else:
            file = folder / f"{place.name}.toml"
            write_text(file, write(experiments[place.name]))
            words = ["run", str(file), "--output", str(own.path)]
        ended = run_scope(words, place.lab)
        if ended.code == InterruptedRunError.exit_code:
            raise InterruptedRunError(f"interrupted; resume: scope reproduce --resume {folder}")
        if not _finished(own):
            absent[place.name] = ended.reason
    write_json(folder / ABSENT, absent)
    if len(absent) == len(places):
        raise ScopeError(f"{folder}: nothing could be measured: {next(iter(absent.values()))}")


def observed(places: Sequence[ReproductionPlace], folder: Path) -> dict[str, ObservedPlace]:
    """Return what the runs in a folder gave, by the name of the place."""
    finished = [place for place in places if _finished(RunDirectory(folder / place.name))]
    if not finished:
        names = ", ".join(place.name for place in places)
        raise UsageError(f"{folder}: must contain a finished run of at least one place: {names}")
    runs = {place: Run(folder / place.name) for place in finished}
    return {
        place.name: ObservedRun(run.measurements, run.models.fits, place.link_bits_per_s, run.models.speedups)
        for place, run in runs.items()
    }


def absent(folder: Path) -> dict[str, str]:
    """Return why places were not measured, by their names."""
    file = folder / ABSENT
    return TypeAdapter(dict[str, str]).validate_json(file.read_bytes()) if file.is_file() else {}


def _finished(directory: RunDirectory) -> bool:
    """Return whether a run has its report: it is written last."""
    return directory.report.is_file()
