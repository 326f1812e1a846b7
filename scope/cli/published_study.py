"""A published study of a program, done here: one campaign for each network, in labs where it says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scope.machine.machine import MpiInstallation
    from scope.models.reference import Network, Reference, StudyOf, StudyScale
    from scope.models.reproduction import Row


def run(
    study: StudyOf, name: str, full: bool, repetitions: int | None, mpi: str | None, output: Path | None
) -> Path:
    """Do the study on every network and return the folder that holds one campaign for each."""
    from scope.build import installations
    from scope.errors import ScopeError
    from scope.launch import run as runs

    folder = runs.new_directory(name, output).path
    chosen = installations.find(mpi)
    scale = study.full if full else study.fitting
    for network in study.network:
        print(f"{network.name}: {network.words}", file=sys.stderr, flush=True)
        words = _words(study, scale, network, chosen, folder, repetitions)
        lab = ["--lab", network.lab] if network.lab else []
        code = subprocess.run([sys.executable, "-m", "scope", *lab, *words], stdout=sys.stderr).returncode
        if code not in (0, 1):
            raise ScopeError(f"{folder / network.name}: scope {words[0]} ended with {code}; see above")
    return folder


def rows(reference: Reference, folder: Path) -> list[Row]:
    """Hold the campaigns of a folder against the published figures."""
    from scope.campaign import published
    from scope.errors import UsageError

    study = reference.study
    assert study is not None
    found = {
        network.name: published.done(folder / network.name)
        for network in study.network
        if (folder / network.name / "campaign.json").exists()
    }
    if not found:
        names = ", ".join(network.name for network in study.network)
        raise UsageError(f"{folder}: must hold a campaign for each network: {names}")
    return published.rows(study, found)


def _words(
    study: StudyOf,
    scale: StudyScale,
    network: Network,
    mpi: MpiInstallation,
    folder: Path,
    repetitions: int | None,
) -> list[str]:
    """Return the command of scope that does the study on a network."""
    from scope.campaign import programs
    from scope.rundirectory import write_text

    program = [str(programs.compiled(study.program, mpi)), *scale.arguments.split()]
    target = folder / network.name
    times = str(repetitions or scale.repetitions)
    if study.kind == "placement":
        options = ["--ranks", str(max(scale.ranks)), "--repetitions", times, "--mpi", mpi.compiler]
        return ["placement", *options, "--output", str(target), "--", *program]
    file = folder / f"{network.name}.toml"
    ranks = scale.ranks if network.lab else _with_room(scale.ranks)
    write_text(
        file, _toml({"program": program, "ranks": ranks, "transport": network.transport, "mpi": mpi.compiler})
    )
    return ["campaign", str(file), "--repetitions", times, "--output", str(target)]


def _with_room(ranks: list[int]) -> list[int]:
    """Return the numbers of processes that this machine has processors for; the most it has where none fits."""
    import os

    room = len(os.sched_getaffinity(0))
    return [count for count in ranks if count <= room] or [room]


def _toml(values: dict[str, object]) -> str:
    import json

    # JSON's strings, numbers and lists of them are TOML's as well.
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
