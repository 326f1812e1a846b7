"""Figures for papers: what is drawn is what was measured, in every format; several runs share a figure."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import pytest

import hpcscope
from hpcscope.cli import dispatch
from hpcscope.report.figure import number
from hpcscope.statistics.summarise import read_summaries
from hpcscope.statistics.summary import headlines


def latencies(run: Path) -> set[tuple[float, float, float, float]]:
    """Return size, median and interval of each latency, as figures have them."""
    return {
        (
            float(one.parameters["message_bytes"]),
            *(number(value or 0.0) for value in (one.median, one.ci_low, one.ci_high)),
        )
        for one in headlines(read_summaries(run))
        if (one.benchmark, one.metric) == ("mpi.latency", "latency_s")
    }


def test_the_table_of_a_figure_has_the_measured_values(
    golden_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch("figure", ["mpi.latency", "--run", str(golden_run), "--table"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    points = {tuple(float(row[name]) for name in ("message size", "latency", "low", "high")) for row in rows}
    assert {0.0, 1024.0} <= {size for size, *_ in points}
    assert points <= latencies(golden_run)
    assert "1024" in {row["message size"] for row in rows}  # a size is a whole number


def test_a_figure_has_a_line_for_each_series_and_a_band_behind_it(golden_run: Path) -> None:
    (axes,) = hpcscope.figure(golden_run, "mpi.latency", "transport=tcp").axes
    (line,) = [line for line in axes.lines if len(line.get_xdata()) > 2]
    drawn = {float(y) for y in line.get_ydata() if y == y}
    assert drawn <= {median for _, median, *_ in latencies(golden_run)}
    assert len(axes.patches) == 1
    assert axes.get_xscale() == axes.get_yscale() == "log"


@pytest.mark.parametrize(("kind", "begins"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_every_format_is_written(golden_run: Path, tmp_path: Path, kind: str, begins: bytes) -> None:
    file = tmp_path / f"latency.{kind}"
    asked = ["mpi.latency", "transport=tcp", "--run", str(golden_run), "-o", str(file)]
    assert dispatch("figure", asked) == 0
    assert file.read_bytes().startswith(begins)
    first = file.read_bytes()
    assert dispatch("figure", asked) == 0
    assert file.read_bytes() == first


def test_runs_share_a_figure_and_its_limit(golden_run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.symlink_to(golden_run)
    file = tmp_path / "two.svg"
    runs = ["--run", str(golden_run), "--run", str(other)]
    assert dispatch("figure", ["mpi.bandwidth", "transport=default", *runs, "-o", str(file)]) == 0
    text = file.read_text()
    assert f">{golden_run.name}<" in text
    assert ">other<" in text
    assert text.count(">limit: ") == 1


def test_what_cannot_be_drawn_is_refused(
    golden_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["--run", str(golden_run)]
    assert dispatch("figure", ["mpi.latency", *run]) == 2
    assert "--output: must end in .pdf or .svg or .png, but none was given" in capsys.readouterr().err
    assert dispatch("figure", ["mpi.barrier", *run, "-o", str(tmp_path / "x.pdf")]) == 2
    assert "has no curve" in capsys.readouterr().err
    two = ["mpi.latency", "node.stream", *run]
    assert dispatch("figure", [*two, "-o", str(tmp_path / "x.png")]) == 2
    assert "must have one figure, found" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert dispatch("figure", ["mpi.latency", *run, "-o", str(tmp_path / "x.pdf")]) == 2
    assert "pip install -r requirements/figure.txt" in capsys.readouterr().err
