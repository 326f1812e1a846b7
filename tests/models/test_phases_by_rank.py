"""Medians of each rank's phases, from samples in which one rank was made different."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hpcscope.models.scaling.phases_by_rank import phases_by_rank
from hpcscope.samples.reader import read
from hpcscope.samples.samples import CaseSamples, Samples
from tests.declared import catalog

CANNON = "algorithm.matmul_cannon"


@pytest.fixture(scope="module")
def samples(golden_raw: Path) -> Samples:
    whole = read(golden_raw, catalog())
    return replace(whole, cases=[case for case in whole.cases if case.case.benchmark == CANNON])


def slower(case: CaseSamples, rank: int) -> CaseSamples:
    def changed(values: np.ndarray) -> np.ndarray:
        copy = values.copy()
        copy[rank] *= 2
        return copy

    times = [replace(t, observed=t.observed | {"compute_s": changed(t.observed["compute_s"])}) for t in case.times]
    return replace(case, times=times)


def test_every_case_on_several_processes_is_there(samples: Samples) -> None:
    found = phases_by_rank(samples, catalog())
    assert len(found) == 12, "three sizes, two variants, 4 and 16 ranks"
    assert {one.subject.ranks for one in found} == {4, 16}
    for one in found:
        assert set(one.phases_s) == {
            "initialize_s",
            "distribute_s",
            "compute_s",
            "exchange_s",
            "collect_s",
            "idle_s",
        }, "communication is a sum of others"
        assert all(len(values) == one.subject.ranks for values in one.phases_s.values())
        total = sum(np.array(values) for values in one.phases_s.values())
        assert np.ptp(total) / total.mean() < 0.1


def test_the_rank_that_computes_longer_stands_out(samples: Samples) -> None:
    changed = replace(samples, cases=[slower(case, 2) if case.case.ranks == 4 else case for case in samples.cases])
    for before, after in zip(phases_by_rank(samples, catalog()), phases_by_rank(changed, catalog()), strict=True):
        if before.subject.ranks == 4:
            ratio = np.array(after.phases_s["compute_s"]) / np.array(before.phases_s["compute_s"])
            assert ratio == pytest.approx([1, 1, 2, 1])
        else:
            assert before == after


def test_a_case_that_failed_once_is_left_out(samples: Samples) -> None:
    broken = [replace(samples.cases[0], status="failed"), *samples.cases[1:]]
    expected = 12 if samples.cases[0].case.ranks == 1 else 11
    assert len(phases_by_rank(replace(samples, cases=broken), catalog())) == expected
