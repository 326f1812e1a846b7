"""What applications are made of and their law of computation, from figures of known truth."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from hpcscope import units
from hpcscope.catalog.catalog import Catalog
from hpcscope.models.models import Models
from hpcscope.models.scaling.applications import Application, applications
from hpcscope.models.scaling.speedup import speedups
from hpcscope.report.run.applications import characterisation, law, times
from hpcscope.samples.records import LaunchRecord, Work
from hpcscope.statistics.summary import Summary
from tests import golden_run as golden
from tests.declared import catalog
from tests.messages import numbers
from tests.models.curves import measured, noisy, summary

OPERATIONS = 119.3e9


def launches(*counts: int) -> list[LaunchRecord]:
    return [LaunchRecord.model_validate(golden.launch_record(1, ranks, "default", 0.0)) for ranks in counts]


def kernel(computing_s: Callable[[int], float], *counts: int, name: str = "lu", size: str = "A") -> list[Summary]:
    """An application that sends 1 kB in each of its messages, 100 from every process."""
    random = np.random.default_rng(3)
    made = []
    for p in counts:
        seconds = {"compute_s": computing_s(p), "communicate_s": 0.1 * (p - 1), "idle_s": 0.02 * (p - 1)}
        seconds["time_s"] = sum(seconds.values())
        others = {"mops_per_s": OPERATIONS / 1e6 / seconds["time_s"], "memory_bytes": 1e9 / p}
        messages = 100.0 * p if p > 1 else 0.0
        work = Work(bytes=1e3 * messages, flops=OPERATIONS, messages=messages, steps=250)
        for metric, value in (seconds | others).items():
            exact = value == 0 or metric == "memory_bytes"
            figures = [np.full(15, value)] * 6 if exact else noisy(random, value)
            given = {"class": size}
            unit = "Mop/s" if metric == "mops_per_s" else "s"
            one = summary(figures, f"application.npb_{name}", metric, "max_rank", ranks=p, unit=unit, **given)
            made.append(one.model_copy(update={"work": work}))
    return made


def only(summaries: list[Summary], *counts: int) -> Application:
    (found,) = applications(measured(summaries, launches(*counts)))
    return found


def test_the_law_of_computation_is_found_again() -> None:
    counts = (1, 2, 4, 8, 16)
    found = only(kernel(lambda p: 12.0 / p, *counts), *counts)
    assert found.reason == ""
    assert found.computation_s is not None
    assert found.computation_s.low is not None
    assert found.computation_s.high is not None
    assert found.computation_s.low <= 12.0 <= found.computation_s.high
    assert found.computation_s.value == pytest.approx(12.0, rel=0.02)
    assert found.deviation == pytest.approx(0.0, abs=0.05)
    assert (found.iterations, found.operations, found.subject.ranks) == (250, OPERATIONS, 16)
    last = found.points[-1]
    assert (last.messages, last.message_bytes) == (1600, 1.6e6)
    assert last.communicate_s.value == pytest.approx(1.5, rel=0.05)


def wording(text: str) -> str:
    return re.sub(r"[\d.]+", "", text)


def test_computation_that_is_not_divided_is_said_to_be_off_the_law() -> None:
    found = only(kernel(lambda p: 3.0, 1, 2, 4), 1, 2, 4)
    assert found.deviation is not None
    assert found.deviation > 0.5
    divided = only(kernel(lambda p: 3.0 / p, 1, 2, 4), 1, 2, 4)
    assert units.share(found.deviation) in law(found)
    assert units.share(divided.deviation) in law(divided)
    assert wording(law(found)) != wording(law(divided))


def test_more_processes_than_processors_are_no_points_of_the_law() -> None:
    found = only(kernel(lambda p: 6.0 / min(p, 16), 8, 32), 8, 32)
    assert [point.oversubscribed for point in found.points] == [False, True]
    assert found.computation_s is None
    assert numbers(found.reason) == [1, 2], "counts here, and counts that it needs"
    assert found.reason in law(found)


def test_rate_times_time_tells_operations_that_are_no_flops() -> None:
    sorting = [
        one.model_copy(update={"work": Work(bytes=0, flops=0, messages=0)}) for one in kernel(lambda p: 2, 1)
    ]
    assert only(sorting, 1).operations == pytest.approx(OPERATIONS, rel=0.05)


def test_what_failed_or_says_nothing_of_its_parts_is_left_out() -> None:
    made = kernel(lambda p: 1 / p, 1, 2)
    broken = [one.model_copy(update={"valid": one.ranks == 1}) for one in made]
    assert [point.ranks for point in only(broken, 1, 2).points] == [1]
    assert applications(measured([one for one in made if one.metric != "compute_s"], launches(1, 2))) == []


def described(meaning: str) -> Catalog:
    declared = catalog()["application.npb_lu"]
    parameters = [
        one.model_copy(update={"meaning": meaning}) for one in declared.parameters if one.name == "class"
    ]
    return Catalog([declared.model_copy(update={"parameters": parameters})])


def test_the_tables_hold_what_was_measured() -> None:
    made = kernel(lambda p: 12.0 / p, 1, 2, size="S") + kernel(lambda p: 12.0 / p, 1, 2)
    found = applications(measured(made, launches(1, 2)))
    static = characterisation(found, described("size of the problem: S 12^3 points, W 33^3 points, A 64^3 points"))
    assert [row[:6] for row in static.rows] == [
        ["NAS LU", size, problem, "250", "119300.0", ranks]
        for size, problem in (("S", "12^3 points"), ("A", "64^3 points"))
        for ranks in ("1", "2")
    ]
    assert static.rows[1][6:] == ["477 MiB", "200", "195 KiB", "1000 B"]
    # A run of before classes said what they are, and one over two networks: the same counts once.
    other = [one.model_copy(update={"transport": "tcp"}) for one in found]
    older = characterisation(found + other, described("size of the problem"))
    assert [row[2] for row in older.rows] == ["–"] * 4
    gains = speedups(measured(made, launches(1, 2)))
    models = Models(format=2, fits=[], ladders=[], not_fitted=[], applications=found, speedups=gains)
    table = times(models, catalog())
    assert all(len(row) == len(table.columns) for row in table.rows)
    alone, both = table.rows[:2]
    assert alone[3].startswith("1.00")
    assert both[3].startswith("1.9")
    assert alone[-1] == "–"
