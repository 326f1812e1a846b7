"""The NAS applications LU, SP and BT: right on any number of processes that fits, by vectors of any width, refused
where it does not, and no corrupted message passes.
"""

from __future__ import annotations

from math import isqrt

import pytest

from hpcscope.samples.records import CaseRecord
from tests.measure.conftest import Measure
from tests.messages import mentions

FLOWS = [f"application.npb_{flow}" for flow in ("lu", "sp", "bt")]
SWEEPS = {"application.npb_sp": (100, 22, 10), "application.npb_bt": (60, 30, 5)}
"""Steps of class S, and numbers of a line that go to the next cell and back."""
ONCE = "sampling.minimum_repetitions=1 sampling.maximum_repetitions=1"


def most(case: CaseRecord, metric: str) -> float:
    return max(values[0] for values in case.series[0].observed[metric])


FURTHER = pytest.mark.slow("further grids of ranks; there, one rank, a square and an oblong grid")


@pytest.mark.parametrize("ranks", [1, 2, 4, *(pytest.param(n, marks=FURTHER) for n in (6, 9))])
def test_every_flow_has_the_published_norms_on_any_number_of_processes(ranks: int, measure: Measure) -> None:
    ended = measure(ranks, [f"{name} variant={way} {ONCE}" for name in FLOWS for way in ("plain", "tuned")])
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []
    assert [case.benchmark for case in ended.cases] == [name for name in FLOWS for _ in range(2)]
    for case in ended.cases:
        assert case.verification is not None
        assert case.verification.checks % (11 if case.benchmark.endswith("lu") else 10) == 0
        assert (most(case, "exchange_messages") > 0) == (ranks > 1)
        assert most(case, "mops_per_s") == pytest.approx(ranks * most(case, "mops_per_process_per_s"))


def test_sweeps_send_what_their_specification_says(measure: Measure) -> None:
    lu, *sweeping = measure(4, [f"{name} {ONCE}" for name in FLOWS]).cases
    # 2 x 2 columns of 6 x 6 points, of which 5 x 5 off the walls: 10 planes to one neighbor along x and to one
    # along y, forth or back, 50 steps; and two layers of u to both after each step.
    assert most(lu, "exchange_messages") == 50 * (2 * 10 + 2)
    assert most(lu, "exchange_bytes") == 50 * 8 * (2 * 10 * 25 + 2 * 2 * 5 * 5 * 10)
    for case in sweeping:
        steps, forward, backward = SWEEPS[case.benchmark]
        # Two cells of 5 x 5 x 5 points off the walls, one before the other on every axis.
        slabs = isqrt(4)
        assert most(case, "exchange_messages") == steps * 6 * slabs
        assert most(case, "exchange_bytes") == steps * 8 * 25 * (3 * (forward + backward) + 6 * 2 * 5)


@pytest.mark.slow("a class with more work takes the same paths; there, class S has the published values")
def test_a_larger_class_is_right_too(measure: Measure) -> None:
    ended = measure(
        2, [f"{name} class=W variant=tuned {ONCE}" for name in ("application.npb_lu", "application.npb_bt")]
    )
    assert ended.code == 0, ended.errors
    assert [(case.status, case.reason) for case in ended.cases] == [("ok", "")] * 2


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_corrupted_message_fails_every_flow(ranks: int, measure: Measure) -> None:
    # One number that the last rank received: of the wave (LU), of the faces of its cells (SP, BT).
    faults = " ".join(f"corrupt-payload:{name}" for name in FLOWS)
    ended = measure(ranks, [f"{name} {ONCE}" for name in FLOWS], SCOPE_FAULT=faults)
    assert ended.code == 1
    assert [case.status for case in ended.cases] == ["failed"] * len(FLOWS)


def test_a_wrong_result_fails_every_flow(measure: Measure) -> None:
    faults = " ".join(f"wrong-result:{name}" for name in FLOWS)
    ended = measure(1, [f"{name} {ONCE}" for name in FLOWS], SCOPE_FAULT=faults)
    assert [case.status for case in ended.cases] == ["failed"] * len(FLOWS)
    assert all("class S" in case.reason for case in ended.cases)


def test_counts_that_do_not_fit_are_refused_with_the_nearest_that_do(measure: Measure) -> None:
    cases = measure(7, [f"{name} {ONCE}" for name in FLOWS]).cases
    assert [case.status for case in cases] == ["unavailable"] * len(FLOWS)
    nearest = {"application.npb_lu": "6 or 8", "application.npb_sp": "6 or 9", "application.npb_bt": "6 or 9"}
    assert {case.benchmark for case in cases} == set(nearest)
    assert all(mentions(case.reason, f"7 ... {nearest[case.benchmark]}") for case in cases)
