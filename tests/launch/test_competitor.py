"""A competitor on a rank's processor: the samples have what the kernel counts of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from hpcscope.findings.results import Run, derived
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command
from hpcscope.machine.machine import NativeBuild
from tests import golden_run as golden
from tests.declared import described
from tests.patience import PATIENCE_S

CASES = ("node.memory_latency array_bytes=65536", "node.timer clock=register")


@contextmanager
def stopped(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Keep stopped processes that would compute for ever, on one processor of this machine."""
    processor = max(os.sched_getaffinity(0))
    command = [sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{processor}}})\nwhile True: pass"]
    competitors = [subprocess.Popen(command) for _ in range(count)]
    try:
        for competitor in competitors:
            competitor.send_signal(signal.SIGSTOP)
        yield competitors
    finally:
        for competitor in competitors:
            competitor.kill()
            competitor.wait()


@contextmanager
def measuring(
    native: NativeBuild, folder: Path, cases: int, inside: Sequence[str] = (), origin: str = "measured"
) -> Iterator[subprocess.Popen[bytes]]:
    """Measure on the competitors' processor until all is measured or the run ends; `inside`: opens namespaces."""
    samples, plan = folder / "samples.jsonl", folder / "plan-of-launch.txt"
    sampling = "sampling.budget_s=0.02 sampling.precision=1e-9"
    plan.write_text("".join(f"{CASES[number % len(CASES)]} {sampling}\n" for number in range(cases)))
    arguments = ("--action=run", f"--plan={plan}", f"--output={samples}", f"--origin={origin}")
    job = MpiProgram(native.program, arguments, 1)
    command = start_command(job, Site(native.mpi, native.mpi.launcher))
    mine = os.sched_getaffinity(0)
    with launch_environment(command.environment) as variables:
        os.sched_setaffinity(0, {max(mine)})  # inherited by the rank
        try:
            launcher = subprocess.Popen([*inside, *command.arguments], env=variables)
        finally:
            os.sched_setaffinity(0, mine)
        try:
            yield launcher
        finally:
            launcher.terminate()  # it ends the rank
            launcher.wait()


def run(folder: Path) -> Run:
    names = sorted({case.split()[0] for case in CASES})
    for name, content in (
        ("run.json", golden.run_record(time.time())),
        ("machine.json", golden.machine()),
        ("benchmarks.json", described(*names)),
    ):
        (folder / name).write_text(json.dumps(content))
    return derived(folder)


def test_what_the_kernel_counts_of_competitors_is_in_the_samples(
    embedded_build: NativeBuild, tmp_path: Path
) -> None:
    """One processor cannot run both at once: the rank waits, and is interrupted."""
    with stopped(1) as (competitor,), measuring(embedded_build, tmp_path, 6) as launcher:
        competitor.send_signal(signal.SIGCONT)
        launcher.wait(PATIENCE_S)
    seen = [case.disturbances for case in run(tmp_path).raw_samples.cases]
    assert len(seen) == 6
    assert sum(disturbances.waited_s for disturbances in seen) > 0
    assert sum(disturbances.involuntary_switches.sum for disturbances in seen) > 0


def test_programs_outside_a_lab_are_counted_and_those_inside_are_not(
    embedded_build: NativeBuild, tmp_path: Path
) -> None:
    """A lab numbers its own processes; on a real host nothing is recorded."""
    inside = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
    alone = subprocess.run([*inside, "true"], capture_output=True, check=False)
    if alone.returncode:
        pytest.skip(f"process namespaces are not allowed here: {alone.stderr.decode().strip()}")
    outside_s = {}
    for origin, spaces in (("measured", ()), ("emulated", inside)):
        folder = tmp_path / origin
        folder.mkdir()
        with stopped(1) as (competitor,), measuring(embedded_build, folder, 6, spaces, origin) as launcher:
            competitor.send_signal(signal.SIGCONT)
            launcher.wait(PATIENCE_S)
        (end,) = run(folder).raw_samples.ends
        outside_s[origin] = end.outside_s
    assert outside_s["measured"] is None
    assert outside_s["emulated"] > 0
