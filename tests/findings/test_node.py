"""Findings of the node level: faults put into summaries of known truth, and healthy ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run, derived
from hpcscope.machine.machine import Blas
from hpcscope.plan.case import Case
from hpcscope.statistics.summary import Summary
from tests.declared import catalog
from tests.findings.evidence import evident
from tests.findings.faulty_runs import run_kinds, with_host, with_linear_algebra, with_summaries, with_usable
from tests.models.curves import noisy, summary

MEMORY = 1 << 26


@pytest.fixture(scope="module")
def run(golden_raw: Path) -> Run:
    return with_usable(derived(golden_raw), 16).replaced(benchmarks=catalog())


def rate(truth: float, benchmark: str, metric: str, ranks: int, seed: int, **parameters: object) -> Summary:
    times = noisy(np.random.default_rng(seed), 1 / truth, spread=0.004)
    made = [1 / launch for launch in times]
    unit = "B/s" if metric.startswith("bandwidth") else "flop/s"
    return summary(made, benchmark, metric, "max_rank", ranks, unit=unit, **parameters)


def triads(bandwidth: Callable[[int], float], counts: list[int], array_bytes: int = MEMORY) -> list[Summary]:
    return [
        rate(bandwidth(p), "node.stream", "bandwidth_bytes_per_s", p, p, kernel="triad", array_bytes=array_bytes)
        for p in counts
    ]


def found(kind: str, run: Run, summaries: list[Summary]) -> list[Finding]:
    return run_kinds()[kind](with_summaries(run, summaries))


EVERY = list(range(1, 17))


def saturating(p: int) -> float:
    return min(p, 4) * 12e9


def proportional(p: int) -> float:
    return p * 12e9


def test_the_cores_that_saturate_the_memory_are_counted(run: Run) -> None:
    (finding,) = found("memory_saturated", run, triads(saturating, EVERY))
    assert finding.code == "memory-saturated"
    assert finding.where["ranks"] == 4
    assert finding.lost == pytest.approx(0.75, abs=0.02)
    assert len(finding.evidence) == 16
    assert finding.advice.endswith(".")


def test_one_core_of_two_can_saturate(run: Run) -> None:
    (finding,) = found("memory_saturated", run, triads(lambda p: 12e9, [1, 2]))
    assert finding.where["ranks"] == 1
    assert finding.lost == pytest.approx(0.5, abs=0.02)


def test_with_two_counts_the_share_of_a_core_is_told(run: Run) -> None:
    (finding,) = found("memory_saturated", run, triads(saturating, [1, 16]))
    assert finding.code == "memory-shared"
    assert finding.where["ranks"] == 16
    assert finding.lost == pytest.approx(0.75, abs=0.02)


def test_the_largest_arrays_of_several_counts_tell(run: Run) -> None:
    """The largest of all were measured with one count only, as the baseline does."""
    larger = triads(saturating, [2], array_bytes=1 << 30)
    (finding,) = found("memory_saturated", run, [*larger, *triads(lambda p: 12e9, [1, 2])])
    assert finding.where["ranks"] == 1


@pytest.mark.parametrize(
    "healthy",
    [
        triads(proportional, EVERY),
        triads(lambda p: p**0.9 * 12e9, EVERY),
        triads(proportional, [1, 2]),
        triads(saturating, [16]),
        triads(saturating, EVERY, array_bytes=1 << 14),
    ],
    ids=["proportional", "nearly", "two cores", "one count", "in a cache"],
)
def test_memory_that_keeps_up_is_no_finding(run: Run, healthy: list[Summary]) -> None:
    assert found("memory_saturated", run, healthy) == []


def test_oversubscribed_counts_say_nothing_of_the_memory(run: Run) -> None:
    few = with_usable(run, 2)
    assert any(launch.ranks == 16 for launch in few.raw_samples.launches)
    assert found("memory_saturated", few, triads(saturating, [1, 16])) == []


def peaks(alone: float, together: float) -> list[Summary]:
    kind = {"precision": "double", "instructions": "widest"}
    return [
        rate(alone, "node.peak", "flops_per_s", 1, 1, **kind),
        rate(together, "node.peak", "flops_per_s", 16, 2, **kind),
    ]


def test_cores_that_slow_each_other_down_are_found(run: Run) -> None:
    (finding,) = found("core_contention", run, peaks(50e9, 16 * 50e9 * 0.7))
    assert finding.where["ranks"] == 16
    assert finding.lost == pytest.approx(0.3, abs=0.03)


def test_independent_cores_are_no_finding(run: Run) -> None:
    assert found("core_contention", run, peaks(50e9, 16 * 50e9)) == []
    assert found("core_contention", run, peaks(50e9, 16 * 50e9 * 0.95)) == []
    assert found("core_contention", run, peaks(50e9, 16 * 50e9)[:1]) == []


def noise(share: float, period_s: float = 0.0, detours_per_s: float = 250.0) -> list[Summary]:
    random = np.random.default_rng(8)
    made = []
    for metric, unit, truth in (
        ("noise_share", "1", share),
        ("longest_detour_s", "s", 40e-6),
        ("detours_per_s", "1/s", detours_per_s),
        ("period_s", "s", period_s),
    ):
        made.append(summary(noisy(random, truth), "node.noise", metric, "observed", 16, unit=unit, quanta=50000))
    return made


def test_noise_above_a_percent_is_found_with_its_period(run: Run) -> None:
    (finding,) = found("noise", run, noise(0.03, 4e-3))
    assert finding.severity == "advice"
    assert finding.lost == pytest.approx(0.03, rel=0.05)
    assert len(finding.evidence) == 4
    assert "3.98 ms" in finding.title, "the period"
    assert found("noise", run, noise(0.08))[0].severity == "warning"
    assert " ms" not in found("noise", run, noise(0.03))[0].title
    rare = noise(0.03, 4e-3, detours_per_s=1894.0)
    assert " ms" not in found("noise", run, rare)[0].title, "the period explains an eighth of the detours"
    seldom = noise(0.03, 4e-3, detours_per_s=80.0)
    assert " ms" not in found("noise", run, seldom)[0].title, "two of three beats bring no detour"
    assert "worst of 16" in finding.title, "no samples say which"


@pytest.mark.parametrize(("worst", "named"), [((2, 2, 2), 2), ((0, 1, 2), None)])
def test_the_rank_with_most_noise_is_named_with_its_host(
    worst: tuple[int, ...], named: int | None, run: Run
) -> None:
    summaries = noise(0.03)
    share = summaries[0]
    like = next(one for one in run.raw_samples.cases if one.times and one.case.ranks > 3)
    visits = []
    for rank in worst:
        times = replace(like.times[0], observed={})
        seen = np.full((len(times.ranks_kept), times.counted.size), 0.001)
        seen[list(times.ranks_kept).index(rank)] = 0.03
        times = replace(times, observed={"noise_share": seen})
        visits.append(replace(like, case=case_like(share), origin=share.origin, times=[times]))
    changed = with_summaries(run.replaced(raw_samples=replace(run.raw_samples, cases=visits)), summaries)
    (finding,) = run_kinds()["noise"](changed)
    assert finding.where.get("rank") == named
    assert (f"Rank {named} on node1" in finding.title) == (named is not None)


def case_like(one: Summary) -> Case:
    return Case(**{name: getattr(one, name) for name in Case.model_fields})


def test_a_quiet_host_is_no_finding(run: Run) -> None:
    assert found("noise", run, noise(0.002)) == []
    assert found("noise", run, noise(0.0)) == []


def with_blas(run: Run, core: str, *flags: str) -> Run:
    made = Blas(
        name="OpenBLAS",
        version="0.3.30",
        origin="embedded",
        library="/l.so",
        prefix="",
        configuration="",
        core=core,
    )
    assert run.machine.build is not None
    build = run.machine.build.model_copy(update={"blas": made})
    run = run.replaced(machine=run.machine.model_copy(update={"build": build}))
    processor = run.machine.hosts[0].processor.model_copy(update={"flags": list(flags), "architecture": "x86_64"})
    return with_host(run, processor=processor)


def test_kernels_of_an_older_processor_are_found(run: Run) -> None:
    (finding,) = run_kinds()["blas_older_processor"](
        with_linear_algebra(with_blas(run, "Haswell", "avx2", "avx512f"))
    )
    evident(finding, (256, "bit"), (512, "bit"), ("Haswell", ""))
    assert "scope tune blas" in finding.advice
    assert run_kinds()["blas_older_processor"](with_linear_algebra(with_blas(run, "Prescott", "sse2", "avx2")))


@pytest.mark.parametrize(
    ("core", "flags"),
    [("Haswell", ["avx2"]), ("SkylakeX", ["avx2", "avx512f"]), ("Zen", ["avx2"]), ("Unheard", ["avx512f"])],
)
def test_kernels_that_fit_are_no_finding(run: Run, core: str, flags: list[str]) -> None:
    assert run_kinds()["blas_older_processor"](with_linear_algebra(with_blas(run, core, *flags))) == []


def test_without_a_blas_there_is_nothing_to_find(run: Run) -> None:
    assert run_kinds()["blas_older_processor"](run) == []


def products(of_peak: float) -> list[Summary]:
    peak = rate(100e9, "node.peak", "flops_per_s", 1, 1, precision="double", instructions="widest")
    small = rate(10e9, "node.matrix_multiply", "flops_per_s", 1, 2, precision="double", n=100)
    large = rate(of_peak * 100e9, "node.matrix_multiply", "flops_per_s", 1, 3, precision="double", n=500)
    return [peak, small, large]


def test_a_blas_far_below_the_peak_is_found(run: Run) -> None:
    (finding,) = found("blas_below_peak", run, products(0.46))
    assert finding.lost == pytest.approx(0.54, abs=0.02)


def test_a_tuned_blas_is_no_finding(run: Run) -> None:
    assert found("blas_below_peak", run, products(0.85)) == []
    assert found("blas_below_peak", run, products(0.46)[:2]) == []
