"""The native program, the monitor and the collectives for an MPI: found in the cache or compiled."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from scope.build import collectives, installations, native
from scope.build.collectives import CollectivesBuild
from scope.machine.machine import MpiInstallation, NativeBuild

logger = logging.getLogger(__name__)


def native_program(mpi: MpiInstallation) -> NativeBuild:
    """Return the native program for an MPI; a notice says when it must be compiled first."""
    if not native.is_built(mpi):
        logger.info("compiling the native program for %s %s ...", mpi.name, mpi.version)
    return native.build(mpi)


@dataclass(frozen=True)
class TimedBuild:
    """A native program, and how long it took to find or compile it."""

    build: NativeBuild
    seconds: float


def build(mpi: str | None) -> TimedBuild:
    """Return the native program for the MPI of this name or path; None: the first one found."""
    installation = installations.find(mpi)
    started_s = time.monotonic()
    made = native_program(installation)
    return TimedBuild(made, time.monotonic() - started_s)


def build_collectives(mpi: str | None) -> tuple[CollectivesBuild, MpiInstallation]:
    """Return the topology-aware collectives for the MPI of this name or path."""
    installation = installations.find(mpi)
    return collectives.build(installation), installation
