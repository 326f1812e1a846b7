"""How a run of a study is started: its command, its hosts and the monitor."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hpcscope.build import installations
from hpcscope.errors import UsageError
from hpcscope.lab.active import active
from hpcscope.launch import active_messages
from hpcscope.launch.cluster import Cluster, probe_cluster
from hpcscope.launch.launcher import Command, MpiProgram
from hpcscope.launch.site import site_of, start_command
from hpcscope.machine import discover, processors
from hpcscope.machine.machine import Machine, MpiInstallation
from hpcscope.plan.case import over_active_messages
from hpcscope.programs.campaign.execution import Outcome
from hpcscope.programs.campaign.study import Planned, Study, filled
from hpcscope.programs.profiles import PROFILES
from hpcscope.programs.profiles.monitored_run import MONITOR, Monitored, Options
from hpcscope.programs.profiles.program import located, recognize
from hpcscope.rundirectory import FORMAT, write_json
from hpcscope.settings.hosts import HostSlots
from hpcscope.version import VERSION

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Monitor:
    """The monitor library for one MPI, and its options."""

    mpi: MpiInstallation
    library: Path
    options: Options
    machine: Machine

    def note(self, folder: Path, command: Sequence[str], outcome: Outcome) -> None:
        """Write `monitor.json`, which makes the directory of a run a monitored run."""
        code = outcome.exit_code
        ended = Monitored(
            format=FORMAT,
            scope_version=VERSION,
            command=list(command),
            directory=str(Path.cwd()),
            started_unix_s=outcome.started_unix_s,
            finished_unix_s=outcome.started_unix_s + outcome.elapsed_s,
            wall_s=outcome.elapsed_s,
            exit_code=code if code is not None and code < 128 else None,
            signal=None if code is None or code < 128 else code - 128,
            host=os.uname().nodename,
            mpi=self.mpi,
            library=str(self.library),
            options={
                "interval_s": f"{self.options.interval_s:g}",
                "trace": self.options.trace,
                "depth": str(self.options.frames),
            },
            machine=self.machine,
        )
        write_json(folder / MONITOR, ended)


def monitor_of(mpi: MpiInstallation, interval_s: float) -> Monitor:
    """Return the monitor for an MPI, compiled first if necessary, with a notice."""
    from hpcscope.build import monitor

    if monitor.built(mpi) is None:
        logger.info("compiling the monitor for %s %s ...", mpi.name, mpi.version)
    options = Options(interval_s=interval_s, depth=0)
    return Monitor(mpi, monitor.build(mpi), options, discover.machine([discover.this_host()], None))


@dataclass(frozen=True)
class Starter:
    """Starts the runs of one study."""

    study: Study
    cluster: Cluster | None
    """None if the command starts its own ranks."""
    monitor: Monitor | None
    """None if the study is not monitored."""

    @property
    def slots(self) -> tuple[int, ...]:
        """Number of slots of each host; empty if only the command knows them."""
        return self.cluster.place.slots if self.cluster else ()

    def oversubscribed(self, ranks: int) -> bool:
        """Return whether this number of ranks is oversubscribed, if that is known."""
        if active() is not None:
            return ranks > processors.usable()
        return bool(self.slots) and ranks > sum(self.slots)

    def command(self, run: Planned, folder: Path) -> Command:
        """Return the command that starts `run`; its profiles go into `folder`."""
        environment = {name: filled([text], run, folder)[0] for name, text in self.study.environment.items()}
        settings: dict[str, str] = {}
        if self.monitor is not None:
            options, library = self.monitor.options, self.monitor.library
            settings = options.variables(library, folder / PROFILES, os.environ)
        if self.cluster is None:
            words = filled(self.study.command, run, folder)
            if self.monitor is None:
                return Command(words, environment)
            program = recognize(words, self.monitor.mpi.compiler, {**os.environ, **environment}, Path.cwd())
            own = over_active_messages(run.transport)
            messages = active_messages.around(self.monitor.mpi, run.transport) if own else {}
            monitored, further = program.monitored(settings, messages)
            return Command(monitored, {**environment, **messages, **further})
        # `env` sets the variables on the ranks' hosts, because the launcher itself must not preload anything.
        variables = [f"{name}={value}" for name, value in {**environment, **settings}.items()]
        words = [*variables, *filled(self.study.program, run, folder)]
        return self._placed(MpiProgram("env", tuple(words), run.ranks, run.transport), run.placement)

    def _placed(self, job: MpiProgram, placement: str) -> Command:
        assert self.cluster is not None
        site, slots = self.cluster.site, self.cluster.place.slots
        job = replace(job, binding=site.binding, oversubscribed=job.ranks > sum(slots))
        if placement == "packed" and site.hosts:
            site = replace(site, hosts=packed(site.hosts, job.ranks), ranks_per_host=None)
        elif placement == "spread" and site.hosts:
            per_host = -(-job.ranks // len(site.hosts))
            hosts = site.hosts[: -(-job.ranks // per_host)]
            site = replace(site, hosts=tuple(HostSlots(host.name, per_host) for host in hosts))
            job = replace(job, ranks_per_host=per_host)
        elif placement == "spread":
            job = replace(job, binding="socket")
        elif placement == "packed":
            job = replace(job, binding="core")
        return start_command(job, site)


def packed(hosts: tuple[HostSlots, ...], ranks: int) -> tuple[HostSlots, ...]:
    """Return the first hosts that have slots for all ranks; all hosts if there are too few slots."""
    room = 0
    for position, host in enumerate(hosts):
        room += host.slots or 1
        if room >= ranks:
            return hosts[: position + 1]
    return hosts


def starter(study: Study, where: str) -> Starter:
    """Return the starter of a study's runs on this machine.

    Raises a UsageError that begins with `where` if that is not possible: no launcher, too few slots, no command.
    """
    if study.command:
        if not study.monitored:
            return Starter(study, None, None)
        words = filled(study.command, study.runs()[0], Path.cwd())
        program = recognize(words, study.mpi, {**os.environ, **study.environment}, Path.cwd())
        return Starter(study, None, monitor_of(program.mpi, study.interval_s))
    mpi = installations.find(study.mpi)
    cluster = probe_cluster(site_of(mpi, study.launcher, where))
    active_messages.check(study.transport, cluster.site)
    first = filled(study.program, study.runs()[0], Path.cwd())[0]
    if cluster.site.one_host and located(first, {**os.environ, **study.environment}, Path.cwd()) is None:
        raise UsageError(f"{where}: {first}: no such program; must be a program on PATH or a path")
    room, most = sum(cluster.place.slots), max(study.ranks)
    if most > room and not study.launcher.oversubscribe:
        raise UsageError(
            f"{where}: ranks = {most}: there are {room} slots; launcher.oversubscribe = true allows more ranks"
        )
    return Starter(study, cluster, monitor_of(mpi, study.interval_s) if study.monitored else None)
