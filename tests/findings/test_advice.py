"""Advice is checked against the run's settings, its environment and its own evidence before it is given."""

from __future__ import annotations

import re

import pytest

from hpcscope.findings.find import one_of_each_cause, worst_first
from hpcscope.findings.finding import Evidence, Finding, Trial
from hpcscope.findings.results import Run
from hpcscope.findings.run.operations import fresh_buffers
from hpcscope.models.prediction.operation_parts import OperationParts
from hpcscope.statistics.estimate import Estimate
from tests.findings.evidence import evident
from tests.findings.faulty_runs import run_kinds, rung_summaries, with_host, with_linear_algebra, with_summaries
from tests.findings.kinds.algorithms import retained
from tests.findings.test_node import with_blas


def with_environment(run: Run, **variables: str) -> Run:
    return run.replaced(machine=run.machine.model_copy(update={"environment": variables}))


def test_a_setting_that_chose_the_kernels_is_named_and_not_the_library(healthy_run: Run) -> None:
    other = with_blas(healthy_run, "Haswell", "avx2", "avx512f")
    assert not run_kinds()["blas_older_processor"](other)  # the run measured no linear algebra
    old = with_linear_algebra(other)
    (by_library,) = run_kinds()["blas_older_processor"](old)
    assert "OPENBLAS_CORETYPE" not in by_library.title
    (by_setting,) = run_kinds()["blas_older_processor"](with_environment(old, OPENBLAS_CORETYPE="Haswell"))
    assert "OPENBLAS_CORETYPE=Haswell" in by_setting.title
    assert by_setting.advice != by_library.advice
    assert by_setting.cause == by_library.cause


@pytest.mark.parametrize(
    ("mode", "tunables", "huge", "root"),
    [
        ("madvise", "", True, False),
        ("never", "", True, True),
        ("always", "", False, False),
        ("madvise", "glibc.malloc.hugetlb=1", False, False),
    ],
)
def test_huge_pages_are_no_advice_where_the_run_has_them(
    mode: str, tunables: str, huge: bool, root: bool, healthy_run: Run
) -> None:
    run = with_host(healthy_run, transparent_huge_pages=mode)
    run = with_environment(run, **({"GLIBC_TUNABLES": tunables} if tunables else {}))
    advice = fresh_buffers.advice(run, 1e-3, 1e-4)
    assert {"1.00 ms", "100 µs"} <= set(re.findall(r"[\d.]+ .?s\b", advice))
    assert ("huge pages" in advice) == huge
    assert ("by root" in advice) == root


def parts(run: Run, first_touch: float, packing: float, rest: float) -> Run:
    """Divide the time of a scatter of 1 ms; its messages alone take what is left."""
    (one,) = (p for p in retained(0.2)(run).models.operations if p.subject.benchmark == "operation.scatter")
    messages = 1e-3 * (1 - first_touch - packing - rest)

    def estimate(value: float) -> Estimate:
        return Estimate(value=value, low=0.95 * value, high=1.05 * value)

    made = OperationParts(
        subject=one.subject,
        time_s=estimate(1e-3),
        messages_s=estimate(messages),
        retained=estimate(messages / 1e-3),
        first_touch_s=1e-3 * first_touch,
        packing_s=1e-3 * packing,
        rest_s=1e-3 * rest,
    )
    return run.replaced(models=run.models.model_copy(update={"operations": [made]}))


@pytest.mark.parametrize(
    ("first_touch", "packing", "rest", "becomes"),
    [(0.85, -0.05, 0.05, "150 µs"), (0.1, 0.7, 0.1, "700 µs"), (0.1, -0.1, 0.85, "850 µs")],
)
def test_advice_is_about_the_largest_part_and_says_its_gain(
    first_touch: float, packing: float, rest: float, becomes: str, healthy_run: Run
) -> None:
    run = parts(with_summaries(healthy_run, []), first_touch, packing, rest)
    run = run.replaced(models=run.models.model_copy(update={"ladders": []}))
    (finding,) = run_kinds()["operation_below_ping_pong"](parts(run, first_touch, packing, rest))
    assert {becomes, "1.00 ms"} == set(re.findall(r"[\d.]+ .?s\b", finding.advice))
    assert ("rows" in finding.advice.lower()) == (packing > 0.5)
    assert (finding.cause == fresh_buffers.CAUSE) == (first_touch > 0.5)
    assert finding.severity == ("advice" if first_touch > 0.5 else "warning")


def test_a_transport_that_the_run_chose_is_not_advised(healthy_run: Run) -> None:
    """Over the transport tcp the run itself selects the module."""
    run = with_summaries(healthy_run, rung_summaries(10e-6, 24e-6))
    (finding,) = run_kinds()["library_overhead"](run)
    assert "TCP" in str(finding.where["path"])
    assert "--mca" not in finding.advice
    evident(finding, (10e-6, "s"), (24e-6, "s"), rel=0.02)


def finding(cause: str, lost: float, **change: object) -> Finding:
    made = Finding(
        code=f"code-{lost}",
        severity="advice",
        cause=cause,
        title=f"lost {lost}",
        where={},
        evidence=[Evidence(what="lost", value=lost)],
        advice="Mend it.",
        lost=lost,
    )
    return made.model_copy(update=change)


def test_the_worst_of_a_cause_stands_for_all_and_keeps_their_evidence() -> None:
    ordered = worst_first(
        [
            finding("a", 0.2),
            finding("", 0.3),
            finding("a", 0.5),
            finding("", 0.4),
            finding("a", 0.9, about="measurement"),
        ]
    )
    merged = one_of_each_cause(ordered)
    assert [one.title for one in merged] == ["lost 0.5", "lost 0.4", "lost 0.3", "lost 0.9"]
    assert merged[0].also == ["lost 0.2"]
    assert [one.value for one in merged[0].evidence] == [0.5, 0.2]


def test_what_one_cause_asks_to_try_is_tried_for_all_of_its_findings() -> None:
    scan, both = (Trial(environment={"A": value}, case="mpi.scan") for value in ("1", "2"))
    worst, other = finding("a", 0.5, trials=[scan]), finding("a", 0.2, trials=[scan, both])
    (merged,) = one_of_each_cause([worst, other])
    assert merged.trials == [scan, both]


def test_what_was_seen_on_one_host_is_no_evidence_about_another() -> None:
    apart = [finding("a", 0.5, where={"host": "node1"}), finding("a", 0.2, where={"host": "node2"})]
    assert [one.also for one in one_of_each_cause(apart)] == [[], []]


def test_what_is_at_stake_orders_findings_of_one_severity() -> None:
    small, large = finding("", 0.9, at_stake=0.05), finding("", 0.3, at_stake=0.2)
    warning = finding("", 0.1, severity="warning")
    assert worst_first([small, large, warning]) == [warning, large, small]
