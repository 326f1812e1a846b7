"""The site that an experiment asks for: its hosts, its launcher, and everything else that starting ranks needs."""

import os
import secrets
import shutil
from dataclasses import replace
from pathlib import Path

from hpcscope.errors import UsageError
from hpcscope.lab.active import INTERFACE, MANAGEMENT, ActiveLab, active, topology_file
from hpcscope.launch import active_messages, schedulers
from hpcscope.launch.launcher import Command, Launcher, MpiProgram, Site, Storage
from hpcscope.launch.launchers import choose
from hpcscope.launch.leftovers import FOLDER
from hpcscope.launch.scheduler import Allocation
from hpcscope.machine import devices
from hpcscope.machine.discover import steering_environment
from hpcscope.machine.machine import MpiInstallation
from hpcscope.settings.experiment import LauncherSettings
from hpcscope.settings.hosts import HostSlots

THREADS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "GOTO_NUM_THREADS": "1",
}
"""A rank is one thread unless the environment says otherwise."""
NETWORK = "SCOPE_INTERFACE"
"""The variable that tells the native program which interface carries the messages, also those below MPI."""


def site_of(mpi: MpiInstallation, asked: LauncherSettings, where: str) -> Site:
    """Return the site of an experiment; raises UsageError naming `where`, key, value and what is allowed.

    Inside a batch job the hosts are those of the job, inside a lab those of the lab, unless some are named.
    """
    launcher = choose(mpi, asked.kind)
    granted = schedulers.allocation()
    if launcher.scheduler and (granted is None or granted.scheduler != launcher.scheduler):
        raise UsageError(
            f"{where}: launcher.kind = {asked.kind}: this is not running inside a {asked.kind} job;"
            " start scope inside one (salloc, sbatch), or add --submit"
        )
    site = Site(
        mpi=mpi,
        mpiexec=_launcher_path(launcher, mpi, asked.mpiexec, where),
        kind=asked.kind,
        hosts=_in_allocation(asked.hosts, granted, where),
        ranks_per_host=asked.ranks_per_host,
        binding=asked.binding,
        remote_shell=_program(asked.remote_shell, f"{where}: launcher.remote_shell")
        if asked.remote_shell
        else None,
        interface=asked.interface,
        arguments=asked.arguments,
        topology=_topology(asked.topology, f"{where}: launcher.topology") if asked.topology else None,
        storage=_storage(asked.storage, where),
    )
    lab = active()
    return site if lab is None else _in_lab(lab, site)


def start_command(program: MpiProgram, site: Site) -> Command:
    """Return how `program` is started at `site`; every rank gets the environment variables for MPI and threads."""
    threads = {name: os.environ.get(name, value) for name, value in THREADS.items()}
    storage = site.storage.variables if site.storage else {}
    messages = active_messages.variables(program, site)
    network = {NETWORK: site.interface} if site.interface else {}
    own = {**threads, **storage, **network, **messages, **devices.variables()}
    variables = {**steering_environment(os.environ), **own}
    return choose(site.mpi, site.kind).command(program, site, variables)


def with_storage(site: Site, folder: Path) -> Site:
    """Return the site with a folder for the files of its ranks, unless one was asked for."""
    return site if site.storage else replace(site, storage=_marked(folder))


def _in_lab(lab: ActiveLab, site: Site) -> Site:
    """Return the site on a lab's hosts (by default all with ranks) and its emulated network, without binding."""
    return replace(
        site,
        hosts=site.hosts or tuple(HostSlots(host.name, host.slots) for host in lab.hosts if host.slots),
        binding="none",
        remote_shell=site.remote_shell or lab.remote_shell,
        interface=site.interface or INTERFACE,
        control_interface=MANAGEMENT,
        topology=site.topology or topology_file(),
        shared_kernel=True,
    )


def _launcher_path(launcher: Launcher, mpi: MpiInstallation, asked: str | None, where: str) -> str:
    if asked is not None:
        return _program(asked, f"{where}: launcher.mpiexec")
    if launcher.program is not None:
        return _program(launcher.program, f"{where}: launcher.kind = {launcher.kind}: {launcher.program}")
    if not mpi.launcher:
        raise UsageError(
            f"{where}: {mpi.compiler} ({mpi.name} {mpi.version}) has no mpiexec next to it;"
            " name one with launcher.mpiexec (--mpiexec)"
        )
    return mpi.launcher


def _program(name: str, where: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise UsageError(f"{where} = {name}: no such program; must be a program on PATH or a path to one")
    return str(Path(found).absolute())


def _topology(name: str, where: str) -> Path:
    if not Path(name).is_file():
        raise UsageError(f"{where} = {name}: no such file; create one with `scope topology discover`")
    return Path(name).absolute()


def _storage(asked: str | None, where: str) -> Storage | None:
    """Return the folder that was asked for; raises UsageError if no files can be made in it."""
    named = asked or os.environ.get(FOLDER)
    if not named:
        return None
    if not Path(named).is_dir() or not os.access(named, os.W_OK | os.X_OK):
        source = f"{where}: launcher.storage" if asked else f"${FOLDER}"
        raise UsageError(f"{source} = {named}: must be a directory that you can write to")
    return _marked(Path(named))


def _marked(folder: Path) -> Storage:
    return Storage(str(folder.resolve()), secrets.token_hex(8))


def _in_allocation(asked: tuple[HostSlots, ...], granted: Allocation | None, where: str) -> tuple[HostSlots, ...]:
    """Return the hosts asked for, else all hosts of the job, with the slots that the job has there."""
    if granted is None:
        return asked
    if foreign := [host.name for host in asked if host.name not in granted.slots]:
        raise UsageError(
            f"{where}: launcher.hosts = {foreign[0]}: is not a host of job {granted.job};"
            f" must be one of {', '.join(granted.slots)}"
        )
    hosts = asked or [HostSlots(name) for name in granted.slots]
    return tuple(HostSlots(host.name, host.slots or granted.slots[host.name]) for host in hosts)
