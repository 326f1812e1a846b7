"""Starts of a program that times one collective, with the collectives library before MPI's own or without it."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hpcscope.build import collectives, installations
from hpcscope.build.collectives import CollectivesBuild
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import site_of, start_command
from hpcscope.machine import processors
from hpcscope.machine.machine import MpiInstallation
from hpcscope.settings.experiment import LauncherSettings

SOURCE = Path(__file__).resolve().with_name("collectives_time.cpp")


@dataclass(frozen=True)
class Timer:
    """The program, the library, and where the ranks run: on this host, or on the hosts of the lab around us."""

    mpi: MpiInstallation
    built: CollectivesBuild
    program: Path
    site: Site

    @classmethod
    def made(cls, mpi: str | None, folder: Path) -> Timer:
        """Compile what is needed."""
        found = installations.find(mpi)
        program = folder / "collectives_time"
        command = [found.compiler, "-std=c++20", "-O2", str(SOURCE), "-o", str(program)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        site = site_of(found, LauncherSettings(), "benchmark")
        return cls(found, collectives.build(found), program, site)

    def seconds(
        self,
        operation: str,
        message_bytes: int,
        ranks: int,
        repetitions: int,
        loop: int,
        settings: dict[str, str] | None,
    ) -> float:
        """Median over repetitions of one operation's time, the first (which connects) left out.

        `settings` are variables for every rank, with which the library is loaded; None leaves it out.
        """
        preload = {} if settings is None else {"LD_PRELOAD": str(self.built.library), **settings}
        arguments = [f"{name}={value}" for name, value in preload.items()]
        arguments += [str(self.program), operation, str(message_bytes), str(repetitions + 1), str(loop)]
        oversubscribed = ranks > processors.usable()
        job = MpiProgram("/usr/bin/env", tuple(arguments), ranks, oversubscribed=oversubscribed, binding="core")
        command = start_command(job, self.site)
        environment = {**os.environ, **command.environment}
        ended = subprocess.run(command.arguments, env=environment, capture_output=True, text=True, timeout=600)
        if ended.returncode != 0:
            raise SystemExit(f"{operation} of {message_bytes} B: {(ended.stderr or ended.stdout).strip()[-500:]}")
        return statistics.median([float(line) for line in ended.stdout.split()][1:])


def folder() -> tempfile.TemporaryDirectory[str]:
    """Return a place for what is compiled."""
    return tempfile.TemporaryDirectory(prefix="scope-collectives-")
