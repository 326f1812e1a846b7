"""A published study of a program, repeated here: one campaign for each place, in a lab where it says so."""

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import tomli_w

from hpcscope.build import installations
from hpcscope.engine.directories import new_directory
from hpcscope.errors import ScopeError, UsageError
from hpcscope.machine import processors
from hpcscope.machine.machine import MpiInstallation
from hpcscope.models.published.observed import ObservedPlace
from hpcscope.models.published.reference import PublishedStudy, StudyNetwork, StudyScale, beside
from hpcscope.own_python import own_python
from hpcscope.programs.campaign import programs, published
from hpcscope.programs.profiles.program import Program, recognise
from hpcscope.rundirectory import write_text

logger = logging.getLogger(__name__)


def run(
    study: PublishedStudy,
    name: str,
    full: bool,
    repetitions: int | None,
    mpi: str | None,
    output: Path | None,
    resumed: Path | None = None,
) -> Path:
    """Repeat the study on every network and return the folder with a campaign for each place.

    In a folder that is resumed, campaigns that were begun go on.

    Networks that are transports of the same place share a campaign: their runs alternate.
    """
    folder = resumed or new_directory(name, output).path
    application = _application(study, mpi) if study.application else None
    chosen = application.mpi if application else installations.find(mpi)
    scale = study.full if full else study.fitting
    for place in dict.fromkeys(map(_place, study.network)):
        networks = [network for network in study.network if _place(network) == place]
        logger.info("; ".join(f"{network.name}: {network.words}" for network in networks))
        begun = folder / _place(networks[0])
        if (begun / "campaign.json").exists():
            words = [study.kind, "--resume", str(begun)]
        else:
            words = _words(study, scale, networks, chosen, folder, repetitions)
        lab = (full and networks[0].full_lab) or networks[0].lab
        inside = ["--lab", lab] if lab else []
        code = subprocess.run(own_python("-m", "hpcscope", *inside, *words), stdout=sys.stderr).returncode
        if code not in (0, 1):
            raise ScopeError(f"{folder / _place(networks[0])}: scope {words[0]} ended with {code}; see above")
    return folder


def observed(study: PublishedStudy, folder: Path) -> dict[str, ObservedPlace]:
    """Return what the campaigns in a folder gave, by the name of the network."""
    observed_places: dict[str, ObservedPlace] = {
        network.name: published.observed(folder / _place(network), network.transport)
        for network in study.network
        if (folder / _place(network) / "campaign.json").exists()
    }
    if not observed_places:
        places = ", ".join(dict.fromkeys(map(_place, study.network)))
        raise UsageError(f"{folder}: must hold a campaign for each place: {places}")
    return observed_places


def _place(network: StudyNetwork) -> str:
    """Return the name of the folder of a campaign."""
    return "-".join(filter(None, [network.lab or "here", network.program]))


def _words(
    study: PublishedStudy,
    scale: StudyScale,
    networks: Sequence[StudyNetwork],
    mpi: MpiInstallation,
    folder: Path,
    repetitions: int | None,
) -> list[str]:
    """Return the command of Scope that repeats the study at one place."""
    place = _place(networks[0])
    name = networks[0].program or study.program
    program = _program(study, name, scale, mpi)
    options = ["--repetitions", str(repetitions or scale.repetitions), "--output", str(folder / place)]
    if study.kind == "placement":
        ranks = ["--ranks", str(max(scale.ranks))]
        return ["placement", "--name", name, *options, *ranks, "--mpi", mpi.compiler, "--", *program]
    asked = {
        "name": name,
        "program": program,
        "ranks": scale.ranks if networks[0].lab else _with_processors(scale.ranks),
        "transport": [network.transport for network in networks],
        "mpi": mpi.compiler,
        "parameters": scale.parameters,
        **({"further_parameters": scale.further_parameters} if scale.further_parameters else {}),
        **({"per": scale.per} if scale.per else {}),
    }
    file = folder / f"{place}.toml"
    write_text(file, tomli_w.dumps(asked))
    return ["campaign", str(file), *options]


def _application(study: PublishedStudy, mpi: str | None) -> Program:
    """Return what the application is started with; UsageError names the package where there is no application."""
    assert study.application is not None
    asked = study.application
    if shutil.which(asked.program) is None:
        raise UsageError(
            f"{asked.program}: not found; it is in Debian's package {asked.package} (apt install {asked.package})"
        )
    return recognise([asked.program], mpi, os.environ, Path.cwd())


def _program(study: PublishedStudy, name: str, scale: StudyScale, mpi: MpiInstallation) -> list[str]:
    """Return the words of the program that is studied."""
    if study.application is None:
        return programs.command(name, scale.arguments, mpi)
    file = beside(study.application.input)
    return [study.application.program, *scale.arguments.split(), "-i", str(file)]


def _with_processors(ranks: Sequence[int]) -> list[int]:
    """Return the numbers of ranks that this host has processors for; as many as it has where none fits."""
    usable = processors.usable()
    return [count for count in ranks if count <= usable] or [usable]
