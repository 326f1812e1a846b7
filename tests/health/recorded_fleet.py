"""Records of whole checks with chosen faults, and as little else as a verdict needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hpcscope.health.records import HealthFile, Value, Visit

FACTS = {"architecture": "x86_64", "processor": "P", "sockets": "1", "cores": "8", "governor": "performance"}
RATES = {"memory_bandwidth": 2e10, "arithmetic": 4e11, "disk_write": 3e8}
Change = Callable[[Visit], Visit]


def record(
    nodes: int = 12,
    change: Change = lambda visit: visit,
    scatter: float = 0.01,
    stages: tuple[int, ...] = (1, 2),
    seed: int = 7,
) -> HealthFile:
    """Return a record in which `change` alters visits; all hosts are visited in both stages."""
    random = np.random.default_rng(seed)
    hosts = [f"n{number}" for number in range(1, nodes + 1)]
    visits = []
    for stage in stages:
        for number in range(6):
            for host in hosts:
                start = 1e9 + 100 * stage + number
                values = [
                    Value(check=check, place="", value=rate * float(np.exp(random.normal(0, scatter))))
                    for check, rate in RATES.items()
                ]
                visit = Visit(
                    host=host,
                    stage=1 if stage == 1 else 2,
                    started_unix_s=start,
                    ended_unix_s=start + 0.9,
                    begun_there_unix_s=start + 0.1,
                    ended_there_unix_s=start + 0.8,
                    values=values,
                    facts=FACTS,
                    before={"interface eth0 receive errors": 5, "processor time": 0, "processor time stolen": 0},
                    after={"interface eth0 receive errors": 5, "processor time": 100, "processor time stolen": 0},
                )
                visits.append(change(visit))
    return HealthFile(
        format=2,
        scope_version="1",
        command=["scope", "health"],
        origin="emulated",
        hosts=hosts,
        seconds=1.0,
        seed=1,
        started_unix_s=1e9,
        finished_unix_s=1e9 + 300,
        visits=visits,
    )


def slower(factor: float, check: str, hosts: set[str], stages: tuple[int, ...] = (1, 2)) -> Change:
    """Return a change that divides the rate of a check on these hosts."""

    def change(visit: Visit) -> Visit:
        if visit.host not in hosts or visit.stage not in stages:
            return visit
        values = [
            value.model_copy(update={"value": value.value / factor}) if value.check == check else value
            for value in visit.values
        ]
        return visit.model_copy(update={"values": values})

    return change


def on(host: str, **update: object) -> Change:
    """Return a change of every visit of one host."""
    return lambda visit: visit.model_copy(update=update) if visit.host == host else visit
