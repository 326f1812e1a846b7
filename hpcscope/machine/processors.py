"""The processors that affinity and control groups (cgroup v1 and v2) leave to this process.

The native program counts in the same way (`measure/src/`), so both use the same definition of oversubscription.
"""

import os
from pathlib import Path

from hpcscope.machine.control_groups import control_groups
from hpcscope.machine.kernel_files import number_of, text_of


def usable(root: Path = Path("/")) -> int:
    """Return how many logical processors this process may use at a time, at least one.

    `root` is where /proc and /sys are mounted.
    """
    return limited(len(os.sched_getaffinity(0)), quota(root))


def limited(processors: int, quota_processors: float | None) -> int:
    """Return the number of whole processors that affinity and quota leave, at least one."""
    return max(1, processors if quota_processors is None else min(processors, int(quota_processors)))


def quota(root: Path) -> float | None:
    """Return the CPU time that control groups grant, in processors; None without a limit.

    The tightest limit between this process's group and the root applies.
    """
    groups = control_groups("cpu", root)
    limits = [(_quota_v2 if group.version == 2 else _quota_v1)(group.folder) for group in groups]
    return min((limit for limit in limits if limit is not None), default=None)


def _quota_v2(group: Path) -> float | None:
    words = text_of(group / "cpu.max").split()
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0].isdigit() else None


def _quota_v1(group: Path) -> float | None:
    quota_us, period_us = number_of(group / "cpu.cfs_quota_us"), number_of(group / "cpu.cfs_period_us")
    return quota_us / period_us if quota_us > 0 and period_us > 0 else None
