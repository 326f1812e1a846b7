"""The NAS kernels EP, IS, CG, MG and FT: right on any number of processes, refused where they do not fit, and no
corrupted message or result passes.
"""

from __future__ import annotations

from math import ceil, log2

import pytest

from tests.measure.conftest import Measure
from tests.messages import mentions

KERNELS = [f"application.npb_{kernel}" for kernel in ("ep", "is", "cg", "mg", "ft")]
SENDING = [name for name in KERNELS if not name.endswith("_ep")]
ONCE = "sampling.minimum_repetitions=1 sampling.maximum_repetitions=1"


FURTHER = pytest.mark.slow("further numbers of ranks; there, 1 and 3, and every benchmark runs on 2 and 4")


@pytest.mark.parametrize("ranks", [1, 3, *(pytest.param(n, marks=FURTHER) for n in (2, 6, 8))])
def test_every_kernel_finds_the_published_values_on_any_number_of_processes(ranks: int, measure: Measure) -> None:
    ended = measure(ranks, [f"{name} {ONCE}" for name in KERNELS])
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []
    assert [case.benchmark for case in ended.cases] == KERNELS
    for case in ended.cases:
        seen = {name: max(values[0] for values in ranks) for name, ranks in case.series[0].observed.items()}
        assert case.verification is not None
        assert case.verification.checks >= ranks
        assert seen["mops_per_s"] == pytest.approx(ranks * seen["mops_per_process_per_s"])
        assert seen["memory_bytes"] > 0
        # Alone, nothing is sent; EP sends nothing but twelve sums.
        assert (seen["exchange_messages"] > 0) == (ranks > 1 and case.benchmark in SENDING)
        if case.benchmark.endswith("_ep"):
            assert seen["collect_bytes"] == 12 * 8 * ceil(log2(ranks))
            # Two sums and ten counts, each by every process.
            assert case.verification.checks % (12 * ranks) == 0
        if case.benchmark.endswith("_ft"):
            # A transpose keeps 1/p of the 64^3 complex points at home; once before the six iterations.
            assert seen["exchange_messages"] == 7 * (ranks - 1)
            layers = ceil(64 / ranks)
            assert seen["exchange_bytes"] <= 7 * 16 * 64 * layers * (64 - 64 // ranks)


def test_the_tuned_variants_are_right_too(measure: Measure) -> None:
    ended = measure(3, [f"application.npb_{kernel} variant=tuned {ONCE}" for kernel in ("mg", "ft")])
    assert ended.code == 0, ended.errors
    assert [(case.status, case.reason) for case in ended.cases] == [("ok", "")] * 2


@pytest.mark.slow("a class with more work takes the same paths; there, class S has the published values")
def test_a_larger_class_is_right_too(measure: Measure) -> None:
    ended = measure(2, [f"{name} class=W {ONCE}" for name in KERNELS])
    assert ended.code == 0, ended.errors
    assert [(case.status, case.reason) for case in ended.cases] == [("ok", "")] * len(KERNELS)


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_corrupted_message_fails_every_kernel_that_sends(ranks: int, measure: Measure) -> None:
    # A value that the last rank received in the last iteration: of a halo (MG), a transpose (FT), the keys (IS), a
    # vector (CG).
    faults = " ".join(f"corrupt-payload:{name}" for name in SENDING)
    ended = measure(ranks, [f"{name} {ONCE}" for name in KERNELS], SCOPE_FAULT=faults)
    assert ended.code == 1
    assert {case.benchmark for case in ended.cases if case.status == "failed"} == set(SENDING)


def test_a_wrong_result_fails_every_kernel(measure: Measure) -> None:
    faults = " ".join(f"wrong-result:{name}" for name in KERNELS)
    ended = measure(2, [f"{name} {ONCE}" for name in KERNELS], SCOPE_FAULT=faults)
    assert ended.code == 1
    assert [case.status for case in ended.cases] == ["failed"] * len(KERNELS)
    assert all("rank 0 on " in case.reason for case in ended.cases)
    assert mentions(ended.cases[0].reason, "annulus 4 ... class S")


def test_a_count_that_leaves_a_process_without_points_is_refused_with_the_nearest(measure: Measure) -> None:
    # 17 layers of 32 points would be thinner than two.
    (case,) = measure(17, [f"application.npb_mg {ONCE}"]).cases
    assert case.status == "unavailable"
    assert mentions(case.reason, "17 ... 16 or 18")
