"""The rows of a comparison's page: one for each time, with its change on one axis."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.comparison.compare import compare
from hpcscope.report.comparison.figures import figures
from hpcscope.report.comparison.page import render
from hpcscope.report.comparison.rows import axis, groups, place
from hpcscope.statistics.summary import Summary
from tests.comparison.runs import summary, write

NOISE = (1.0, 1.01, 1.0, 0.99, 1.0, 1.01, 1.0, 0.99)


def rate(number: int, medians: list[float]) -> object:
    """Return the bandwidth that follows from the times of the same case."""
    changes = {"metric": "bandwidth_bytes_per_s", "unit": "B/s", "better": "higher"}
    return summary(number, [1 / each for each in medians], **changes)


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    before = [1.00e-6, 1.01e-6, 1.00e-6, 0.99e-6, 1.00e-6, 1.01e-6, 1.00e-6, 0.99e-6]
    after = [1.5 * each for each in before]
    a = write(tmp_path / "a", [each(1, before) for each in (summary, rate)] + [summary(2, before)])
    b = write(tmp_path / "b", [each(1, after) for each in (summary, rate)] + [summary(2, before)])
    return a, b


def test_the_metrics_of_one_time_are_one_row(runs: tuple[Path, Path]) -> None:
    found = {group.verdict: group for group in groups(compare(*runs))}
    (row,) = found["worse"].rows
    assert row.metrics.endswith(", bandwidth") or row.metrics.startswith("bandwidth, ")
    assert row.case.better == "lower"
    assert found["worse"].is_open
    assert not found["no difference"].is_open


def test_changes_stand_on_one_axis(runs: tuple[Path, Path]) -> None:
    comparison = compare(*runs)
    end = axis(comparison)
    assert end == pytest.approx(0.575, rel=0.01)
    worse = next(case for case in comparison.cases if case.verdict == "worse" and case.better == "lower")
    at = place(worse, end)
    assert at is not None
    assert at.middle == pytest.approx(50 + 50 * 0.5 / end, abs=0.1)
    assert at.low <= at.middle <= at.high <= 100
    assert place(worse.model_copy(update={"ratio": None}), end) is None
    assert place(worse.model_copy(update={"ratio": 9.0, "ratio_high": 12.0}), end).high == 100  # type: ignore[union-attr]


def test_the_page_folds_what_did_not_change(runs: tuple[Path, Path]) -> None:
    text = render(compare(*runs))
    assert text.count('<details class="verdict-group" open>') == 1
    assert text.count('class="line worse"') == 1
    assert "1 worse" in text
    assert 'scope run --case "' in text


def test_ratios_are_drawn_over_the_size(golden_run: Path) -> None:
    drawn = figures(compare(golden_run, golden_run, across_machines=True))
    assert len(drawn) > 3
    for figure in [one for one in drawn if "surface" not in one.key]:
        points = [trace for trace in figure.traces if trace["meta"]["role"] == "points"]
        bands = [trace for trace in figure.traces if trace["meta"]["role"] == "band"]
        assert len(points) == len(bands) <= 6
        assert all(len(trace["x"]) >= 3 for trace in points)
        assert all(value == pytest.approx(1) for trace in points for value in trace["y"]), "a run over itself"
    page = render(compare(golden_run, golden_run, across_machines=True))
    assert page.index('id="curves"') < page.index('id="filter"') < page.index('class="verdict-group"')


def test_two_surfaces_are_compared(tmp_path: Path) -> None:
    def swept(factor: float, origin: str = "measured") -> list[Summary]:
        times = {(size, ranks): 1e-6 * size * ranks for size in (8, 64, 512) for ranks in (2, 4, 8)}
        changed = {at: time * (factor if at[1] == 8 else 1) for at, time in times.items()}
        return [
            summary(size, [time * each for each in NOISE], ranks=ranks, origin=origin)
            for (size, ranks), time in changed.items()
        ]

    a, b = write(tmp_path / "a", swept(1)), write(tmp_path / "b", swept(1.5))
    (surface,) = [one for one in figures(compare(a, b)) if "surface" in one.key]
    assert surface.origins == ["measured"]
    (cells,) = surface.traces
    assert [[float(text) for text in row] for row in cells["text"]] == [[1.0] * 3, [1.0] * 3, [1.5] * 3]
    assert surface.layout["yaxis"]["ticktext"] == ["2", "4", "8"]
    assert surface.table is not None
    assert len(surface.table.rows) == 9
    assert "1.50" in surface.table.rows[-1][-1]
    missing = write(tmp_path / "c", swept(1)[:-1])
    (surface,) = [one for one in figures(compare(a, missing)) if "surface" in one.key]
    assert surface.traces[0]["z"][2][2] is None
    a, b = write(tmp_path / "d", swept(1, "emulated")), write(tmp_path / "e", swept(1.5, "emulated"))
    assert {origin for one in figures(compare(a, b)) for origin in one.origins} == {"emulated"}
