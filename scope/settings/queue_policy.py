"""How much of a cluster the jobs on each host, or pair of hosts, may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from scope.settings.kinds import DAY_S, Duration, Whole
from scope.settings.table import Setting, Table

JOB_PER_HOST = "A job for each host or pair of hosts"


@dataclass(frozen=True)
class QueuePolicy(Table):
    """With --each-host or --pairs: how much of a cluster the jobs may take."""

    max_jobs: Annotated[int, Setting(Whole(1, 10**6), "Jobs in the queue at a time.", JOB_PER_HOST)] = 8
    nice: Annotated[int, Setting(Whole(0, 2**31 - 1), "How far their priority is lowered.", JOB_PER_HOST)] = 100
    max_wait_s: Annotated[
        float,
        Setting(
            Duration(0, 30 * DAY_S),
            "How long to wait for idle hosts while no job runs.",
            JOB_PER_HOST,
        ),
    ] = 0.0
    max_pending_s: Annotated[
        float,
        Setting(Duration(0, DAY_S), "How long a job may stay pending before it is withdrawn.", JOB_PER_HOST),
    ] = 20.0
