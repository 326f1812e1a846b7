"""The terminal's verdict and tables: aligned, complete, and plain where there is no terminal."""

from __future__ import annotations

import html
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from rich.cells import cell_len

from hpcscope import units
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.report.run import page
from hpcscope.report.run.results import results
from hpcscope.report.run.selection import select
from hpcscope.report.terminal import cases, verdict
from hpcscope.report.terminal.console import Screen, console
from hpcscope.report.terminal.listing import listing, rows
from hpcscope.rundirectory import RunDirectory
from hpcscope.settings.selection import CaseKind
from hpcscope.statistics.summarise import read_summaries
from tests.declared import catalog
from tests.golden_truth import WRONG_DATA
from tests.messages import mentions

KEYS = {
    *(
        "benchmark",
        "parameters",
        "ranks",
        "metric",
        "unit",
        "better",
        "median",
        "ci_low",
        "ci_high",
        "n",
        "origin",
    ),
    *("valid", "definition", "primary", "transport", "placement", "launches"),
    *("minimum", "mean", "maximum"),
}


def said(run: Path) -> list[str]:
    screen = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    verdict.show(Run(run), console(screen))
    screen.seek(0)
    return screen.read().splitlines()


def test_the_verdict_fits_and_needs_no_color(golden_run):
    lines = said(golden_run)
    assert all("\x1b" not in line for line in lines)
    assert max(cell_len(line) for line in lines if not line.startswith("Report")) <= 100
    for words in ("golden", "node1", "55 %", "longer is better", "shorter is better", "worst first"):
        assert any(words in line for line in lines), words


def test_bars_start_and_figures_end_in_one_column(golden_run):
    bars = [line for line in said(golden_run) if "█" in line or "▏" in line]
    assert len({re.search("[█▉▊▋▌▍▎▏]", line).start() for line in bars}) == 1
    shares = [line.index("delivers") for line in bars if "delivers" in line]
    assert len(set(shares)) == 1


def test_bars_are_as_long_as_the_values(golden_run):
    ladder = Run(golden_run).models.ladders[0]
    lengths = [sum(character in "█▉▊▋▌▍▎▏" for character in line) for line in said(golden_run)]
    lengths = [length for length in lengths if length][:4]
    values = [rung.value for rung in reversed(ladder.rungs)]
    assert all(value is not None for value in values)
    for length, value in zip(lengths, values, strict=True):
        assert length == pytest.approx(33 * value / max(values), abs=1)


def test_findings_are_worst_first_and_the_rest_is_counted(golden_run):
    every = Run(golden_run).findings
    findings = [one for one in every if one.about == "cluster"]
    lines = said(golden_run)
    assert any(" trust " in line for line in lines) == (len(findings) < len(every))
    start = next(index for index, line in enumerate(lines) if "worst first" in line)
    block = lines[start + 1 : next(at for at in range(start, len(lines)) if lines[at] == "")]
    assert len(block) <= 15
    assert len(lines) <= 50
    assert block[0].split()[0] == findings[0].severity
    text = " ".join(" ".join(block).split())
    shown = sum(line.split()[0] in ("error", "warning", "advice", "information") for line in block)
    shown += sum(int(number) for number in re.findall(r"\(and (\d+) more findings? of this kind\)", text))
    if shown < len(findings):
        assert f"and {len(findings) - shown} more finding" in block[-1]


def test_many_findings_of_one_kind_are_told_once(golden_run):
    known = Run(golden_run)
    one = next(finding for finding in known.findings if finding.severity == "warning").model_copy(
        update={"also": []}
    )
    many = [one.model_copy(update={"title": f"number {index}", "code": "alike"}) for index in range(60)]
    kinds = [one.model_copy(update={"title": f"kind {index}", "code": f"kind-{index}"}) for index in range(40)]
    lines = [line.plain for line in verdict.verdict(known.replaced(findings=[*many, *kinds]))]
    assert sum("number" in line for line in lines) == 1
    assert any(mentions(line, "number 0 ... 59 more") for line in lines)
    told = sum(line.split()[1:2] == ["kind"] for line in lines)
    assert any(f"and {40 - told} more findings" in line for line in lines)
    assert len(lines) <= 50


def test_an_optimized_build_below_the_minimum_configuration_is_labelled(golden_run, tmp_path):
    run = RunDirectory(Path(shutil.copytree(golden_run, tmp_path / "run")))
    plain = "\n".join(said(run.path))
    assert "Optimized measurement" not in plain
    assert "minimum configuration" not in plain
    machine, record = json.loads(run.machine.read_text()), json.loads(run.run.read_text())
    machine["build"]["flags"] = "-O3 -std=c++20"
    record["lacks"] = [{"resource": "slots", "needed": "4", "found": "2"}]
    record["skipped"].append({"benchmark": "mpi.x", "case": "ranks=4", "reason": "few", "resource": "slots"})
    run.machine.write_text(json.dumps(machine))
    run.run.write_text(json.dumps(record))
    lines = said(run.path)
    text = html.unescape(page.render(Run(run.path)))
    for parts in (("Optimized", "-O3", "-O2"), ("minimum configuration", "2 of 4 slots", "1 case")):
        (line,) = (one for one in lines if all(part in one for part in parts))
        assert line in text, "page and terminal say the same"
    assert "-O3 -std=c++20" in text


def test_the_page_is_named_once_it_is_there(golden_run, tmp_path):
    run = Path(shutil.copytree(golden_run, tmp_path / "run"))
    assert "scope report" in said(run)[-1]
    page.write(Run(run))
    assert said(run)[-1].endswith(str(run / "report.html"))


@pytest.mark.parametrize("width", [70, 80, 100])
def test_it_is_as_wide_as_the_terminal(golden_run, width):
    lines = [line.plain for line in verdict.verdict(Run(golden_run), width=width)]
    assert width - 10 < max(cell_len(line) for line in lines if not line.startswith("Report")) <= width


def test_without_block_characters_the_bars_are_plain(golden_run):
    plain = [line.plain for line in verdict.verdict(Run(golden_run), blocks=False)]
    assert any("####" in line for line in plain)
    assert not any("█" in line for line in plain)


def test_a_name_cannot_steer_the_terminal(golden_run, tmp_path):
    run = Path(shutil.copytree(golden_run, tmp_path / "run"))
    machine = json.loads((run / "machine.json").read_text())
    machine["hosts"][0]["name"] = "node\x1b[2J\x07[red]1"
    (run / "machine.json").write_text(json.dumps(machine))
    text = "\n".join(said(run))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]1" in text


def test_a_pipe_gets_whole_lines(golden_run):
    screen = io.StringIO()
    console(screen).print(listing(read_summaries(golden_run), catalog()))
    text = screen.getvalue()
    assert "…" not in text
    assert "\x1b" not in text
    assert "mpi.barrier" in text
    assert f"failed: {WRONG_DATA}" in text


def test_a_case_can_be_measured_again_as_it_is_printed(golden_run):
    screen = io.StringIO()
    chosen = select(
        read_summaries(golden_run), ["mpi.latency", "mode=ready", "message_bytes=1Ki", "metric=latency_s"]
    )
    console(screen).print(listing(chosen[:1], catalog(), verbose=True))
    text = screen.getvalue()
    assert "ping-pong  mpi.latency  latency" in text
    assert "ready, 1 KiB" in text
    request = re.search(r"mpi\.latency mode=ready [^\n]*message_bytes=1Ki[^\n]*", text)
    assert request is not None
    read = CaseKind().read(request[0].strip())
    assert read.benchmark == "mpi.latency"
    assert read.factors["ranks"] == ["2"]
    assert {name: read.factors[name] for name in chosen[0].parameters if name in read.factors}


def test_json_rows_have_the_keys_that_others_rely_on(golden_run):
    found = rows(read_summaries(golden_run))
    assert found
    assert all(set(row) >= KEYS for row in found)
    assert all(isinstance(row["parameters"], dict) for row in found)


def test_numbers_are_sorted_by_size(golden_run):
    chosen = select(
        read_summaries(golden_run), ["mpi.latency", "mode=standard", "transport=tcp", "metric=latency_s"]
    )
    sizes = [row["parameters"]["message_bytes"] for row in rows(chosen)]
    assert sizes == sorted(sizes)
    assert len(sizes) > 10


@pytest.mark.parametrize(
    ("patterns", "benchmarks"),
    [
        (["mpi"], {"mpi.latency", "mpi.bandwidth", "mpi.comms2", "mpi.barrier", "mpi.broadcast"}),
        (["mpi.b*"], {"mpi.bandwidth", "mpi.barrier", "mpi.broadcast"}),
        (["node.timer", "mpi.barrier"], {"node.timer", "mpi.barrier"}),
        (["message_bytes=1Ki", "ranks=2", "mode=sync*"], {"mpi.latency"}),
    ],
)
def test_patterns_choose(golden_run, patterns, benchmarks):
    assert {one.benchmark for one in select(read_summaries(golden_run), patterns)} == benchmarks


@pytest.mark.parametrize(
    ("patterns", "words"),
    [
        (["mpi.latncy"], ["PATTERN = mpi.latncy", "mpi.latency"]),
        (["mpi.latency", "color=red"], ["color", "message_bytes"]),
        (["mpi.latency", "mode=fast"], ["mode=fast", "standard"]),
        (["=fast"], ["key=value"]),
    ],
)
def test_a_pattern_that_fits_nothing_names_what_would(golden_run, patterns, words):
    with pytest.raises(UsageError) as caught:
        select(read_summaries(golden_run), patterns)
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_a_small_run_shows_what_was_asked_for(golden_run: Path) -> None:
    run = Run(golden_run)
    chosen = [one for one in run.statistics.primary if one.benchmark == "mpi.latency"][:5]
    few = run.replaced(statistics=chosen)
    shown = [line.plain for line in cases.lines(few)]
    expected = [one for one in results(few, "mpi.latency") if one.metric == "latency_s"]
    assert len(expected) == sum("[" in line for line in shown)
    for one in expected:
        assert any(units.interval(one.median, one.ci_low, one.ci_high, one.unit) in line for line in shown)
    many = run.replaced(statistics=chosen * cases.MOST)
    assert list(cases.lines(many)) == []


def test_best_and_mean_stand_beside_the_median(golden_run: Path) -> None:
    screen = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    chosen = [one for one in read_summaries(golden_run) if one.mean is not None]
    console(screen).print(listing(chosen, catalog()))
    screen.seek(0)
    lines = [re.split(" {2,}", line.strip()) for line in screen.read().splitlines()]
    assert {one.better for one in chosen} == {"higher", "lower"}
    for one in chosen:
        best = one.maximum if one.better == "higher" else one.minimum
        cells = [*(units.quantity(value, one.unit) for value in (best, one.mean)), str(one.n), str(one.launches)]
        assert any(line[-len(cells) :] == cells or line[-len(cells) - 1 : -1] == cells for line in lines)


@pytest.mark.parametrize("columns", [80, 100])
def test_a_narrow_screen_cuts_no_value(golden_run: Path, columns: int) -> None:
    screen = Screen(file=io.StringIO(), width=columns)
    chosen = [one for one in read_summaries(golden_run) if one.primary and one.valid]
    screen.print(listing(chosen, catalog()))
    lines = screen.file.getvalue().splitlines()
    for one in chosen:
        assert any(units.interval(one.median, one.ci_low, one.ci_high, one.unit) in line for line in lines)
