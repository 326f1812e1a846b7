"""The native program, the monitor and the collectives for an MPI: found in the cache or compiled."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from pathlib import Path

from scope.build import collectives, installations, native
from scope.build.active_messages import provider_for
from scope.build.collectives import CollectivesBuild
from scope.launch import active_messages
from scope.machine.machine import MpiInstallation, NativeBuild
from scope.mpi import registry

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


@dataclass(frozen=True)
class Provider:
    """The active messages as a provider of libfabric, and how programs of an MPI take it."""

    library: Path
    mpi: MpiInstallation
    variables: dict[str, str]
    start: str
    """A command line that hands the variables to all ranks."""


def build_provider(mpi: str | None) -> Provider:
    """Return the provider for the MPI of this name or path; UsageError where the MPI cannot take it."""
    installation = installations.find(mpi)
    variables = active_messages.around(installation) | {"FI_SCOPE_KEY": "$(openssl rand -hex 16)"}
    variables.setdefault("FI_SCOPE_IFACE", "INTERFACE")
    family = registry.family_of(installation.name)
    handed = " ".join(family.inherits(variables)) if family else ""
    start = " ".join(filter(None, [installation.launcher or "mpiexec", handed, "-n RANKS PROGRAM"]))
    return Provider(provider_for(installation), installation, variables, start)


def build_collectives(mpi: str | None) -> tuple[CollectivesBuild, MpiInstallation]:
    """Return the topology-aware collectives for the MPI of this name or path."""
    installation = installations.find(mpi)
    return collectives.build(installation), installation
