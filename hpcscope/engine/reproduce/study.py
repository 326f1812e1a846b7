"""A published study of a program: the commands that repeat it, one campaign for each place."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import tomli_w

from hpcscope.build import installations
from hpcscope.errors import UsageError
from hpcscope.machine import processors
from hpcscope.machine.machine import MpiInstallation
from hpcscope.models.published.reference import PublishedStudy, ReproductionPlace, StudyScale, beside
from hpcscope.programs.campaign import programs
from hpcscope.programs.profiles.program import Program, recognize
from hpcscope.rundirectory import write_text


def commands(
    study: PublishedStudy,
    places: Sequence[ReproductionPlace],
    scale: StudyScale,
    mpi: str | None,
    folder: Path,
    repetitions: int | None,
) -> dict[str, list[str]]:
    """Return the Scope command for each directory; networks that share a directory alternate their runs.

    Writes the files of campaigns into `folder`.
    """
    application = _application(study, mpi) if study.application else None
    chosen = application.mpi if application else installations.find(mpi)
    made: dict[str, list[str]] = {}
    for directory in dict.fromkeys(place.folder for place in places):
        here = [place for place in places if place.folder == directory]
        name = here[0].program or study.program
        program = _program(study, name, scale, chosen)
        options = ["--repetitions", str(repetitions or scale.repetitions), "--output", str(folder / directory)]
        if study.kind == "placement":
            options += ["--ranks", str(max(scale.ranks)), "--mpi", chosen.compiler]
            made[directory] = ["placement", "--name", name, *options, "--", *program]
            continue
        asked = {
            "name": name,
            "program": program,
            "ranks": scale.ranks if here[0].lab else _with_processors(scale.ranks),
            "transport": [place.transport for place in here],
            "mpi": chosen.compiler,
            "parameters": scale.parameters,
            **({"further_parameters": scale.further_parameters} if scale.further_parameters else {}),
            **({"per": scale.per} if scale.per else {}),
        }
        file = folder / f"{directory}.toml"
        write_text(file, tomli_w.dumps(asked))
        made[directory] = ["campaign", str(file), *options]
    return made


def _application(study: PublishedStudy, mpi: str | None) -> Program:
    """Return how the application is started; UsageError names its package if it is not installed."""
    assert study.application is not None
    asked = study.application
    if shutil.which(asked.program) is None:
        raise UsageError(
            f"{asked.program}: not found; it is in Debian's package {asked.package} (apt install {asked.package})"
        )
    return recognize([asked.program], mpi, os.environ, Path.cwd())


def _program(study: PublishedStudy, name: str, scale: StudyScale, mpi: MpiInstallation) -> list[str]:
    """Return the words of the program that is studied."""
    if study.application is None:
        return programs.command(name, scale.arguments, mpi)
    file = beside(study.application.input)
    return [study.application.program, *scale.arguments.split(), "-i", str(file)]


def _with_processors(ranks: Sequence[int]) -> list[int]:
    """Return the numbers of ranks for which this host has processors; its number of processors if none fits."""
    usable = processors.usable()
    return [count for count in ranks if count <= usable] or [usable]
