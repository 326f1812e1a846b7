"""Kinds of findings about the measurement and the host: contexts in which each must fire, and must not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hpcscope.findings.results import Run
from hpcscope.plan.placement import Placement
from hpcscope.rundirectory import Imported, ImportedFile, Lack, Skipped, Unread
from hpcscope.samples.records import Disturbances, LaunchRecord, OverRanks
from hpcscope.samples.samples import CaseSamples, CutLine, DamagedLine, Times
from hpcscope.simulation.record import Simulation, beside
from tests.findings.faulty_runs import (
    Change,
    derived_again,
    with_host,
    with_launches,
    with_samples,
    with_times,
    with_usable,
)
from tests.findings.tried import Tried, as_it_is


def clock(**change: object) -> Change:
    def changed(launch: LaunchRecord) -> LaunchRecord:
        return launch.model_copy(update={"clock": launch.clock.model_copy(update=change)})

    return lambda run: with_launches(run, changed)


def clocks_apart(error_s: float, hosts: int = 2) -> Change:
    def changed(launch: LaunchRecord) -> LaunchRecord:
        apart = launch.clock_synchronization.model_copy(update={"error_s": error_s, "hosts": hosts})
        return launch.model_copy(update={"clock_synchronization": apart})

    return lambda run: with_launches(run, changed)


def cores(allowed: list[int] | None, placement: str = "core") -> Change:
    """Let all processes use these processors (None: as many as they are)."""

    def changed(launch: LaunchRecord) -> LaunchRecord:
        processes = [
            p.model_copy(update={"processors": p.processors if allowed is None else allowed})
            for p in launch.processes
        ]
        return launch.model_copy(update={"processes": processes, "placement": Placement.parse(placement)})

    return lambda run: with_launches(run, changed)


def late(times: Times) -> Times:
    return replace(times, valid=np.arange(times.repetitions) % 3 != 0)


def without_failures(run: Run) -> Run:
    ok = [case for case in run.raw_samples.cases if case.ok]
    return with_samples(run, cases=ok, failures=[])


def tight(run: Run) -> Run:
    return run.replaced(statistics=[s.model_copy(update={"relative_interval": 0.05}) for s in run.statistics])


def below_minimum(run: Run) -> Run:
    skipped = [
        Skipped(benchmark="mpi.barrier", case="ranks=4", reason="needs 4 slots, here are 2", resource="slots")
    ]
    lacks = [Lack(resource="slots", needed="4", found="2")]
    return run.replaced(record=run.record.model_copy(update={"skipped": skipped, "lacks": lacks}))


def nothing_skipped(run: Run) -> Run:
    return run.replaced(record=run.record.model_copy(update={"skipped": []}))


def slow_half(factor: float) -> Change:
    """The machine is slower by a factor in the later half of the run."""

    def change(run: Run) -> Run:
        half = len(run.raw_samples.launches) // 2

        def slowed(case: CaseSamples) -> CaseSamples:
            if case.launch <= half:
                return case
            return replace(
                case, times=[replace(times, elapsed_s=factor * times.elapsed_s) for times in case.times]
            )

        return derived_again(run, replace(run.raw_samples, cases=[slowed(case) for case in run.raw_samples.cases]))

    return change


def disturbed(every: int, waited_s: float = 0.0, steal_s: float = 0.0, faults: int = 0) -> Change:
    """In every so-many-th visit of 0.1 s a rank waited for its processor or for pages, or lost processors."""

    def change(run: Run) -> Run:
        def seen(number: int, case: CaseSamples) -> CaseSamples:
            amount = 1 if number % every == 0 else 0
            counts = Disturbances(
                voluntary_switches=OverRanks(sum=50, maximum=50),
                involuntary_switches=OverRanks(sum=9, maximum=9),
                major_faults=OverRanks(sum=amount * faults, maximum=amount * faults),
                waited_s=amount * waited_s,
                steal_s=amount * steal_s,
            )
            return replace(case, duration_s=0.1, disturbances=counts)

        return with_samples(run, cases=[seen(n, case) for n, case in enumerate(run.raw_samples.cases)])

    return change


def half_done(run: Run) -> Run:
    cases = [case for case in run.raw_samples.cases if case.launch % 2]
    return nothing_skipped(with_samples(run, cases=cases))


def other_host(**processor: object) -> Change:
    """Two hosts, of which the second has another processor."""

    def change(run: Run) -> Run:
        first = run.machine.hosts[0]
        second = first.model_copy(
            update={"name": "other", "processor": first.processor.model_copy(update=processor)}
        )
        return run.replaced(machine=run.machine.model_copy(update={"hosts": [first, second]}))

    return change


def with_imported(run: Run, unread: int = 2) -> Run:
    imported = Imported(
        files=[ImportedFile(name="osu.txt", sha256="0", programs=["OSU Micro-Benchmarks 7.4"])],
        missing=["the hosts"],
        unread=[Unread(file="osu.txt", line=1, text="Loading")] * min(unread, 1),
        unread_lines=unread,
    )
    return run.replaced(record=run.record.model_copy(update={"imported": imported}))


def with_simulation(run: Run) -> Run:
    """Return a run whose barrier takes twice the time in a simulation."""
    measured = [one for one in run.headlines if one.benchmark == "mpi.barrier"]
    twice = [one.model_copy(update={"median": 2 * (one.median or 0)}) for one in measured]
    record = Simulation(
        **{"format": 2, "of": "golden", "simulator": "SimGrid 3.32", "collectives": "openmpi", "changes": []},
        **{"inputs": [], "notes": [], "validation": beside(measured, twice, run.benchmarks)},
    )
    return run.replaced(simulation=record)


def crashed(run: Run) -> Run:
    """The case that failed its verification crashed instead."""
    failures = [replace(one, status="crashed", reason="signal 9") for one in run.raw_samples.failures]
    return with_samples(run, failures=failures)


KINDS = {
    "clock_error": Tried(
        "clock-error",
        [clocks_apart(1e-6)],
        [as_it_is, clocks_apart(20e-9), clocks_apart(1e-6, hosts=1)],
    ),
    "cut_line": Tried("cut-line", [lambda c: with_samples(c, cut_line=CutLine(7, 100, '{"record"'))], [as_it_is]),
    "damaged_lines": Tried(
        "damaged-lines",
        [lambda c: with_samples(c, damaged=[DamagedLine(7, "crc32 = 1: ...")])],
        [as_it_is],
    ),
    "imported": Tried("imported", [with_imported], [as_it_is]),
    "simulated": Tried("simulated", [with_simulation], [as_it_is]),
    "unread_lines": Tried("unread-lines", [with_imported], [as_it_is, lambda c: with_imported(c, unread=0)]),
    "failed_case": Tried("failed-case", [crashed], [as_it_is, without_failures]),
    "wrong_data": Tried("wrong-data", [as_it_is], [without_failures, crashed]),
    "frequency_governor": Tried(
        "frequency-governor",
        [lambda c: with_host(c, governor="powersave"), lambda c: with_host(c, governor="schedutil")],
        [as_it_is, lambda c: with_host(c, governor="")],
    ),
    "late_windows": Tried("late-windows", [lambda c: with_times(c, late)], [as_it_is]),
    "machine_busy": Tried(
        "machine-busy",
        [lambda c: with_host(c, run_queue=6.0)],
        [
            as_it_is,
            lambda c: with_host(c, run_queue=1.0),
            lambda c: with_host(c, load=6.0, run_queue=0.0),
        ],
    ),
    "below_minimum_configuration": Tried("below-minimum-configuration", [below_minimum], [as_it_is]),
    "machine_states": Tried("machine-states", [slow_half(2.0), slow_half(1.4)], [as_it_is, slow_half(1.03)]),
    "skipped_cases": Tried("skipped-cases", [as_it_is], [nothing_skipped]),
    "node_types": Tried("node-types", [other_host(model="another")], [as_it_is, other_host()]),
    "noisy_case": Tried("noisy-case", [as_it_is], [tight]),
    "oversubscription": Tried(
        "oversubscription",
        [lambda c: with_usable(c, 2), lambda c: with_usable(c, 16, quota=4.0)],
        [as_it_is],
    ),
    "no_pinning": Tried(
        "no-pinning",
        [cores(list(range(16))), cores([0, 1], placement="none")],
        [as_it_is, cores([0, 1], placement="socket"), lambda c: with_usable(cores([0], "none")(c), 1)],
    ),
    "memory_swapped": Tried(
        "memory-swapped",
        [disturbed(1, faults=200)],
        [as_it_is, disturbed(1, faults=60)],
    ),
    "processor_taken": Tried(
        "processor-taken",
        [disturbed(4, waited_s=0.02), disturbed(1, waited_s=0.08)],
        [as_it_is, disturbed(8, waited_s=0.05), disturbed(4, waited_s=0.005), disturbed(4, steal_s=0.005)],
    ),
    "timer": Tried(
        "timer-",
        [clock(monotonic=False), clock(resolution_s=1e-6), clock(fallback_reason="no invariant counter")],
        [as_it_is],
    ),
}
