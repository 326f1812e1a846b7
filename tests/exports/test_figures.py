"""Figures for papers: drawn by a real browser, complete without a style sheet, their data beside them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hpcscope.cli import dispatch
from hpcscope.report.figure import number
from hpcscope.statistics.summarise import read_summaries
from hpcscope.statistics.summary import headlines
from tests.report import browser

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.skipif(not browser.CHROMIUM, reason="no Chromium on this machine")
def test_every_figure_is_a_picture_of_its_own_with_its_data(golden_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    assert dispatch("export", ["figures", str(golden_run), "--only", "mpi.latency", "-o", str(folder)]) == 0
    pictures = sorted(folder.glob("*.svg"))
    assert (folder / "figures.pdf").read_bytes().count(b"/Type /Page\n") == len(pictures) > 3
    for one in pictures:
        root = ElementTree.fromstring(one.read_text())
        elements = list(root.iter())
        assert not any({"class", "style"} & set(each.attrib) for each in elements)
        assert "NaN" not in one.read_text()
        lines = [each for each in elements if each.tag == f"{SVG}path" and "stroke" in each.attrib]
        assert any(each.attrib["stroke"].startswith("rgb(") for each in lines)
        assert next(root.iter(f"{SVG}title")).text
        assert one.with_suffix(".csv").stat().st_size
    (latency,) = folder.glob("001-latency*.csv")
    points = {
        (float(row["message size"]), float(row["latency"]), float(row["low"]), float(row["high"]))
        for row in csv.DictReader(io.StringIO(latency.read_text()))
        if row["role"] == "points"
    }
    measured = {
        (
            float(one.parameters["message_bytes"]),
            *(number(value or 0.0) for value in (one.median, one.ci_low, one.ci_high)),
        )
        for one in headlines(read_summaries(golden_run))
        if (one.benchmark, one.metric) == ("mpi.latency", "latency_s")
    }
    assert {0.0, 1024.0} <= {size for size, *_ in points}
    assert points <= measured


def test_without_a_browser_it_says_so(
    golden_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert dispatch("export", ["figures", str(golden_run), "-o", str(tmp_path / "figures")]) == 2
    assert "chromium, " in capsys.readouterr().err
    assert not (tmp_path / "figures").exists()
