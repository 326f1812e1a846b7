"""A published experiment on several networks, repeated here: runs for each place, in a lab if it says so."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from hpcscope.engine.reproduce.own_command import run_scope
from hpcscope.errors import InterruptedRunError, ScopeError, UsageError
from hpcscope.findings.results import Run
from hpcscope.findings.run.measurement import processor_taken
from hpcscope.models.published.observed import ObservedPlace, ObservedRun
from hpcscope.models.published.reference import ReproductionPlace
from hpcscope.programs.campaign import folder as folders
from hpcscope.programs.campaign import is_campaign, published
from hpcscope.programs.campaign.folder import CampaignFolder
from hpcscope.rundirectory import RunDirectory, write_json

logger = logging.getLogger(__name__)

Command = Sequence[str] | Callable[[], Sequence[str]]
"""The words of a Scope command, or a function that returns them once the earlier places are measured."""
ABSENT = "not-measured.json"
"""The file that says why places were not measured, by their names."""


def measure(
    places: Sequence[ReproductionPlace], commands: Mapping[str, Command], folder: Path, full: bool = False
) -> None:
    """Run the Scope command of each unfinished directory; an interrupted one is resumed.

    A place that cannot be measured here does not stop the others; ABSENT in the folder says why. Raises ScopeError
    if no place can be measured.
    """
    absent: dict[str, str] = {}
    for name, command in commands.items():
        own = folder / name
        if _finished(own):
            continue
        here = [place for place in places if place.folder == name]
        logger.info("; ".join(f"{place.name}: {place.words}" for place in here))
        begun = is_campaign(own) or RunDirectory(own).run.exists()
        try:
            if callable(command) and own.exists():
                raise UsageError(f"{own}: an interrupted simulation, which cannot be resumed; delete it")
            words = command() if callable(command) else command
        except UsageError as error:  # cannot be measured here, or a place that it needs has no run
            absent |= dict.fromkeys((place.name for place in here), str(error))
            continue
        words = [words[0], "--resume", str(own)] if begun else words
        ended = run_scope(words, (full and here[0].full_lab) or here[0].lab)
        if ended.code == InterruptedRunError.exit_code:
            raise InterruptedRunError(f"interrupted; resume: scope reproduce --resume {folder}")
        if not _finished(own):
            absent |= dict.fromkeys((place.name for place in here), ended.reason)
    write_json(folder / ABSENT, absent)
    if len(absent) == len(places):
        raise ScopeError(f"{folder}: nothing could be measured: {next(iter(absent.values()))}")


def observed(places: Sequence[ReproductionPlace], folder: Path) -> dict[str, ObservedPlace]:
    """Return the results of the runs in a folder, by the name of the place."""
    observed_places: dict[str, ObservedPlace] = {}
    for place in places:
        own = folder / place.folder
        if is_campaign(own):
            observed_places[place.name] = published.observed(own, place.transport)
        elif _finished(own):
            observed_places[place.name] = observed_run(Run(own), place.link_bits_per_s)
    if not observed_places:
        names = ", ".join(dict.fromkeys(place.folder for place in places))
        raise UsageError(f"{folder}: must contain at least one finished run: {names}")
    return observed_places


def observed_run(run: Run, link_bits_per_s: float | None) -> ObservedRun:
    """Return the results of a run on a link of this rate, and whether other programs disturbed it."""
    title = next((finding.title for finding in processor_taken.find(run)), "")
    disturbed = title[:1].lower() + title[1:]
    return ObservedRun(
        run.measurements, run.models.fits, link_bits_per_s, run.models.speedups, disturbed=disturbed
    )


def absent(folder: Path) -> dict[str, str]:
    """Return why places were not measured, by their names."""
    file = folder / ABSENT
    return TypeAdapter(dict[str, str]).validate_json(file.read_bytes()) if file.is_file() else {}


def _finished(own: Path) -> bool:
    """Return whether a directory has all its runs: a run's report is written last, a campaign has a status."""
    if is_campaign(own):
        return folders.read(CampaignFolder(own)).status == "finished"
    return RunDirectory(own).report.is_file()
