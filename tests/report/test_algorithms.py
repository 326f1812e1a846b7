"""Figures of algorithms: phases by rank, speedup with its law, predicted beside measured; each with its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.findings.results import Run
from hpcscope.report.figure import Figure
from hpcscope.report.run import page
from hpcscope.report.run.figures import operation_parts, phases, phases_by_rank, predictions, speedup
from hpcscope.report.run.results import results
from tests.declared import catalog
from tests.messages import mentions

CANNON = "algorithm.matmul_cannon"


@pytest.fixture(scope="module")
def run(golden_run: Path) -> Run:
    return Run(golden_run)


def named(figure: Figure, role: str) -> list[str]:
    return [trace.get("name", "") for trace in figure.traces if trace["meta"]["role"] == role]


def test_communication_is_not_stacked_on_its_own_parts(run: Run) -> None:
    (figure,) = phases.figures(run, CANNON)
    assert named(figure, "bar") == ["compute", "distribute", "exchange", "collect", "initialize", "idle"]
    others = [one for one in run.statistics if one.metric not in ("exchange_s", "distribute_s", "collect_s")]
    (older,) = phases.figures(run.replaced(statistics=others), CANNON)
    assert named(older, "bar") == ["compute", "communicate", "initialize", "idle"]


def test_every_rank_has_its_bar_and_its_row(run: Run) -> None:
    figures = list(phases_by_rank.figures(run, CANNON))
    plain, transposed = (figure.title for figure in figures)
    assert mentions(plain, "N = 512, 16 ranks")
    assert mentions(transposed, "N = 512, transposed, 16 ranks")
    for figure in figures:
        assert named(figure, "bar") == ["initialize", "distribute", "compute", "exchange", "collect", "idle"]
        assert [row[0] for row in figure.table.rows] == [str(rank) for rank in range(16)]
        compute = next(trace for trace in figure.traces if trace["name"] == "compute")
        stored = next(
            one
            for one in run.models.phases
            if (one.subject.parameters, one.subject.ranks) == ({"n": 512, "variant": "plain"}, 16)
        )
        if "transposed" not in figure.title:
            assert compute["x"] == pytest.approx(stored.phases_s["compute_s"], rel=1e-5)


def test_many_ranks_are_thinned_and_said_to_be(run: Run) -> None:
    one = next(each for each in run.models.phases if each.subject.ranks == 16)
    many = one.model_copy(
        update={
            "ranks_kept": list(range(200)),
            "phases_s": {name: [1.0] * 200 for name in one.phases_s},
            "subject": one.subject.model_copy(update={"ranks": 200}),
        }
    )
    models = run.models.model_copy(update={"phases": [many]})
    (figure,) = phases_by_rank.figures(run.replaced(models=models), CANNON)
    assert len(figure.table.rows) == 24
    assert figure.table.rows[-1][0] == "199"
    assert "not shown: 176" in figure.caption


def test_speedup_has_the_ideal_line_the_law_and_the_counts(run: Run) -> None:
    figures = list(speedup.figures(run, CANNON))
    plain, transposed = (figure.title for figure in figures)
    assert "Cannon's algorithm" in plain
    assert transposed == f"{plain}, transposed"
    for figure in figures:
        assert named(figure, "limit") == ["ideal"]
        assert named(figure, "points") == ["size 128", "size 256", "size 512"]
        assert len(named(figure, "fit")) == 3
        assert "beyond 12" in figure.caption
        assert "most cost-effective on 4" in figure.caption
        assert len(figure.table.rows) == 9
        points = next(trace for trace in figure.traces if trace["meta"]["role"] == "points")
        assert points["x"] == [1, 4, 16]
        assert points["y"][0] == 1


def test_without_a_law_its_reason_is_told(run: Run) -> None:
    short = [one.model_copy(update={"amdahl": None, "reason": "2 rank counts"}) for one in run.models.speedups]
    changed = run.replaced(models=run.models.model_copy(update={"speedups": short}))
    for figure in speedup.figures(changed, CANNON):
        assert "2 rank counts" in figure.caption
        assert named(figure, "fit") == []


def test_predicted_stands_beside_measured_with_both_origins(run: Run) -> None:
    (figure,) = predictions.figures(run, CANNON)
    assert figure.origins == ["measured", "simulated"]
    assert named(figure, "points") == ["Cannon's algorithm", "transposed"]
    assert len(figure.table.rows) == 18
    assert sum("the rates come from" in row[-1] for row in figure.table.rows) == 6
    assert "median error" in figure.caption
    assert all(len(trace["x"]) == 6 for trace in figure.traces if trace["meta"]["role"] == "points")


def test_the_page_holds_them_all(golden_run: Path) -> None:
    text = page.render(Run(golden_run))
    for key in ("phases", "ranks-phases-0", "speedup-0", "predicted-0"):
        assert f'id="{CANNON}-{key}"' in text


def test_an_exchange_that_is_no_phase_stays_a_result(run: Run) -> None:
    one = next(each for each in run.statistics.primary if each.benchmark == "mpi.comms2")
    exchange = one.model_copy(update={"benchmark": "mpi.overlap", "metric": "exchange_s"})
    changed = run.replaced(benchmarks=catalog(), statistics=[*run.statistics, exchange])
    assert [each.metric for each in results(changed, "mpi.overlap")] == ["exchange_s"]
    assert "exchange_s" not in {each.metric for each in results(changed, CANNON)}


def test_the_parts_of_an_operation_add_up_to_its_time(run: Run) -> None:
    parts = [one for one in run.models.operations if one.subject.benchmark == "operation.broadcast"]
    assert parts
    (figure,) = operation_parts.figures(run, "operation.broadcast")
    assert named(figure, "bar") == ["messages", "packing", "first touch", "rest"]
    assert len(figure.table.rows) == len(parts)
    for row, one in enumerate(parts):
        known = one.messages_s.value + (one.packing_s or 0.0) + (one.first_touch_s or 0.0) + one.rest_s
        assert known == pytest.approx(one.time_s.value)
        # A part that is cheaper than its counterpart has no bar: the bars may only be longer than the time.
        assert sum(trace["x"][row] for trace in figure.traces) >= one.time_s.value * 0.999
