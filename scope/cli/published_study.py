"""A published study of a program, done here: a campaign for each place, in labs where it says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scope.machine.machine import MpiInstallation
    from scope.models.published.reference import Network, Reference, StudyOf, StudyScale
    from scope.models.published.reproduction import Row


def run(
    study: StudyOf, name: str, full: bool, repetitions: int | None, mpi: str | None, output: Path | None
) -> Path:
    """Do the study on every network and return the folder that holds a campaign for each place.

    Networks that are transports of one place share a campaign: their runs take turns.
    """
    from scope.build import installations
    from scope.errors import ScopeError
    from scope.launch import run as runs

    folder = runs.new_directory(name, output).path
    chosen = installations.find(mpi)
    scale = study.full if full else study.fitting
    for lab in dict.fromkeys(network.lab for network in study.network):
        networks = [network for network in study.network if network.lab == lab]
        print("; ".join(f"{each.name}: {each.words}" for each in networks), file=sys.stderr, flush=True)
        words = _words(study, scale, networks, chosen, folder, repetitions)
        inside = ["--lab", lab] if lab else []
        code = subprocess.run([sys.executable, "-m", "scope", *inside, *words], stdout=sys.stderr).returncode
        if code not in (0, 1):
            raise ScopeError(f"{folder / _place(networks[0])}: scope {words[0]} ended with {code}; see above")
    return folder


def rows(reference: Reference, folder: Path) -> list[Row]:
    """Hold the campaigns of a folder against the published figures."""
    from scope.campaign import published
    from scope.errors import UsageError

    study = reference.study
    assert study is not None
    found = {
        network.name: published.done(folder / _place(network), network.transport)
        for network in study.network
        if (folder / _place(network) / "campaign.json").exists()
    }
    if not found:
        places = ", ".join(dict.fromkeys(map(_place, study.network)))
        raise UsageError(f"{folder}: must hold a campaign for each place: {places}")
    return published.rows(study, found)


def _place(network: Network) -> str:
    return network.lab or "here"


def _words(
    study: StudyOf,
    scale: StudyScale,
    networks: list[Network],
    mpi: MpiInstallation,
    folder: Path,
    repetitions: int | None,
) -> list[str]:
    """Return the command of scope that does the study at one place."""
    from scope.campaign import programs
    from scope.rundirectory import write_text

    place = _place(networks[0])
    program = [str(programs.compiled(study.program, mpi)), *scale.arguments.split()]
    options = ["--repetitions", str(repetitions or scale.repetitions), "--output", str(folder / place)]
    if study.kind == "placement":
        return [
            "placement",
            "--name",
            study.program,
            *options,
            "--ranks",
            str(max(scale.ranks)),
            "--mpi",
            mpi.compiler,
            "--",
            *program,
        ]
    asked = {
        "name": study.program,
        "program": program,
        "ranks": scale.ranks if networks[0].lab else _with_room(scale.ranks),
        "transport": [network.transport for network in networks],
        "mpi": mpi.compiler,
    }
    # JSON's strings, numbers and lists of them are TOML's as well.
    file = folder / f"{place}.toml"
    write_text(file, "".join(f"{name} = {json.dumps(value)}\n" for name, value in asked.items()))
    return ["campaign", str(file), *options]


def _with_room(ranks: list[int]) -> list[int]:
    """Return the numbers of processes that this machine has processors for; the most it has where none fits."""
    room = len(os.sched_getaffinity(0))
    return [count for count in ranks if count <= room] or [room]
