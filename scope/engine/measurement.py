"""The launches of a run under supervision; whatever ends them leaves a run that can be resumed."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace

from scope.catalog.catalog import read as read_catalog
from scope.engine import begun_run
from scope.engine.directories import locked
from scope.engine.progress import RunProgress
from scope.engine.signals import STOP_RUN, as_interrupt
from scope.errors import InterruptedRunError, ScopeError
from scope.lab.active import active
from scope.launch import schedulers
from scope.launch.cluster import Cluster
from scope.launch.site import with_storage
from scope.launch.supervision.supervisor import Limits, Supervisor
from scope.machine.machine import NativeBuild
from scope.plan import plan as planning
from scope.plan.further import with_further_launches
from scope.plan.plan import Plan
from scope.rundirectory import RunDirectory, write_text

JOB_END_S = 3.0
"""Within this time a batch system tells every process of a job that the job ends."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setup:
    """Requirements of the launches of a run."""

    build: NativeBuild
    cluster: Cluster
    limits: Limits
    time_margin_s: float
    """How long before the end of its batch job the run stops."""
    progress: RunProgress


@dataclass(frozen=True)
class FurtherLaunches:
    """More launches, once those of the plan are done, for the cases whose figures are the least certain."""

    time_s: float
    """For these and all launches before them."""
    launches: int
    """That every case gets."""
    visits: tuple[int, int]

    def added(self, plan: Plan, supervisor: Supervisor) -> Plan:
        """Return the plan with another round of launches; the same plan when there is none to add."""
        left_s = self.time_s - supervisor.spent_s
        return with_further_launches(plan, supervisor.journal.seen, self.launches, self.visits, left_s)


def measure(
    directory: RunDirectory,
    plan: Plan,
    setup: Setup,
    time_s: float | None = None,
    further: FurtherLaunches | None = None,
) -> bool:
    """Run the cases of a plan that have no record, and further launches; return whether all are well.

    `time_s`: redistribute this time over the cases before every launch. A ScopeError carries the run directory
    as `resumable`.
    """
    deadline = schedulers.deadline(setup.time_margin_s)
    with locked(directory) as lock, as_interrupt(*STOP_RUN):
        supervisor = Supervisor(
            run=directory,
            program=setup.build.program,
            command=replace(setup.cluster, site=with_storage(setup.cluster.site, directory.path.parent)).start,
            place=setup.cluster.place,
            limits=setup.limits,
            time_s=time_s,
            deadline=deadline,
            job_end_s=0.0 if schedulers.allocation() is None else JOB_END_S,
            inherited=(lock,),
            origin="measured" if active() is None else "emulated",
        )
        try:
            begun_run.note_status(directory, "running")
            unfinished = supervisor.unfinished(plan)
            if deadline is not None and deadline.unix_s < time.time() + planning.expected_s(unfinished):
                logger.info("this job ends before the plan; --resume runs the remaining cases in another job")
            catalog = read_catalog(directory.benchmarks)
            with setup.progress(catalog, plan, unfinished) as listener:
                well = supervisor.supervise(plan, listener)
            while further is not None and (longer := further.added(plan, supervisor)) != plan:
                plan, supervisor.time_s = longer, further.time_s
                write_text(directory.plan, planning.write(plan))
                with setup.progress(catalog, plan, supervisor.unfinished(plan)) as listener:
                    well = supervisor.supervise(plan, listener)
            begun_run.note_status(directory, "finished")
        except ScopeError as error:
            begun_run.note_early_end(directory, interrupted=isinstance(error, InterruptedRunError))
            error.resumable = directory.path
            raise
    return well
