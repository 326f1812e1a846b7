r"""The figures of the report for papers: an SVG of each, a PDF of all, and their data as comma-separated values.

The report's own script draws them, in this machine's Chromium or Chrome; panels of bars, which the report sets as
HTML, are left out. Each page of the PDF is a figure, which `\includegraphics[page=2]{figures.pdf}` takes.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from hpcscope.errors import ScopeError, UsageError
from hpcscope.exchange.exports import only
from hpcscope.findings.results import Run
from hpcscope.report.figure import Figure, Plot
from hpcscope.report.frame import alone
from hpcscope.report.run import page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE_S = 120
_LONGEST_NAME = 60
_ZERO = "0 B"
"""The tick at which a logarithmic axis draws size 0."""


def write(runs: Sequence[Run]) -> dict[str, bytes]:
    """Return the figures of one run by the names of their files; UsageError where no browser is installed."""
    figures = _figures(only(runs, "figures"))
    if not figures:
        raise UsageError(f"{runs[0].record.name}: has no figure of these results")
    text = alone(figures)
    with tempfile.TemporaryDirectory() as folder:
        sheet = Path(folder) / "figures.html"
        sheet.write_text(text, encoding="utf-8")
        dom = _browsed(sheet, "--dump-dom")
        _browsed(sheet, "--no-pdf-header-footer", f"--print-to-pdf={folder}/figures.pdf")
        pdf = sheet.with_suffix(".pdf").read_bytes()
    match = re.search(r'<script type="application/json" id="written">(.*?)</script>', dom, re.DOTALL)
    if match is None:
        raise ScopeError("figures: the browser did not draw them")
    drawn = json.loads(match[1])
    files = {"figures.pdf": pdf}
    for number, figure in enumerate(figures, start=1):
        title = re.sub(r"[^A-Za-z0-9]+", "-", figure.title).strip("-").lower()
        name = f"{number:03d}-{title[:_LONGEST_NAME].rstrip('-')}"
        files[f"{name}.svg"] = drawn[figure.key].encode() + b"\n"
        files[f"{name}.csv"] = _data(figure).encode()
    return files


def _figures(run: Run) -> list[Figure]:
    """Return the figures of the chosen results."""
    names = {summary.benchmark for summary in run.statistics}
    models = run.models
    chosen = models.model_copy(
        update={
            "fits": [fit for fit in models.fits if fit.subject.benchmark in names],
            "speedups": [speedup for speedup in models.speedups if speedup.subject.benchmark in names],
        }
    )
    return page.figures(run.replaced(models=chosen))


def _browsed(sheet: Path, *options: str) -> str:
    """Open a page in the browser and return what it printed; it asks no other host for anything."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise UsageError(f"figures: needs a browser to draw them, one of {', '.join(BROWSERS)} on PATH")
    quiet = ["--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    quiet += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={sheet.parent / 'profile'}"]
    quiet += ["--no-sandbox"] if os.geteuid() == 0 else []  # with which it does not start as root
    try:
        ended = subprocess.run(
            [browser, *quiet, *options, sheet.as_uri()],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
        )
    except subprocess.TimeoutExpired as error:
        raise ScopeError(f"figures: {browser} did not end within {PATIENCE_S} s") from error
    if ended.returncode != 0:
        last = (ended.stderr.strip().splitlines() or ["without a word"])[-1]
        raise ScopeError(f"figures: {browser} ended with {ended.returncode}: {last}")
    return ended.stdout


def _data(figure: Figure) -> str:
    """Return what a figure draws: a line for each point, intervals where it has whiskers or a band."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\r\n")
    axes = [figure.layout.get(name, {}).get("title", {}).get("text", "") for name in ("xaxis", "yaxis")]
    lines.writerow(["role", "series", axes[0] or "x", axes[1] or "y", "low", "high", "value"])
    axis = figure.layout.get("xaxis", {})
    places = zip(axis.get("tickvals", ()), axis.get("ticktext", ()), strict=False)
    zero = next((place for place, word in places if word == _ZERO), None)
    bands = {trace.get("name"): _ends(trace) for trace in figure.traces if trace["meta"]["role"] == "band"}
    for trace in figure.traces:
        if trace["meta"]["role"] == "band":
            continue
        for x, y, *rest in _points(trace, bands.get(trace.get("name"), {})):
            at_zero = zero is not None and isinstance(x, float) and math.isclose(x, zero, rel_tol=1e-5)
            lines.writerow([trace["meta"]["role"], trace.get("name", ""), 0 if at_zero else x, y, *rest])
    return text.getvalue()


def _ends(band: Plot) -> dict[float, tuple[float, float]]:
    """Return the ends of the interval at each place of a band, whose outline passes every place twice."""
    ends: dict[float, tuple[float, float]] = {}
    for x, y in zip(band["x"], band["y"], strict=True):
        if x is not None and y is not None:
            low, high = ends.get(x, (y, y))
            ends[x] = (min(low, y), max(high, y))
    return ends


def _points(trace: Plot, band: dict[float, tuple[float, float]]) -> Iterator[tuple[object, ...]]:
    """Yield x, y, the ends of the interval, and the value of a cell."""
    if "z" in trace:
        for y, row in zip(trace["y"], trace["z"], strict=True):
            for x, value in zip(trace["x"], row, strict=True):
                yield x, y, "", "", "" if value is None else value
        return
    bars = trace.get("error_y", {})
    for at, (x, y) in enumerate(zip(trace["x"], trace["y"], strict=True)):
        if x is not None and y is not None:
            whiskers = (y - bars["arrayminus"][at], y + bars["array"][at]) if bars else ("", "")
            yield x, y, *band.get(x, whiskers), ""
