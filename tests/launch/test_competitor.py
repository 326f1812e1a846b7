"""A competitor on a rank's processor, for a known time: the run must say when, and by what it noticed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pytest

from hpcscope.findings.results import Run, derived
from hpcscope.findings.run.measurement import processor_taken
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command
from hpcscope.machine.machine import NativeBuild
from tests import golden_run as golden
from tests.declared import described
from tests.patience import PATIENCE_S, until

BEFORE, BESIDE, AFTER = 10, 12, 10
"""Measurements of the sentinel before, while and after others compete: about 8 s on a quiet machine."""
COMPETITORS = 8
"""Several, so that the contrast is wide on a machine where others work, too."""
CASES = ("node.memory_latency array_bytes=65536", "node.timer clock=register")


@pytest.fixture
def competitors() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Stopped processes that would compute for ever, on one processor of this machine."""
    processor = max(os.sched_getaffinity(0))
    command = [sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{processor}}})\nwhile True: pass"]
    started = [subprocess.Popen(command) for _ in range(COMPETITORS)]
    for each in started:
        each.send_signal(signal.SIGSTOP)
    yield started
    for each in started:
        each.kill()
        each.wait()


@contextmanager
def measuring(native: NativeBuild, folder: Path, cases: int) -> Iterator[subprocess.Popen[bytes]]:
    """Measure on the competitors' processor until all is measured or the run ends."""
    samples, plan = folder / "samples.jsonl", folder / "plan-of-launch.txt"
    sampling = "sampling.budget_s=0.02 sampling.precision=1e-9"
    plan.write_text("".join(f"{CASES[number % len(CASES)]} {sampling}\n" for number in range(cases)))
    job = MpiProgram(native.program, ("--action=run", f"--plan={plan}", f"--output={samples}"), 1)
    command = start_command(job, Site(native.mpi, native.mpi.launcher))
    mine = os.sched_getaffinity(0)
    with launch_environment(command.environment) as variables:
        os.sched_setaffinity(0, {max(mine)})  # inherited by the rank
        try:
            launcher = subprocess.Popen(command.arguments, env=variables)
        finally:
            os.sched_setaffinity(0, mine)
        try:
            yield launcher
        finally:
            launcher.terminate()  # it ends the rank
            launcher.wait()


def measured_beside(
    competitors: list[subprocess.Popen[bytes]], native: NativeBuild, folder: Path
) -> tuple[float, float]:
    """Measure, for a while with competitors; return when they competed."""
    samples = folder / "samples.jsonl"

    def until_sentinels(count: int) -> None:
        until(
            lambda: samples.exists() and samples.read_text().count('"record":"sentinel"') >= count,
            f"the sentinel is measured {count} times",
        )

    with measuring(native, folder, 3000):
        until_sentinels(BEFORE)
        begin = time.time()
        for each in competitors:
            each.send_signal(signal.SIGCONT)
        until_sentinels(BEFORE + BESIDE)
        for each in competitors:
            each.send_signal(signal.SIGSTOP)
        end = time.time()
        until_sentinels(BEFORE + BESIDE + AFTER)
    return begin, end


def run(folder: Path) -> Run:
    names = sorted({case.split()[0] for case in CASES})
    for name, content in (
        ("run.json", golden.run_record(time.time())),
        ("machine.json", golden.machine()),
        ("benchmarks.json", described(*names)),
    ):
        (folder / name).write_text(json.dumps(content))
    return derived(folder)


def overlap_with_another_state(found: Run, begin: float, end: float) -> float:
    """Return the time in both the second of two states and begin ... end, as a share of that in either of them."""
    course = found.course
    if len(course.states) != 2:
        return 0.0
    slow = [(one.begin_unix_s, one.end_unix_s) for one in course.periods if one.state == 1]
    both = sum(max(0.0, min(to, end) - max(since, begin)) for since, to in slow)
    return both / (end - begin + sum(to - since for since, to in slow) - both)


def test_what_the_kernel_counts_of_competitors_is_in_the_samples(
    competitors: list[subprocess.Popen[bytes]], embedded_build: NativeBuild, tmp_path: Path
) -> None:
    """One processor cannot run both at once: the rank waits, and is interrupted."""
    competitors[0].send_signal(signal.SIGCONT)
    with measuring(embedded_build, tmp_path, 6) as launcher:
        launcher.wait(PATIENCE_S)
    seen = [one.disturbances for one in run(tmp_path).raw_samples.cases]
    assert len(seen) == 6
    assert sum(each.waited_s for each in seen) > 0
    assert sum(each.involuntary_switches.sum for each in seen) > 0


@pytest.mark.slow(
    "asks a real machine, on which others work, too, for states and an order of times; on samples whose truth is"
    " known tests/statistics/test_course.py proves states and tests/findings/test_kinds.py the finding"
)
def test_a_competitor_that_comes_and_goes_is_found_as_another_state(
    competitors: list[subprocess.Popen[bytes]], embedded_build: NativeBuild, tmp_path: Path
) -> None:
    begin, end = measured_beside(competitors, embedded_build, tmp_path)
    found = run(tmp_path)
    assert len(found.course.states) == 2
    assert overlap_with_another_state(found, begin, end) > 0.5

    beside, alone = [], []
    for one in found.raw_samples.cases:
        assert one.disturbances is not None
        assert one.disturbances.waited_s is not None
        seen = (one.disturbances.waited_s / one.duration_s, one.disturbances.involuntary_switches.sum)
        (beside if begin <= one.started_unix_s <= end - one.duration_s else alone).append(seen)
    assert median(share for share, _ in beside) > 0.7, "many processes share the processor"
    assert median(share for share, _ in alone) < median(share for share, _ in beside)
    assert sum(switches > 0 for _, switches in beside) > 0.5 * len(beside)
    (taken,) = [one for one in processor_taken.find(found) if one.code == "processor-taken"]
    assert taken.about == "measurement"
