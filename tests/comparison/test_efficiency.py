"""Efficiencies against peaks of known truth, two networks side by side."""

from __future__ import annotations

import json
import re
from math import exp, hypot, log
from pathlib import Path
from typing import Any

import pytest

from hpcscope.comparison.compare import compare
from hpcscope.comparison.efficiency import efficiencies
from hpcscope.errors import UsageError
from hpcscope.report.comparison.page import render
from hpcscope.rundirectory import RunDirectory
from hpcscope.statistics.summary import Summary
from tests.cli.scope_command import answered
from tests.comparison.runs import summary, write
from tests.messages import mentions


def rate(benchmark: str, value: float, ranks: int = 1, **changes: Any) -> Summary:
    """A rate whose interval is one per cent to either side."""
    given = {
        "benchmark": benchmark,
        "parameters": {},
        "ranks": ranks,
        "metric": "flops_per_s",
        "unit": "flop/s",
        "better": "higher",
        "definition": "max_rank",
    }
    return summary(0, [0.99 * value, value, value, 1.01 * value], **(given | changes))


def product(value: float, precision: str = "double", **changes: Any) -> Summary:
    return rate("node.matrix_multiply", value, parameters={"precision": precision, "n": 500}, **changes)


def two_networks(tmp_path: Path) -> tuple[Path, Path]:
    """LINPACK at a quarter and at half of four processors; A has a faster processor."""
    linpack = {"ranks": 4, "parameters": {"n": 1000, "grid_rows": 0}}
    a = [product(20e9), product(10e9, ranks=4), rate("algorithm.linpack", 20e9, transport="tcp", **linpack)]
    b = [product(10e9), rate("algorithm.linpack", 20e9, **linpack), rate("algorithm.linpack", 5e9, ranks=4)]
    return write(tmp_path / "a", a), write(tmp_path / "b", b)


def test_a_rate_is_held_against_as_many_processors_of_its_own_run(tmp_path: Path) -> None:
    found = efficiencies(two_networks(tmp_path))
    (row,) = [row for row in found.rows if row.name == "algorithm.linpack"]
    a, b = row.runs
    assert a is not None
    assert b is not None
    assert len({one.way for one in row.known}) == 2
    assert (a.share, b.share) == (pytest.approx(0.25), pytest.approx(0.5))
    assert a.peak == pytest.approx(80e9)
    assert a.peak_is == "4 × matrix product, DGEMM, N = 500, 1 rank"
    # The distances of independent figures add in squares.
    below, above = exp(hypot(log(0.99), log(1.01))), exp(hypot(log(1.01), log(0.99)))
    assert (a.low, a.high) == (pytest.approx(0.25 / below), pytest.approx(0.25 * above))
    # The best of a run's cases stands for it.
    assert "1000 equations" in b.case


def test_what_went_the_same_way_is_paired_and_the_rest_stands_alone(tmp_path: Path) -> None:
    both = [product(10e9), rate("algorithm.summa", 8e9, 2), rate("algorithm.summa", 4e9, 2, transport="tcp")]
    one = [product(10e9), rate("algorithm.summa", 6e9, 2)]
    found = efficiencies([write(tmp_path / "a", both), write(tmp_path / "b", one)])
    rows = {row.label: row for row in found.rows if row.name == "algorithm.summa"}
    assert set(rows) == {"algorithm.summa, 2 ranks", "algorithm.summa, 2 ranks, tcp"}
    assert rows["algorithm.summa, 2 ranks, tcp"].runs[1] is None
    default = rows["algorithm.summa, 2 ranks"]
    assert [one.share for one in default.known] == [pytest.approx(0.4), pytest.approx(0.3)]


def test_precisions_and_types_of_node_have_their_own_peaks(tmp_path: Path) -> None:
    single = {"precision": "single", "n": 500}
    slow, fast = {"placement": "core:type1"}, {"placement": "core:type2"}
    run = [
        product(10e9, **slow),
        product(40e9, **fast),
        product(20e9, "single", **slow),
        rate("node.lapack", 5e9, **slow),
        rate("algorithm.scalapack_lu", 5e9, parameters=single, **slow),
    ]
    found = {row.name: row.runs[0] for row in efficiencies([write(tmp_path / "a", run)]).rows}
    assert found["node.lapack"].share == pytest.approx(0.5)
    assert found["algorithm.scalapack_lu"].share == pytest.approx(0.25)


def test_operations_of_kernels_count_but_not_keys(tmp_path: Path) -> None:
    counted = {"metric": "mops_per_s", "unit": "Mop/s", "definition": "observed"}
    kernels = [rate("application.npb_mg", 500, **counted), rate("application.npb_is", 500, **counted)]
    found = efficiencies([write(tmp_path / "a", [product(1e9), *kernels])])
    (row,) = [row for row in found.rows if row.name.startswith("application.")]
    assert (row.name, row.known[0].share) == ("application.npb_mg", pytest.approx(0.5))


def declare_a_memory_rung(run: Path, name: str) -> None:
    """Put a benchmark that counts bytes as STREAM does on the ladder of memory, as a new one would itself."""
    rung = {"pattern": "memory", "layer": "node", "metric": "bandwidth_bytes_per_s", "parameters": {}}
    file = RunDirectory(run).benchmarks
    declared = json.loads(file.read_text())
    for one in declared:
        if one["name"] == name:
            one["rungs"].append(rung)
    file.write_text(json.dumps(declared))


def test_memory_is_held_against_streams_of_arrays_as_large(tmp_path: Path) -> None:
    def bandwidth(benchmark: str, value: float, size: int, ranks: int = 1) -> Summary:
        given = {"metric": "bandwidth_bytes_per_s", "unit": "B/s", "parameters": {"array_bytes": size}}
        return rate(benchmark, value, ranks, **given)

    streams = [
        rate("node.stream", 1e9, parameters={"array_bytes": 64}),
        bandwidth("node.stream", 90e9, 1000),
        bandwidth("node.stream", 10e9, 10**6),
    ]
    copies = [bandwidth("node.memory_copy", 80e9, 1000), bandwidth("node.memory_copy", 8e9, 10**6)]
    far = bandwidth("node.memory_copy", 8e9, 10**6, ranks=2)
    run = write(tmp_path / "a", [*streams, *copies, far])
    declare_a_memory_rung(run, "node.memory_copy")
    found = efficiencies([run])
    (row,) = found.rows
    assert (row.kind, row.known[0].share) == ("memory", pytest.approx(0.8))
    assert mentions(found.without_peak[0], "node.memory_copy in A: ... node.stream ... 1000000 B ... 2")


def test_without_a_peak_there_is_no_efficiency_and_it_is_said(tmp_path: Path) -> None:
    run = write(tmp_path / "a", [rate("node.lapack", 5e9)])
    found = efficiencies([run])
    assert found.rows == []
    assert mentions(found.without_peak[0], "node.lapack in A: ... node.matrix_multiply ... node.peak ... double")


def test_messages_are_held_against_the_limit_of_their_path(golden_run: Path) -> None:
    ladders = json.loads(RunDirectory(golden_run).models.read_text())["ladders"]
    wanted = [one for one in ladders if one["quantity"] == "bandwidth_bytes_per_s" and one["rungs"][0]["value"]]
    assert wanted
    rows = [row for row in efficiencies([golden_run]).rows if row.kind == "messages"]
    of_limit = {
        round(rung["of_limit"], 9) for one in wanted for rung in one["rungs"][1:] if rung["of_limit"] is not None
    }
    assert rows
    assert {round(one.share, 9) for row in rows for one in row.known} <= of_limit


def test_the_figure_has_a_mark_for_each_run_on_one_axis(tmp_path: Path) -> None:
    a, b = two_networks(tmp_path)
    page = render(compare(a, b), efficiencies([a, b]))
    marks = page[page.index('id="efficiency-compared"') :].partition("</figure>")[0]
    first, second = (float(place) for place in re.findall(r'<b style="left:([\d.]+)%"', marks))
    assert second == pytest.approx(2 * first, rel=0.01)
    assert "25.0 %" in page
    assert "50.0 %" in page
    assert "Efficiency against peak" not in render(compare(a, b))


def test_the_command_prints_a_table_json_and_the_page(tmp_path: Path) -> None:
    a, b = two_networks(tmp_path)
    told = answered(tmp_path, "compare", str(a), str(b), "--efficiency", "--html", "page.html")
    assert told.code == 0, told.errors
    assert re.search(r"25 % .*50 % .*algorithm.linpack, 4 ranks +tcp \| default", told.output)
    assert "Efficiency against peak" in (tmp_path / "page.html").read_text()
    found = json.loads(answered(tmp_path, "compare", str(a), str(b), "--efficiency", "--json").output)
    assert [row["name"] for row in found["rows"]] == ["algorithm.linpack"]
    assert set(found["definitions"]) == {"arithmetic"}


def test_a_run_without_statistics_is_refused(golden_raw: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"statistics\.json: missing"):
        efficiencies([golden_raw])


def test_a_launch_whose_median_is_zero_is_incomparable(tmp_path: Path) -> None:
    a, b = (write(tmp_path / side, [summary(0, [0.0, 1e-6, 2e-6, 2e-6])]) for side in "ab")
    changed = compare(a, b).cases[0]
    assert changed.verdict == "incomparable"
    assert "zero in A" in changed.reason
