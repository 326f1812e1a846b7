"""The launches of a run under supervision; whatever ends them leaves a run that can be resumed."""

import logging
import time
from dataclasses import dataclass, replace
from importlib import import_module
from math import inf
from statistics import median

from hpcscope.catalog.catalog import read as read_catalog
from hpcscope.engine.progress import RunProgress
from hpcscope.engine.run import begun_run
from hpcscope.engine.run.first_values import WithFirstValues
from hpcscope.errors import ScopeError
from hpcscope.lab.active import active
from hpcscope.launch import schedulers
from hpcscope.launch.cluster import Cluster
from hpcscope.launch.schedulers import Deadline
from hpcscope.launch.site import with_storage
from hpcscope.launch.supervision.supervisor import Limits, Supervisor
from hpcscope.locks import hold
from hpcscope.machine.machine import NativeBuild
from hpcscope.plan import plan as planning
from hpcscope.plan.further import with_further_launches
from hpcscope.plan.plan import Plan
from hpcscope.rundirectory import RunDirectory, write_text
from hpcscope.signals import STOP_RUN, as_interrupt

EXPLAINING = ("numpy", "hpcscope.models.models", "hpcscope.engine.analysis", "jinja2", "hpcscope.report.run.page")
"""Modules that explain a run; they are imported while its first launch starts."""
JOB_END_S = 3.0
"""Seconds within which a batch system tells every process of a job that the job ends."""

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
    within_s: float | None = None
    """How long the run may measure; None: as long as it takes."""


def measure(
    directory: RunDirectory, plan: Plan, setup: Setup, further: bool = False, time_s: float | None = None
) -> bool:
    """Run the cases of a plan that have no record; return whether all are well.

    `further`: visit cases with wide intervals again until `time_s` is used up (None: until each has had all its
    visits). A ScopeError carries the run directory as `resumable`.
    """
    job_end = schedulers.deadline(setup.time_margin_s)
    own_end = None
    if setup.within_s is not None:
        own_end = Deadline(time.time() + setup.within_s, f"measured for {setup.within_s:g} s")
    first = True
    lock = hold(directory.path)
    with as_interrupt(*STOP_RUN):
        supervisor = Supervisor(
            run=directory,
            program=setup.build.program,
            command=replace(setup.cluster, site=with_storage(setup.cluster.site, directory.path.parent)).start,
            place=setup.cluster.place,
            limits=setup.limits,
            deadline=min(filter(None, (job_end, own_end)), key=lambda deadline: deadline.unix_s, default=None),
            job_end_s=0.0 if schedulers.allocation() is None else JOB_END_S,
            inherited=(lock,),
            meanwhile=map(import_module, EXPLAINING),
            origin="measured" if active() is None else "emulated",
        )
        try:
            begun_run.note_status(directory, "running")
            unfinished = supervisor.unfinished(plan)
            if job_end is not None and job_end.unix_s < time.time() + planning.expected_s(unfinished):
                logger.info("this job ends before the last case; --resume runs the remaining cases in another job")
            catalog = read_catalog(directory.benchmarks)
            with setup.progress(catalog, plan, unfinished) as listener:
                told = WithFirstValues(listener, directory.path, plan.launches[-1].number)
                well = supervisor.supervise(plan, told)
            while further and (longer := _with_further_launches(plan, supervisor, time_s)) != plan:
                if first:
                    logger.info("cases with wide intervals are measured again")
                first = False
                plan = longer
                write_text(directory.plan, planning.write(plan))
                with setup.progress(catalog, plan, supervisor.unfinished(plan)) as listener:
                    well = supervisor.supervise(plan, listener)
            begun_run.note_status(directory, "finished")
        except ScopeError as error:
            begun_run.note_early_end(directory, error)
            raise
    return well


def _with_further_launches(plan: Plan, supervisor: Supervisor, time_s: float | None) -> Plan:
    left_s = None if time_s is None else time_s - supervisor.spent_s
    return with_further_launches(plan, supervisor.journal.seen, _half_width, left_s)


def _half_width(medians_s: list[float]) -> float:
    """Return the relative half width of the interval of the median; infinity if there is none."""
    import numpy as np

    from hpcscope.statistics.order_statistics import median_interval

    interval = median_interval(np.array(medians_s))
    return (interval.high - interval.low) / 2 / median(medians_s) if interval else inf
