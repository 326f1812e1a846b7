"""Figures of many runs side by side."""

from __future__ import annotations

import io
from pathlib import Path

from hpcscope.report.run.gathered import gather, table
from hpcscope.report.terminal.console import console
from hpcscope.statistics.summarise import read_summaries


def test_the_worst_run_is_named_with_its_distance(golden_run: Path) -> None:
    summaries = [one for one in read_summaries(golden_run) if one.primary and one.valid and one.median]
    latency = next(one for one in summaries if one.metric.endswith("latency_s") or one.better == "lower")
    rate = next(one for one in summaries if one.better == "higher")

    def of(factor: float) -> list:  # type: ignore[type-arg]
        assert latency.median is not None
        assert rate.median is not None
        slow = latency.model_copy(update={"median": latency.median * factor})
        return [slow, rate.model_copy(update={"median": rate.median / factor})]

    rows = gather({"a": of(1.0), "b": of(1.0), "c": of(1.25), "d": of(0.99)})
    assert len(rows) == 2
    for row in rows:
        assert (row.best, row.worst, len(row.values)) == ("d", "c", 4)
        assert row.deficit is not None
    worse = next(row for row in rows if row.better == "lower")
    assert worse.deficit is not None
    assert abs(worse.deficit - 0.25) < 1e-12
    screen = io.StringIO()
    console(screen).print(table(rows))
    lines = screen.getvalue().splitlines()
    assert len(lines) == 3
    assert sorted(line.split()[-3:] for line in lines[1:]) == [["c", "20", "%"], ["c", "25", "%"]]


def test_figures_that_are_no_results_are_left_out(golden_run: Path) -> None:
    one = next(one for one in read_summaries(golden_run) if one.primary and one.valid)
    broken = one.model_copy(update={"valid": False, "reason": "wrong data"})
    rows = gather({"a": [one], "b": [broken]})
    assert [list(row.values) for row in rows] == [["a"]]
    assert rows[0].deficit is None
