"""What only larger runs have: matrices of pairs, collectives over two variables, pages that start folded."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hpcscope.engine.analysis import analyze
from hpcscope.findings.results import Run
from hpcscope.models.communication.pair_matrix import PairMatrix, Slow
from hpcscope.plan.placement import Placement
from hpcscope.report.run import page
from hpcscope.report.run.figures import curves, pairs, surfaces
from hpcscope.report.run.results import results
from hpcscope.statistics.estimate import Estimate
from tests.declared import catalog
from tests.messages import mentions
from tests.models.curves import summary
from tests.report import browser


def matrix(count: int, **found: Any) -> PairMatrix:
    """A matrix in which the pair (i, j) takes 1 µs, and one more for each process between them."""
    times = [[abs(i - j) * 1e-6 if i != j else None for j in range(count)] for i in range(count)]
    return PairMatrix(
        benchmark="mpi.pairs", message_bytes=1024,
        load="isolated", transport="default", placement=Placement("node"), origin="measured",
        names=[f"node{index}" for index in range(count)], time_s=times, launches=6, **found,
    )  # fmt: skip


def drawn(golden_run: Path, one: PairMatrix) -> Any:
    known = Run(golden_run)
    known.models.pairs.clear()
    known.models.pairs.append(one)
    return next(pairs.figures(known, "mpi.pairs"), None)


def test_a_matrix_shows_every_pair_and_its_table_too(golden_run):
    figure = drawn(golden_run, matrix(5))
    (cells,) = figure.traces
    assert [[None if z is None else round(10**z * 1e6) for z in row] for row in cells["z"]] == [
        [abs(i - j) if i != j else None for j in range(5)] for i in range(5)
    ]
    assert figure.table.rows[4] == ["node4", "4.00 µs", "3.00 µs", "2.00 µs", "1.00 µs", ""]
    assert figure.layout["shapes"] == []


def test_what_is_slow_is_framed_and_named(golden_run):
    slow = Slow(members=["node2"], excess=Estimate(value=0.5, low=0.4, high=0.6))
    pair = Slow(members=["node0", "node4"], excess=Estimate(value=1.0, low=0.9, high=1.1))
    group = Slow(members=["node0", "node1"], excess=Estimate(value=2.0, low=1.9, high=2.1))
    figure = drawn(golden_run, matrix(6, slow_processes=[slow], slow_pairs=[pair], slow_between=group))
    frames = {(one["x0"], one["x1"], one["y0"], one["y1"]) for one in figure.layout["shapes"]}
    assert frames == {
        *((-0.5, 5.5, 1.5, 2.5), (1.5, 2.5, -0.5, 5.5)),
        *((-0.5, 0.5, 3.5, 4.5), (3.5, 4.5, -0.5, 0.5)),
        (-0.5, 1.5, -0.5, 1.5),
    }
    for words in ("node2 with every partner (+50.0 % [+40.0, +60.0])", "node0 and node4 with each other (2.00x",
                  "messages between node0 and node1 and all others"):  # fmt: skip
        assert words in figure.caption
    assert [text for text in figure.layout["xaxis"]["ticktext"] if "◂" in text] == ["node2 ◂"]


def test_a_large_matrix_has_no_text_in_its_cells_and_a_table_of_the_slowest(golden_run):
    slow = Slow(members=["node41"], excess=Estimate(value=0.5, low=0.4, high=0.6))
    figure = drawn(golden_run, matrix(100, slow_processes=[slow]))
    assert "text" not in figure.traces[0]
    assert len(figure.layout["xaxis"]["tickvals"]) < 25
    assert 41 in figure.layout["xaxis"]["tickvals"]
    assert figure.table.rows[0] == ["node0", "node99", "99.0 µs"]
    assert "of 4950" in figure.table.columns[-1]


def test_a_pair_alone_and_a_matrix_without_times_have_no_figure(golden_run):
    assert drawn(golden_run, matrix(2)) is None
    empty: list[list[float | None]] = [[None] * 4] * 4
    assert drawn(golden_run, matrix(4).model_copy(update={"time_s": empty})) is None


def test_why_nothing_was_looked_for_is_said(golden_run):
    figure = drawn(golden_run, matrix(3, reason="3 ranks; 4 are needed"))
    assert "3 ranks; 4 are needed" in figure.caption, "the reason, word for word"


def test_a_collective_over_both_has_the_medians_and_the_model(golden_run):
    known = Run(golden_run)
    (figure,) = list(surfaces.figures(known, "mpi.broadcast"))
    medians = {
        (one.parameters["message_bytes"], one.ranks): one.median
        for one in results(known, "mpi.broadcast")
        if one.metric == "time_s"
    }
    sizes, counts = (sorted({key[index] for key in medians}) for index in (0, 1))
    (cells,) = figure.traces
    shown = {
        (size, count): 10 ** cells["z"][row][column]
        for row, count in enumerate(counts)
        for column, size in enumerate(sizes)
        if cells["z"][row][column] is not None
    }
    assert shown == pytest.approx(medians, rel=1e-4)  # type: ignore[comparison-overlap]
    surface, points = figure.surface["data"]
    assert len(points["z"]) == len(medians)
    fit = next(
        one
        for one in known.models.fits
        if one.chosen and one.variable == "message_bytes_and_ranks" and one.subject.benchmark == "mpi.broadcast"
    )
    point = next(one for one in fit.points if one.x == 1024 and one.ranks == 8)
    assert 10 ** surface["z"][counts.index(8)][sizes.index(1024)] == pytest.approx(point.fitted, rel=1e-4)
    assert "logarithmic broadcast" in figure.caption


def test_files_have_a_heat_map_of_ranks_and_transfers(monkeypatch):
    sizes, counts = [4096 << 2 * step for step in range(6)], [1, 2]

    def bandwidth(size: int, ranks: int) -> float:
        return 1e6 * ranks * size / 4096

    written = [
        summary(
            [np.array([bandwidth(size, ranks)] * 9)] * 6,
            "storage.write",
            "bandwidth_bytes_per_s",
            "max_rank",
            ranks,
            unit="B/s",
            transfer_bytes=size,
            file_bytes=16 << 20,
        )
        for size in sizes
        for ranks in counts
    ]
    monkeypatch.setattr(surfaces, "results", lambda *_: written)
    known: Any = SimpleNamespace(benchmarks=catalog(), models=SimpleNamespace(fits=[]))
    (figure,) = list(surfaces.figures(known, "storage.write"))
    (cells,) = figure.traces
    assert [[10**cell for cell in row] for row in cells["z"]] == [
        pytest.approx([bandwidth(size, ranks) for size in sizes], rel=1e-4) for ranks in counts
    ]
    assert cells["text"][1][-1] == "2.05 GB/s"
    assert all("B/s" in text for text in cells["colorbar"]["ticktext"])
    assert figure.layout["xaxis"]["ticktext"] == ["4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB"]
    assert mentions(figure.caption, "highest, 2.05 GB/s ... 2 ranks with 4 MiB")
    assert figure.surface == {}
    assert len(figure.table.rows) == len(written)


def test_a_run_of_many_hosts_is_told_by_kinds_of_hosts(tmp_path):
    hosts = 300
    generator = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "large_run.py"))
    run = generator["write"](tmp_path / "large", hosts, launches=1)
    analyze(run)
    text = page.render(Run(run))
    titles = re.findall(r"<h3>([^<]*[Hh]ost[^<]*)</h3>", text[text.index('id="provenance"') :])
    # The generator makes one host differ.
    assert titles == [f"{hosts - 1} hosts, node0001 to node0300", "Host node0150"]
    told = text[text.index('id="provenance"') :]
    assert told[: told.index("<script")].count("node02") < 10, "hosts are not listed one by one"
    # The map of the hosts names each where a pointer is over it.
    assert "Messages of 1 B, all pairs of a round" in text
    assert "96 random rounds in 1 launch" in text
    assert f"{16 * hosts} ranks" in text


def test_benchmarks_are_folded(golden_run):
    text = page.render(Run(golden_run))
    assert text.count('<details class="benchmark"') > 10
    assert re.findall(r'<details class="benchmark"[^>]* open', text) == []


@pytest.mark.skipif(not browser.CHROMIUM, reason="no Chromium on this machine")
def test_what_is_folded_is_drawn_when_it_is_opened(golden_run, tmp_path):
    written = page.write(Run(golden_run), tmp_path / "report.html")
    opened_at_first = int(browser.opened(written).attribute("data-drawn") or 0)
    opener = "document.querySelectorAll('[data-open]').forEach((one) => one.click());"
    opener += "document.getElementById('search').value = 'barrier streaming';"
    opener += "document.getElementById('every').checked = true;"
    opener += "document.getElementById('search').dispatchEvent(new Event('input'))"
    written.write_text(browser.with_script(written.read_text(), opener))
    opened = browser.opened(written)
    assert opened.attribute("data-errors") is None
    assert opened.dom.count('data-drawn="yes"') > opened_at_first
    body = opened.dom[opened.dom.index('id="all"') :]
    body = body[body.index("<tbody>") : body.index("</tbody>")]
    rows = json.loads((golden_run / "statistics.json").read_text())["summaries"]
    assert body.count("<tr") == sum(
        one["benchmark"] == "mpi.barrier" and one["definition"] == "streaming" for one in rows
    )


def test_a_collective_of_one_process_is_no_result(golden_run):
    known = Run(golden_run)
    first = next(one for one in results(known, "mpi.broadcast") if one.metric == "time_s")
    alone = known.replaced(statistics=[first, first.model_copy(update={"ranks": 1})])
    assert [one.ranks for one in results(alone, "mpi.broadcast")] == [first.ranks]


def test_a_share_is_drawn_in_percent_even_where_it_is_zero(golden_run):
    known = Run(golden_run)
    times = [one for one in results(known, "mpi.latency") if one.metric == "latency_s"]
    line = [one for one in times if one.transport == "default" and one.parameters["mode"] == "standard"]
    line = sorted(line, key=lambda one: one.parameters["message_bytes"])[:4]
    shares = zip(line, (0.0, 0.25, 0.5, 1.0), (-40.0, 0.2, 0.4, 0.9), strict=True)
    changed = [
        one.model_copy(
            update={"metric": "hidden_share", "unit": "1", "median": share, "ci_low": low, "ci_high": share}
        )
        for one, share, low in shares
    ]
    (figure,) = curves.figures(known.replaced(statistics=changed), "mpi.latency")
    low, high = figure.layout["yaxis"]["range"]
    assert -1.1 < low < -1.0
    assert 1.0 < high < 1.1
    assert "cut off" in figure.caption
    assert figure.table.rows[1][-2].startswith("25 %")
    points = next(one for one in figure.traces if one["meta"]["role"] == "points")
    assert [y for y in points["y"] if y is not None] == [0.0, 0.25, 0.5, 1.0]


def test_series_swept_over_something_else_have_a_figure_of_their_own(golden_run):
    known = Run(golden_run)
    times = [one for one in results(known, "mpi.latency") if one.metric == "latency_s"]
    line = [one for one in times if one.transport == "default" and one.parameters["mode"] == "standard"][:4]
    windows = [
        line[0].model_copy(update={"parameters": line[0].parameters | {"window": window}}) for window in (2, 4, 8)
    ]
    whole = [one.model_copy(update={"parameters": one.parameters | {"window": 1}}) for one in line]
    found = list(curves.figures(known.replaced(statistics=[*whole, *windows]), "mpi.latency"))
    assert [one.layout["xaxis"]["title"]["text"] for one in found] == ["message size", "window"]
