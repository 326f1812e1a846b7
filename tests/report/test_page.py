"""What the page says, read without a browser."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from hpcscope.engine.analysis import analyze
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.report import wording
from hpcscope.report.figure import shown
from hpcscope.report.run import page
from hpcscope.report.run.figures.curves import certain_breaks
from hpcscope.report.run.results import results
from hpcscope.report.run.rows import COLUMNS, FIGURE
from hpcscope.rundirectory import RunDirectory
from tests import golden_run as golden
from tests.golden_truth import WRONG_DATA
from tests.messages import mentions
from tests.report import browser

ORDER = ["ladder", "findings", "trust", "speedups", "collectives",
         "level-node", "level-network", "level-mpi", "level-operation", "level-algorithm",
         "distributions", "models", "figures-all", "method", "provenance", "skipped"]  # fmt: skip


@pytest.fixture(scope="module")
def text(golden_run: Path) -> str:
    return page.render(Run(golden_run))


def traces(text: str, figure: str, role: str) -> list[dict[str, Any]]:
    return [one for one in browser.figures(text)[figure]["data"] if one["meta"]["role"] == role]  # type: ignore[index]


def test_the_page_is_whole_and_small(text):
    assert len(text.encode()) < 2_000_000
    # The name of SVG is the only text that looks like an address.
    assert set(re.findall(r"(?:https?:)?//[a-z][\w./]*", text)) == {"http://www.w3.org/2000/svg"}
    assert re.findall(r"<(?:link|script|img|iframe|object|embed)[^>]*(?:href|src)=\"([^\"]*)\"", text) == [
        "data:,"
    ]


def test_sections_stand_in_their_order(text):
    places = [text.index(f'<section id="{name}">') for name in ORDER]
    assert places == sorted(places)


def test_every_figure_has_its_table_and_its_caption(text):
    figures = re.findall(r"<figure .*?</figure>", text, re.DOTALL)
    assert len(figures) > 30
    for figure in figures:
        assert "<details><summary>Table</summary>" in figure
        assert re.search(r'<p class="caption">[^<]{10,}</p>', figure)
        assert figure.count("<td>") > 0


def test_the_ladder_shows_what_each_layer_keeps(text, golden_run):
    said = Run(golden_run)
    drawn = text[text.index('<section id="ladder">') : text.index('<section id="findings">')]
    rungs = [rung for ladder in said.models.ladders for rung in ladder.rungs]
    assert drawn.count('class="rung ') == len(rungs)
    assert drawn.count('class="bar"') == sum(rung.value is not None for rung in rungs)
    without = [rung.reason for rung in rungs if rung.value is None]
    assert without
    assert all(reason and reason in html.unescape(drawn) for reason in without)


def test_every_finding_is_there_worst_first(text, golden_run):
    findings = Run(golden_run).findings
    assert findings
    titles = [
        html.unescape(one)
        for one in re.findall(r'<(?:li class="cause|details class="finding) .*?<h3>(.*?)</h3>', text, re.DOTALL)
    ]
    assert sorted(titles) == sorted(finding.title for finding in findings)
    place = {one.title: (one.about, list(wording.SEVERITIES).index(one.severity)) for one in findings}
    order = [place[title] for title in titles]
    assert order == sorted(order)
    trust = text[text.index("How far to trust this run") :]
    measurement = [one.title for one in findings if one.about == "measurement"]
    assert measurement
    assert all(html.escape(title, quote=False).split("`")[0] in html.unescape(trust) for title in measurement)


def test_the_protocol_switch_is_marked_and_not_joined(text):
    figure = "mpi.latency-latency_s-0"
    layout = browser.figures(text)[figure]["layout"]
    lines = [shape for shape in layout["shapes"] if shape["meta"] == "break"]  # type: ignore[call-overload]
    assert [line["x0"] for line in lines] == [20480]
    fit = next(one for one in traces(text, figure, "fit") if 16384 in one["x"] and 20480 in one["x"])
    between = fit["x"][fit["x"].index(16384) + 1 : fit["x"].index(20480)]
    assert between == [None]
    points = next(
        one for one in traces(text, figure, "points") if "standard" in one["name"] and "tcp" not in one["name"]
    )
    assert points["x"][points["x"].index(16384) + 1] is None


def test_captions_say_which_model_and_which_break(text):
    figure = re.search(r'<figure [^>]*id="mpi.latency-latency_s-0".*?</figure>', text, re.DOTALL)
    assert figure is not None
    assert "piecewise Hockney" in figure[0]
    assert "between 16 KiB and 20 KiB" in figure[0]
    assert "between 16 KiB and 20 KiB: a jump of" in text
    assert "t_oc_s: overhead of a call" in text, "symbols are defined where they are used"


def test_a_placement_that_follows_from_the_ranks_splits_no_curve(golden_copy):
    """More ranks than cores are not bound; they stand on the same curve all the same."""
    samples = golden_copy / "samples.jsonl"
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    lines = [line for line in lines if line.get("benchmark", "mpi.barrier") == "mpi.barrier"]
    for line in lines:
        if line["record"] == "launch" and line["ranks"] == 16:
            line["placement"] = "none"
    samples.write_text("\n".join(map(json.dumps, lines)) + "\n")
    analyze(golden_copy)
    barrier = browser.figures(page.render(Run(golden_copy)))["mpi.barrier-time_s-ranks-0"]["data"]
    assert [one["x"] for one in barrier if one["meta"]["role"] == "points"] == [[2, 3, 4, 6, 8, 12, 16]]  # type: ignore[index]


def test_points_and_bands_are_the_figures_of_the_statistics(text, golden_run):
    """The report computes nothing: what is drawn is what the file says, to six digits."""
    summaries = [one for one in results(Run(golden_run), "node.stream") if one.metric == "time_s"]
    medians = {float(f"{one.median:.6g}") for one in summaries}
    drawn = {y for key, figure in browser.figures(text).items() if key.startswith("node.stream-time_s")
             for trace in figure["data"] if trace["meta"]["role"] == "points" for y in trace["y"] if y}  # type: ignore[index,attr-defined]  # fmt: skip
    assert drawn == medians


def test_a_failed_case_is_in_no_figure_and_is_named(text):
    drawn = browser.figures(text)["mpi.broadcast-time_s-0"]["data"]
    sixteen = next(one for one in drawn if one["name"] == "16 ranks" and one["meta"]["role"] == "points")  # type: ignore[index]
    assert 1048576 not in sixteen["x"]  # type: ignore[operator]
    assert WRONG_DATA in text


def test_all_modes_definitions_phases_and_caches_are_shown(text):
    for mode in ("standard", "buffered", "synchronous", "ready"):
        assert re.search(rf'<span class="name">[^<]*{mode}', text)
    for definition in ("global (headline)", "slowest rank", "mean over ranks", "streaming", "barrier loop"):
        assert f'<span class="name">{definition}</span>' in text
    bars = {trace["name"] for trace in traces(text, "algorithm.matmul_cannon-phases", "bar")}
    assert bars == {"initialize", "distribute", "compute", "exchange", "collect", "idle"}
    shapes = browser.figures(text)["node.stream-bandwidth_bytes_per_s-0"]["layout"]["shapes"]  # type: ignore[call-overload]
    assert {shape["x0"] for shape in shapes if shape["meta"] == "cache"} >= {1048576, 16777216}


def test_distributions_have_a_line_for_each_launch(text):
    shown = [key for key in browser.figures(text) if key.startswith("distribution-")]
    assert 4 <= len(shown) <= 8
    for key in shown:
        assert len(traces(text, key, "ecdf")) == 6


def test_the_large_table_has_each_case_once_and_every_figure(text, golden_run):
    packed = browser.data(text, "rows")
    summaries = Run(golden_run).statistics
    headline = [one for one in summaries if one.primary]
    words = packed["words"]
    rows = [(flags & 2, [words[index] for index in texts]) for flags, texts, _ in packed["rows"]]
    assert {len(texts) for _, texts in rows} == {len(COLUMNS) + 1}
    cases = [texts for joined, texts in rows if joined]
    assert len(cases) == len({one.key for one in headline})
    assert len(rows) - len(cases) == len(summaries) - len(headline)
    assert len({texts[-1] for texts in cases}) == len(cases)
    median = [name for name, _ in COLUMNS].index(FIGURE)
    lines = [line for _, texts in rows for line in texts[median].split("\n")]
    for one in summaries:
        assert (shown(one) if one.valid else "no result") in lines


def test_provenance_names_what_is_needed_to_repeat(text):
    part = html.unescape(text[text.index('<section id="provenance">') :])
    for word in ("Golden Processor", "openmpi 5.0.11", "g++ 12.2.0", "-O2", "seed = 20001", "0123456789abcdef",
                 "scope run --module baseline", "Open MPI v5.0.11", "8.00 ns"):  # fmt: skip
        assert word in part, word
    assert mentions(part, "32 ranks, ... 16 cores")


LAB = {
    "name": "pair",
    "title": "Two clusters",
    "links": [
        {
            "link": "ports of a",
            "declared_bytes_per_s": 1e6,
            "measured_bytes_per_s": 0.94e6,
            "processor_share": 0.71,
        }
    ],
    "relayed": [{"link": "trunk a-b", "frames": 1200, "late_median_us": 1.5, "late_p99_us": 20.0}],
    "faults": ["a1 slow out (5 Mbit/s)"],
}


def test_what_was_not_measured_is_labelled_on_every_figure(golden_copy):
    samples = golden.shorten(golden_copy, most_ranks=4) / "samples.jsonl"
    samples.write_text(samples.read_text().replace('"origin": "measured"', '"origin": "emulated"'))
    machine = golden_copy / "machine.json"
    machine.write_text(json.dumps(json.loads(machine.read_text()) | {"lab": LAB}))
    analyze(golden_copy)
    text = page.render(Run(golden_copy))
    figures = re.findall(r"<figure .*?</figure>", text, re.DOTALL)
    assert figures
    for figure in figures:
        assert '<span class="badge origin">emulated</span>' in figure
    plots = re.findall(r'data-origins="([^"]*)"', text)
    assert plots
    assert set(plots) == {"emulated", "emulated, simulated"}  # the latter beside predictions
    assert "emulated" in contents_sentence(text)
    provenance = html.unescape(text[text.index('<section id="provenance">') :])
    for word in ("Two clusters (pair)", "a1 slow out (5 Mbit/s)", "1.00 MB/s", "940 kB/s", "-6.0 %", "71 %",
                 "1200 frames, delayed by 1.50 µs (median), 20.0 µs (99th percentile)"):  # fmt: skip
        assert word in provenance, word


def contents_sentence(text: str) -> str:
    return text[text.index("module") : text.index("</p>", text.index("module"))]


def test_a_cut_line_and_an_interrupted_run_are_said(golden_copy):
    samples = golden.shorten(golden_copy) / "samples.jsonl"
    samples.write_text(samples.read_text()[:-200])
    run = json.loads((golden_copy / "run.json").read_text())
    (golden_copy / "run.json").write_text(json.dumps(run | {"status": "interrupted", "finished_unix_s": None}))
    analyze(golden_copy)
    text = page.render(Run(golden_copy))
    status, cut, *_ = re.findall(r'<p class="alert">(.*?)</p>', text)
    assert "interrupted" in status
    assert "samples.jsonl" in cut


@pytest.mark.parametrize(
    "name", ["run.json", "machine.json", "benchmarks.json", "models.json", "findings.json", "statistics.json"]
)
def test_a_missing_or_future_file_is_named_in_one_line(golden_run, tmp_path, name):
    run = Path(shutil.copytree(golden_run, tmp_path / "run"))
    (run / name).unlink()
    with pytest.raises(UsageError, match=re.escape(name)) as caught:
        page.write(Run(run))
    assert "\n" not in str(caught.value)
    assert not RunDirectory(run).report.exists()
    if name not in ("benchmarks.json", "machine.json"):
        content = json.loads((golden_run / name).read_text()) | {"format": 99}
        (run / name).write_text(json.dumps(content))
        (run / "checksums.sha256").unlink()
        with pytest.raises(UsageError, match="99"):
            page.write(Run(run))


def test_a_run_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match="nowhere: does not exist"):
        page.write(Run(tmp_path / "nowhere"))
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="file: "):
        page.write(Run(tmp_path / "file"))


def test_a_step_that_is_small_for_certain_is_no_break(golden_run):
    models = Run(golden_run).models
    fit = next(fit for fit in models.fits if fit.chosen and certain_breaks(fit))
    (one, *_) = certain_breaks(fit)
    behind_s = next(point.measured for point in fit.points if point.x == one.first_after)
    for share, marked in ((0.2, True), (-0.2, True), (0.05, False), (-0.05, False)):
        step = one.jump_s.model_copy(
            update={"value": 3 * share * behind_s, "low": min(share, 5 * share) * behind_s}
        )
        step = step.model_copy(update={"high": max(share, 5 * share) * behind_s})
        changed = one.model_copy(update={"jump_s": step})
        assert bool(certain_breaks(fit.model_copy(update={"breakpoints": [changed]}))) == marked
