"""Contexts with known faults, made from the golden run or from summaries of known truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hpcscope.findings.find import Kind, kinds
from hpcscope.findings.results import Run
from hpcscope.machine.machine import Host, Link
from hpcscope.models.models import derive
from hpcscope.samples.records import LaunchRecord
from hpcscope.samples.samples import CaseSamples, Samples, Times
from hpcscope.statistics.course import course_of
from hpcscope.statistics.summarise import summarise
from hpcscope.statistics.summary import Summary
from tests import declared
from tests.models.curves import noisy, summary

Change = Callable[[Run], Run]


def with_host(run: Run, **change: Any) -> Run:
    hosts = [host.model_copy(update=change) for host in run.machine.hosts]
    return run.replaced(machine=run.machine.model_copy(update={"hosts": hosts}))


def with_usable(run: Run, processors: int, quota: float | None = None) -> Run:
    host = run.machine.hosts[0]
    change = {"usable": list(range(processors)), "quota_processors": quota}
    return with_host(run, processor=host.processor.model_copy(update=change))


def with_launches(run: Run, change: Callable[[LaunchRecord], LaunchRecord]) -> Run:
    launches = [change(launch) for launch in run.raw_samples.launches]
    return run.replaced(raw_samples=replace(run.raw_samples, launches=launches))


def with_times(run: Run, change: Callable[[Times], Times]) -> Run:
    """Change the raw times of every case and derive everything again."""

    def changed(case: CaseSamples) -> CaseSamples:
        return replace(case, times=[change(times) for times in case.times])

    return derived_again(run, replace(run.raw_samples, cases=[changed(case) for case in run.raw_samples.cases]))


def derived_again(run: Run, samples: Samples) -> Run:
    """Return a run with these samples, and everything that follows from them."""
    course = course_of(samples)
    summaries = summarise(samples, run.benchmarks, course)
    return with_summaries(run.replaced(raw_samples=samples, course=course), summaries)


def with_summaries(run: Run, summaries: list[Summary]) -> Run:
    changed = run.replaced(statistics=summaries)
    return changed.replaced(models=derive(changed.measurements, changed.raw_samples))


def with_samples(run: Run, **change: Any) -> Run:
    samples: Samples = replace(run.raw_samples, **change)
    return run.replaced(raw_samples=samples)


def latencies(
    truth: Callable[[int], float], seed: int = 1, spread: float = 0.01, **parameters: Any
) -> list[Summary]:
    """A ping-pong's summaries over sizes, with noise."""
    random = np.random.default_rng(seed)
    sizes = [0, 1, 64, 256, 1024, 4096, 5120, 16384, 65536, 262144, 1048576]
    given = {"mode": "standard", "completion": "blocking"} | parameters
    return [summary(noisy(random, truth(n), spread=spread), message_bytes=n, **given) for n in sizes]


def exchanges(truth: Callable[[int], float], seed: int = 1, spread: float = 0.01) -> list[Summary]:
    """Summaries of two messages that cross, over sizes, with noise."""
    random = np.random.default_rng(seed)
    return [
        summary(noisy(random, truth(n), spread=spread), "mpi.comms2", "time_s", "local", message_bytes=n)
        for n in [0, 1, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576]
    ]


def rung_summaries(
    network_s: float, mpi_s: float, operation_share: float = 0.9, copy_s: float = 1e-4
) -> list[Summary]:
    """What the ladders need: TCP and MPI over it at 1 B and 1 MiB, memory copy, windows and the operation."""
    random = np.random.default_rng(3)
    mib = 1 << 20
    made = []
    for n, factor in ((1, 1.0), (mib, 100.0)):
        tcp = {"protocol": "tcp", "message_bytes": n, "nodelay": "on", "wait": "polling"}
        mpi = {"message_bytes": n, "mode": "standard", "completion": "blocking", "transport": "tcp"}
        for benchmark, time_s, given in (("network.latency", network_s, tcp), ("mpi.latency", mpi_s, mpi)):
            times = noisy(random, time_s * factor, spread=0.002)
            made.append(summary(times, benchmark, work_bytes=n, **given))
            rates = [n / launch for launch in times]
            made.append(summary(rates, benchmark, "bandwidth_bytes_per_s", unit="B/s", work_bytes=n, **given))
    copies = noisy(random, copy_s, spread=0.002)
    made.append(summary(copies, "node.core_to_core", "time_s", "max_rank", array_bytes=mib))
    windows = [mib / launch for launch in noisy(random, 1.2e-4, spread=0.002)]
    made.append(
        summary(
            windows,
            "mpi.bandwidth",
            "bandwidth_bytes_per_s",
            "local",
            unit="B/s",
            message_bytes=mib,
            completion="nonblocking",
            window=64,
        )
    )
    operation = noisy(random, 1.2e-4 / operation_share, spread=0.002)
    made.append(
        summary(operation, "operation.broadcast", "time_s", "global", work_bytes=2 * mib, n=362, buffers="cold")
    )
    return made


def host_like(host: Host, name: str) -> Host:
    return host.model_copy(update={"name": name, "boot_id": name})


def between_hosts(run: Run, rate_bits_per_s: float | None) -> Run:
    """Put the two ranks of every launch on two hosts that an Ethernet link of this rate joins."""
    first = run.machine.hosts[0]
    link = Link(
        name="eth0",
        kind="ethernet",
        rate_bits_per_s=rate_bits_per_s,
        mtu_bytes=1500,
        addresses=["10.0.0.1"],
        driver="mlx5_core",
        up=True,
    )
    linked = first.model_copy(update={"links": [*first.links, link]})
    machine = run.machine.model_copy(update={"hosts": [host_like(linked, name) for name in ("node1", "node2")]})

    def apart(launch: LaunchRecord) -> LaunchRecord:
        processes = [p.model_copy(update={"host": f"node{1 + p.rank % 2}"}) for p in launch.processes]
        return launch.model_copy(update={"processes": processes})

    return with_launches(run.replaced(machine=machine), apart)


def run_kinds() -> dict[str, Kind]:
    """Return all kinds of findings about a run, by the names of their files."""
    return kinds("hpcscope.findings.run")


def with_linear_algebra(run: Run) -> Run:
    """Return a run that also measured a product of matrices."""
    product = run.statistics[0].model_copy(update={"benchmark": "node.matrix_multiply"})
    return run.replaced(benchmarks=declared.catalog(), statistics=[*run.statistics, product])
