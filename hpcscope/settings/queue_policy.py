"""How much of a cluster the jobs on each host, or pair of hosts, may take."""

from dataclasses import dataclass

from hpcscope.settings.kinds import DAY_S, Duration, Whole
from hpcscope.settings.table import SettingsTable, setting

JOB_PER_HOST = "A job for each host or pair of hosts"


@dataclass(frozen=True)
class QueuePolicy(SettingsTable):
    """With --each-host or --pairs: how much of a cluster the jobs may take."""

    max_jobs: int = setting(8, Whole(1, 10**6), "Maximum number of jobs in the queue at a time.", JOB_PER_HOST)
    nice: int = setting(100, Whole(0, 2**31 - 1), "Amount by which to lower the jobs' priority.", JOB_PER_HOST)
    max_wait_s: float = setting(
        0.0, Duration(30 * DAY_S, least=0), "How long to wait for idle hosts while no job runs.", JOB_PER_HOST
    )
    max_pending_s: float = setting(
        20.0, Duration(DAY_S, least=0), "How long a job may stay pending before it is withdrawn.", JOB_PER_HOST
    )
