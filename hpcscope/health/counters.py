"""Checks of a host's fault counters, which stay constant if nothing is wrong, and of its clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hpcscope import units
from hpcscope.health.records import Visit

MOST_STOLEN = 0.05
"""Fraction of CPU time that a hypervisor may take before a node is suspect."""
LARGEST_OFFSET_S = 0.1
"""Largest disagreement of clocks in seconds: NTP keeps hosts within milliseconds, certificates allow minutes."""


@dataclass(frozen=True)
class Sign:
    """A sign of a fault: from a host's counters, or from its clock."""

    bad: bool
    """Whether the host must not be used; else it is suspect."""
    evidence: str
    cause: str
    advice: str


RULES = (
    (
        r"memory corrected errors",
        "a memory module that begins to fail",
        "look at `ras-mc-ctl --summary`; plan to replace the module",
    ),
    (r"thermal throttling", "heat: dust, a broken fan, or blocked air", "look at the fans and temperatures"),
    (
        r"(interface|InfiniBand) .*",
        "a cable, transceiver or port that damages frames",
        "replace the cable, then the port; compare `ethtool -S` on both ends",
    ),
    (r"processes killed for memory", "the memory was full", "look for leftover processes of a job"),
)
"""Counters that must not grow during the visits, what growth most likely means, and what to do."""


def signs(visits: Sequence[Visit]) -> list[Sign]:
    """Return what the counters of one host and its clock say, from its visits in chronological order."""
    answered = [visit for visit in visits if visit.before and visit.after]
    if not answered:
        return []
    first, last = answered[0].before, answered[-1].after
    found = []
    if wrong := last.get("memory uncorrected errors", 0):
        found.append(
            Sign(
                True,
                f"{wrong} uncorrected memory errors since the system started",
                "a memory module is broken",
                "replace the module that `ras-mc-ctl --errors` names",
            )
        )
    for name in sorted(last):
        rule = next((rule for rule in RULES if re.fullmatch(rule[0], name)), None)
        grown = last[name] - first.get(name, last[name])
        if rule is not None and grown > 0:
            found.append(Sign(False, f"{name}: {grown} more during the check", rule[1], rule[2]))
    return [*found, *_stolen(answered), *_clock(answered)]


def _stolen(visits: Sequence[Visit]) -> list[Sign]:
    stolen = sum(_grown(visit, "processor time stolen") for visit in visits)
    share = stolen / max(sum(_grown(visit, "processor time") for visit in visits), 1)
    if share <= MOST_STOLEN:
        return []
    evidence = f"the hypervisor took {units.percent(share)} of the processors' time"
    return [Sign(False, evidence, "the physical host has too many virtual machines", "move this one or others")]


def _grown(visit: Visit, name: str) -> int:
    return visit.after.get(name, 0) - visit.before.get(name, 0)


def _clock(visits: Sequence[Visit]) -> list[Sign]:
    """Compare clocks without assumptions about delays: the visit took place between its start and its end."""
    low = max(visit.ended_there_unix_s - visit.ended_unix_s for visit in visits)
    high = min(visit.begun_there_unix_s - visit.started_unix_s for visit in visits)
    offset = low if low > LARGEST_OFFSET_S else -high if high < -LARGEST_OFFSET_S else 0.0
    if not offset:
        return []
    way = "ahead of" if low > LARGEST_OFFSET_S else "behind"
    evidence = f"the node's clock is at least {units.quantity(offset, 's')} {way} the clock of this host"
    return [Sign(False, evidence, "time is not synchronized", "look at `chronyc tracking` or `timedatectl`")]
