"""Native programs for the architectures of a cluster, and the provider of active messages for an MPI."""

import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from hpcscope.build import installations
from hpcscope.build.active_messages import provider_for
from hpcscope.build.mpi import registry
from hpcscope.errors import ScopeError
from hpcscope.launch import active_messages
from hpcscope.launch.cluster import Cluster, run_once_per_host
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from hpcscope.own_python import own_python
from hpcscope.settings.hosts import HostSlots

COMPILE_S = 900
"""How long a host may take to compile."""

logger = logging.getLogger(__name__)


def with_architectures(cluster: Cluster, build: NativeBuild) -> tuple[Cluster, list[NativeBuild]]:
    """Return the cluster with a native program for every architecture of its hosts, and the other builds.

    `build` is the program of this host. For each other architecture, its first host finds the program in its cache
    or compiles it with Scope, MPI and compiler at the same paths. Raises ScopeError naming a host that cannot.
    """
    here = os.uname().machine
    others = {name: host for name, host in cluster.architectures.items() if name != here}
    if not others:
        return cluster, []
    builds = {name: _built_on(host, name, cluster, build.mpi) for name, host in others.items()}
    programs = {here: build.program, **{name: native_build.program for name, native_build in builds.items()}}
    return replace(cluster, programs=programs), list(builds.values())


def _built_on(host: HostSlots, architecture: str, cluster: Cluster, mpi: MpiInstallation) -> NativeBuild:
    logger.info("building the native program for %s on %s ...", architecture, host.name)
    site = replace(cluster.site, hosts=(host,))
    words = own_python("-m", "hpcscope", "build", "--mpi", mpi.compiler, "--json")
    said = run_once_per_host(site, words, COMPILE_S)
    begin, end = said.find("{"), said.rfind("}")
    try:
        return NativeBuild.model_validate_json(said[begin : end + 1])
    except ValidationError as error:
        raise ScopeError(
            f"host {host.name}: {architecture}: `scope build` answered: {said.strip()[-200:]}"
        ) from error


@dataclass(frozen=True)
class Provider:
    """The active messages as a libfabric provider, and how to make programs of an MPI use it."""

    library: Path
    mpi: MpiInstallation
    variables: dict[str, str]
    start: str
    """A command line that hands the variables to all ranks."""


def build_provider(mpi: str | None) -> Provider:
    """Return the provider for the MPI of this name or path; UsageError if the MPI cannot use it."""
    installation = installations.find(mpi)
    variables = active_messages.around(installation) | {"FI_SCOPE_KEY": "$(openssl rand -hex 16)"}
    variables.setdefault("FI_SCOPE_IFACE", "INTERFACE")
    family = registry.family_of(installation.name)
    handed = " ".join(family.inherits(variables)) if family else ""
    start = " ".join(filter(None, [installation.launcher or "mpiexec", handed, "-n RANKS PROGRAM"]))
    return Provider(provider_for(installation), installation, variables, start)
