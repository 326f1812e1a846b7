"""What findings about algorithms and operations say: counts, hosts, causes and what is at stake."""

from __future__ import annotations

import pytest

from hpcscope.findings.results import Run
from hpcscope.findings.run.operations import operation_below_ping_pong
from tests.findings.evidence import evident
from tests.findings.faulty_runs import run_kinds, with_summaries
from tests.findings.kinds.algorithms import (
    CANNON,
    STRIPED,
    algorithm,
    cannon,
    iterating,
    latency_of_a_cache,
    one_process,
    retained,
    speedup,
    stripes,
    two_products,
)


def test_the_count_from_which_communication_outweighs_is_named(healthy_run: Run) -> None:
    (found,) = run_kinds()["communication_outweighs"](cannon(lambda p: 0.02 * p)(healthy_run))
    assert found.where["ranks"] == 9, "0.18 s against 0.11 s; on 4 it is 0.08 s against 0.25 s"
    assert found.lost == pytest.approx(0.18 / (0.18 + 1 / 9), rel=0.05)
    assert "4 [4, 4]" in [evidence.value for evidence in found.evidence], "the most cost-effective number"


def test_rows_go_to_hosts_in_the_ratio_of_their_speeds(healthy_run: Run) -> None:
    run = stripes(3, 0.16)(healthy_run)
    (one,) = run.models.dealings
    assert [(share.host, share.even) for share in one.shares] == [("node1", 0.5), ("node2", 0.5)]
    assert [share.by_speed for share in one.shares] == pytest.approx([0.75, 0.25])
    assert one.balanced_compute_s == pytest.approx(0.15)
    assert one.predicted_s == pytest.approx(0.17, rel=0.02)
    assert one.error == pytest.approx(0.17 / 0.18 - 1, abs=0.03)
    (found,) = run_kinds()["rows_by_speed"](run)
    assert found.where["host"] == "node2"
    evident(found, (0.32, "s"), (0.18, "s"), (0.15, "s"), rel=0.03)
    assert "dealing=by_speed" in found.advice
    assert found.lost == pytest.approx(1 - 0.18 / 0.32, rel=0.03)


def test_hosts_of_a_lab_that_share_processors_have_no_speed_of_their_own(healthy_run: Run) -> None:
    run = stripes(3, 0.15)(healthy_run)
    (one,) = run.models.dealings
    emulated = one.model_copy(update={"origin": "emulated"})

    def with_processors(count: int) -> Run:
        hosts = [
            host.model_copy(update={"processor": host.processor.model_copy(update={"usable": list(range(count))})})
            for host in run.machine.hosts
        ]
        return run.replaced(
            machine=run.machine.model_copy(update={"hosts": hosts}),
            models=run.models.model_copy(update={"dealings": [emulated]}),
        )

    assert run_kinds()["rows_by_speed"](with_processors(2)) == []
    assert len(run_kinds()["rows_by_speed"](with_processors(4))) == 1


def test_rows_that_were_dealt_by_speed_in_vain_are_not_advised(healthy_run: Run) -> None:
    run = stripes(3, 0.4)(healthy_run)
    (one,) = run.models.dealings
    assert one.measured_s is not None
    slower = one.model_copy(update={"measured_s": one.measured_s.model_copy(update={"low": None, "high": None})})
    without = run.replaced(models=run.models.model_copy(update={"dealings": [slower]}))
    assert run_kinds()["rows_by_speed"](without) == [], "predicted to gain, measured to lose, with no interval"


def test_small_problems_are_information_only(healthy_run: Run) -> None:
    small = cannon(lambda p: 0.3, size=60)(healthy_run).statistics
    large = cannon(lambda p: 0.001, size=512)(healthy_run).statistics
    (found,) = run_kinds()["communication_outweighs"](with_summaries(healthy_run, [*small, *large]))
    assert (found.where["size"], found.severity) == (60, "information")
    (found,) = run_kinds()["communication_outweighs"](with_summaries(healthy_run, small))
    assert found.severity == "advice"


def test_why_a_product_is_slower_is_told_by_its_phases(healthy_run: Run) -> None:
    by_messages = two_products({"compute": 0.1, "exchange": 0.02}, {"compute": 0.1, "exchange": 0.05})
    (found,) = run_kinds()["striped_or_cannon"](by_messages(healthy_run))
    assert found.where["benchmark"] == STRIPED
    assert found.where["slower_in"] == "exchange"
    evident(found, (96, ""), (24, ""), (1e8, "B"))
    by_work = two_products({"compute": 0.15, "exchange": 0.02}, {"compute": 0.1, "exchange": 0.02})
    (found,) = run_kinds()["striped_or_cannon"](by_work(healthy_run))
    assert found.where["benchmark"] == CANNON
    assert found.where["slower_in"] == "compute"


def test_a_knee_names_the_cache_that_it_passes(healthy_run: Run) -> None:
    (found,) = run_kinds()["cache_knee"](one_process(latency_of_a_cache)(healthy_run))
    assert found.where["size"] == 960
    evident(found, (16 << 20, "B"))


def test_a_superlinear_speedup_is_laid_to_the_caches(healthy_run: Run) -> None:
    (found,) = run_kinds()["super_linear"](speedup(1 / 20)(healthy_run))
    assert found.where["ranks"] == 16
    evident(found, (0.8, ""), (64.6 * (1 << 20), "B"), (64.6 / 16 * (1 << 20), "B"), rel=0.02)
    assert "caches" in found.advice


def test_a_superlinear_speedup_without_less_computation_is_not(healthy_run: Run) -> None:
    one = algorithm(CANNON, 1, {"compute": 1.0, "collect": 0.5}, n=1680, variant="plain")
    many = algorithm(CANNON, 16, {"compute": 1 / 16}, n=1680, variant="plain")
    (found,) = run_kinds()["super_linear"](with_summaries(healthy_run, one + many))
    evident(found, (1.0, ""), rel=0.03)
    assert "caches" not in found.advice


def test_the_late_rank_and_its_host_are_named(healthy_run: Run) -> None:
    (found,) = run_kinds()["late_rank"](iterating(2)(healthy_run))
    assert (found.where["rank"], found.where["host"]) == (2, "node1")
    evident(found, ("97 %", ""))
    assert found.lost == pytest.approx(0.2, rel=0.1)


@pytest.mark.parametrize(
    ("warm", "part"),
    [
        (0.3, operation_below_ping_pong.FIRST_TOUCH),
        (0.9, operation_below_ping_pong.REST),
        (None, operation_below_ping_pong.UNKNOWN),
    ],
)
def test_a_part_is_blamed_only_where_it_was_told_apart(warm: float | None, part: str, healthy_run: Run) -> None:
    found = operation_below_ping_pong.find(retained(0.2, warm)(healthy_run))
    (one,) = (each for each in found if each.where.get("benchmark") == "operation.scatter")
    assert one.title.endswith(part)


def test_the_largest_part_of_a_slow_operation_is_named(healthy_run: Run) -> None:
    found = run_kinds()["operation_below_ping_pong"](retained(0.2)(healthy_run))
    (one,) = (each for each in found if each.where.get("benchmark") == "operation.scatter")
    assert one.severity == "warning"
    assert "20 %" in one.title
