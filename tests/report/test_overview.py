"""The first screen: which figures it chooses, and what it says of the measurement."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hpcscope import units
from hpcscope.catalog.benchmark import Value
from hpcscope.findings.results import Run
from hpcscope.models.ladder.rung import Ladder, LadderRung
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.report.figure import shown
from hpcscope.report.run import introduction, overview
from hpcscope.report.run.figures import collectives, messages, roofline, speedup
from hpcscope.report.run.results import results
from hpcscope.rundirectory import RunDirectory
from hpcscope.statistics.summary import Summary
from tests.declared import catalog
from tests.messages import mentions


@pytest.fixture(scope="module")
def run(golden_run: Path) -> Run:
    return Run(golden_run)


def result(like: Summary, benchmark: str, metric: str, median: float, ranks: int = 1, **changed: Value) -> Summary:
    """Return a result of any benchmark, with the other figures of `like`."""
    declared = catalog()[benchmark].metric[metric]
    parameters = {**catalog().defaults(benchmark), **changed}
    case = Case.of(catalog(), benchmark, parameters, (ranks, "default", Placement()))
    figures = {"metric": metric, "unit": declared.unit, "better": declared.better, "definition": "max_rank"}
    interval = {"median": median, "ci_low": 0.9 * median, "ci_high": 1.1 * median}
    return like.model_copy(update={**dict(case), **figures, **interval})


def with_results(run: Run, *added: Summary) -> Run:
    return run.replaced(benchmarks=catalog(), statistics=[*run.statistics, *added])


def test_the_tiles_are_those_of_the_library_and_of_the_node(run: Run) -> None:
    like = run.statistics.primary[0]
    caches = max(cache.size_bytes for host in run.machine.hosts for cache in host.caches)
    known = with_results(
        run,
        result(like, "node.peak", "flops_per_s", 9e12),
        result(like, "node.matrix_multiply", "flops_per_s", 2e12, n=500),
        result(like, "node.matrix_multiply", "flops_per_s", 4e12, n=500, precision="single"),
        result(like, "node.stream", "bandwidth_bytes_per_s", 9e12, kernel="copy", array_bytes=1 << 14),
        result(like, "node.stream", "bandwidth_bytes_per_s", 7e10, kernel="copy", array_bytes=caches),
        result(like, "node.stream_memory", "bandwidth_bytes_per_s", 6e10),
    )
    latency, bandwidth, memory, arithmetic = overview.tiles(known)
    assert latency.what == "ping-pong, 8 B, 2 ranks"
    (shortest,) = (one for one in results(run, "mpi.latency") if one.label == latency.what and one.unit == "s")
    assert f"{latency.figure} {latency.interval}" == shown(shortest)
    ladder = overview.main_ladders(run, "bandwidth_bytes_per_s")[0]
    (rung,) = (rung for rung in ladder.rungs if rung.layer == "mpi")
    assert (bandwidth.figure, bandwidth.what) == (units.quantity(rung.value, "B/s"), rung.name)
    assert memory.figure == "60.0 GB/s"
    assert memory.interval == "[54.0, 66.0]"
    assert (arithmetic.figure, arithmetic.what) == ("2.00 Tflop/s", "matrix product, DGEMM, N = 500, 1 rank")


def test_what_was_not_measured_is_said(run: Run) -> None:
    nothing = run.replaced(statistics=[], models=run.models.model_copy(update={"ladders": []}))
    assert overview.tiles(nothing) == []
    of_nodes = [one for one in run.statistics if one.benchmark.startswith("node.")]
    latency, _, memory, _ = overview.tiles(run.replaced(statistics=of_nodes))
    assert latency.what == "not measured"
    assert memory.figure.endswith("GB/s")
    assert (
        list(messages.figures(nothing))
        == list(collectives.figures(nothing))
        == list(roofline.figures(nothing))
        == []
    )
    assert overview.main_ladders(nothing) == []


def test_between_hosts_messages_between_hosts_come_first(run: Run) -> None:
    first = next(one for one in run.models.ladders if one.message_bytes is not None)
    between = first.model_copy(update={"path": "eth0 between hosts"})
    models = run.models.model_copy(update={"ladders": [*run.models.ladders, between]})
    assert overview.main_ladders(run.replaced(models=models)) == [between]
    assert overview.main_ladders(run)[0] == first


def test_messages_have_a_line_for_each_layer(run: Run) -> None:
    latency, bandwidth = messages.figures(run)
    for figure in (latency, bandwidth):
        names = [trace["name"] for trace in figure.traces if trace["meta"]["role"] == "points"]
        assert "MPI" in names
        assert len(names) == len(set(names)) <= messages.MOST_LINES
    assert "TCP without MPI" in {trace["name"] for trace in latency.traces}
    drawn = next(trace for trace in latency.traces if trace["name"] == "MPI" and trace["meta"]["role"] == "points")
    medians = {
        one.median
        for one in results(run, "mpi.latency")
        if one.metric == "latency_s" and one.transport == "default"
    }
    assert {float(f"{value:.6g}") for value in medians if value} >= {y for y in drawn["y"] if y}


def test_collectives_stand_beside_each_other_the_fastest_first(run: Run) -> None:
    like = next(one for one in results(run, "mpi.broadcast") if one.metric == "time_s")
    added = [
        result(like, name, "time_s", seconds, ranks=2, message_bytes=size)
        for name, seconds in (("mpi.allreduce", 3e-6), ("mpi.reduce", 1e-6))
        for size in (8, 1024, 65536)
    ]
    only = with_results(run).replaced(statistics=added)
    by_size, side_by_side = collectives.figures(only)
    assert {trace["name"] for trace in by_size.traces} == {"allreduce", "reduce"}  # type: ignore[union-attr]
    assert [panel.head for panel in side_by_side.panels] == ["8 B", "1 KiB", "64 KiB"]  # type: ignore[union-attr]
    assert [mark.name for mark in side_by_side.panels[0].marks] == ["reduce", "allreduce"]  # type: ignore[union-attr]


def test_the_roof_is_the_lower_of_rate_and_memory(run: Run) -> None:
    like = run.statistics.primary[0]
    at = {"kernel": "triad", "array_bytes": 1 << 26}
    only = with_results(run).replaced(
        statistics=[
            result(like, "node.peak", "flops_per_s", 100e9),
            result(like, "node.stream", "bandwidth_bytes_per_s", 20e9, **at),
            result(like, "node.stream", "flops_per_s", 5e9 / 3, **at),
        ],
    )
    (figure,) = roofline.figures(only)
    roof = next(trace for trace in figure.traces if trace["meta"]["role"] == "limit")
    assert roof["x"][1] == pytest.approx(5)  # 100 Gflop/s at 20 GB/s
    assert roof["y"][1:] == pytest.approx([100e9, 100e9])
    points = next(trace for trace in figure.traces if trace["meta"]["role"] == "points")
    assert points["x"] == pytest.approx([1 / 12], rel=1e-4)


def test_a_device_has_a_roof_of_its_own(run: Run) -> None:
    like = run.statistics.primary[0]
    at = {"kernel": "triad", "array_bytes": 1 << 28}
    only = with_results(run).replaced(
        statistics=[
            result(like, "node.peak", "flops_per_s", 100e9),
            result(like, "device.peak", "flops_per_s", 30e12),
            result(like, "device.stream", "device_bandwidth_bytes_per_s", 3e12, **at),
            result(like, "device.stream", "bandwidth_bytes_per_s", 2.4e12, **at),
            result(like, "device.stream", "flops_per_s", 0.2e12, **at),
        ],
    )
    (figure,) = roofline.figures(only)
    assert figure.title == "Roofline of a device"
    roof = next(trace for trace in figure.traces if trace["meta"]["role"] == "limit")
    assert roof["x"][1] == pytest.approx(10)  # 30 Tflop/s at 3 TB/s
    points = next(trace for trace in figure.traces if trace["meta"]["role"] == "points")
    assert points["x"] == pytest.approx([1 / 12], rel=1e-4)


def test_speed_ups_end_at_the_ideal(run: Run) -> None:
    (figure,) = speedup.compared(run)
    assert [panel.head for panel in figure.panels] == ["16 ranks"]
    for panel in figure.panels:
        shares = [mark.middle for mark in panel.marks]
        assert shares == sorted(shares, reverse=True)
        assert all(0 < mark.low <= mark.middle <= mark.high <= 100 for mark in panel.marks)


def test_rungs_of_one_layer_are_told_by_their_cases() -> None:
    def rung(layer: str, name: str, value: float, retained: float | None) -> LadderRung:
        unknown = dict.fromkeys(("low", "high", "retained_low", "retained_high", "of_limit"))
        return LadderRung.model_validate(
            {
                **unknown,
                "layer": layer,
                "name": name,
                "value": value,
                "unit": "B/s",
                "retained": retained,
                "reason": "",
            }
        )

    files = Ladder(
        path="writing files",
        quantity="bandwidth_bytes_per_s",
        message_bytes=None,
        successive=True,
        rungs=[
            rung("storage", "file write, POSIX, 2 ranks", 9.5, None),
            rung("mpi", "file write, MPI-IO, 2 ranks", 9.0, 9.0 / 9.5),
            rung("mpi", "file write, MPI-IO, collective, 2 ranks", 4.5, 0.5),
        ],
    )
    models = SimpleNamespace(ladders=[files])
    known: Any = SimpleNamespace(models=models, findings=[], directory=RunDirectory(Path("none")))
    kept, worst = introduction.verdict(known).split(". ")
    assert kept == "MPI delivers 95 % of the bandwidth of file write (POSIX)"
    assert mentions(worst, "file write (MPI-IO, collective) delivers 50 % ... of file write (MPI-IO).")
    by_device, by_host = (rung("device", "STREAM, triad, 1 rank", value, value / 4.0) for value in (4.0, 3.8))
    by_device = by_device.model_copy(update={"note": "device-clock bandwidth; noted"})
    models.ladders = [files.model_copy(update={"rungs": [by_device, by_host]})]
    assert introduction.verdict(known) == "STREAM (triad) delivers 95 % of its device-clock bandwidth."


def test_trust_names_what_gives_reason_for_doubt(run: Run) -> None:
    facts = {fact.name: fact for fact in overview.trust(run)}
    assert {"Machine states", "Late starts", "Precision", "Clock"} <= set(facts)
    assert not facts["Machine states"].doubtful
    late = [one.model_copy(update={"invalid_share": 0.4}) for one in run.statistics]
    busy = [host.model_copy(update={"run_queue": 7.0}) for host in run.machine.hosts]
    machine = run.machine.model_copy(update={"hosts": busy})
    unknown = run.course.model_copy(update={"states": [], "periods": []})
    doubted = {
        fact.name: fact for fact in overview.trust(run.replaced(statistics=late, machine=machine, course=unknown))
    }
    for name in ("Late starts", "Load before the run", "Machine states"):
        assert doubted[name].doubtful, name
    assert "40 %" in doubted["Late starts"].text
