"""A machine that changed its state: the strip over time, and the mark on every figure that mixes states."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

from hpcscope.engine.analysis import analyze
from hpcscope.findings.results import Run
from hpcscope.report.run import page
from hpcscope.report.terminal.console import console
from hpcscope.report.terminal.listing import listing
from hpcscope.report.terminal.verdict import verdict
from hpcscope.report.validity import MIXED, MIXED_NOTE
from hpcscope.statistics.summarise import read_statistics, read_summaries
from tests import golden_run as golden
from tests.declared import catalog
from tests.report import browser
from tests.statistics.test_summarise import slowed


def with_sentinel(run: Path, slow_from: int, factor: float) -> None:
    """Let the sentinel be measured before every tenth case; it is slower from a launch on."""
    lines = []
    for number, line in enumerate((run / "samples.jsonl").read_text().splitlines()):
        record = json.loads(line)
        if record["record"] == "case" and number % 10 == 0:
            slower = factor if record["launch"] >= slow_from else 1.0
            sentinel = {"record": "sentinel", "launch": record["launch"], "attempt": 1, "duration_s": 0.003}
            sentinel |= {"started_unix_s": record["started_unix_s"], "ranks_kept": [0]}
            lines.append(json.dumps(sentinel | {"arithmetic_s": [0.002 * slower], "memory_s": [1e-4]}))
        lines.append(line)
    (run / "samples.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def changed(golden_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden run on a machine that took twice as long in the later half."""
    run = Path(shutil.copytree(golden_raw, tmp_path_factory.mktemp("states") / "golden"))
    count = sum('"record": "launch"' in line for line in (run / "samples.jsonl").read_text().splitlines())
    slowed(run, range(count // 2 + 1, count + 1), 2.0)
    with_sentinel(run, count // 2 + 1, 2.0)
    analyze(run)
    return run


@pytest.fixture(scope="module")
def text(changed: Path) -> str:
    return page.render(Run(changed))


def test_the_strip_shows_states_launches_and_the_sentinel(changed: Path, text: str) -> None:
    course = read_statistics(changed).course
    assert course is not None
    assert [state.sentinel_s["arithmetic"] for state in course.states] == pytest.approx([0.002, 0.004])
    strip = browser.figures(text)["machine-states"]
    names = [one["name"] for one in strip["data"]]
    assert names == ["typical case", "sentinel, arithmetic", "sentinel, memory"]
    arithmetic = strip["data"][1]["y"]
    assert min(arithmetic) == pytest.approx(1)
    assert max(arithmetic) == pytest.approx(2)
    kinds = [shape["meta"] for shape in strip["layout"]["shapes"]]
    assert kinds.count("slow-state") == 1
    assert kinds.count("launch") > golden.LAUNCHES
    trust = text[text.index('id="trust"') : text.index("</section>", text.index('id="trust"'))]
    assert '<details class="further" open>' in trust[: trust.index('id="machine-states"')]


@pytest.mark.skipif(not browser.CHROMIUM, reason="no Chromium on this machine")
def test_a_browser_draws_the_strip(changed: Path, tmp_path: Path) -> None:
    opened = browser.opened(page.write(Run(changed), tmp_path / "report.html"))
    assert opened.attribute("data-errors") is None
    strip = opened.dom[opened.dom.index('id="machine-states"') :]
    assert 'data-drawn="yes"' in strip[: strip.index("</figure>")]


def test_one_finding_stands_first_among_those_about_the_measurement(changed: Path) -> None:
    first = next(one for one in Run(changed).findings if one.about == "measurement")
    assert first.code == "machine-states"


def test_every_figure_that_mixes_states_is_marked(changed: Path, text: str) -> None:
    rungs = [rung for ladder in Run(changed).models.ladders for rung in ladder.rungs]
    mixed = sum(rung.mixes_states for rung in rungs)
    assert mixed > len(rungs) / 2
    ladders = text[text.index('<section id="ladder">') : text.index('<section id="findings">')]
    assert ladders.count('class="mixed"') == mixed
    assert MIXED_NOTE in ladders
    latency, barrier = (
        next(figure for figure in text.split("<figure ") if f'id="{key}"' in figure[:80])
        for key in ("mpi.latency-latency_s-0", "mpi.barrier-time_s-ranks-0")
    )
    assert 'class="mixed"' in latency
    assert MIXED not in barrier


def test_the_terminal_marks_them_too(changed: Path) -> None:
    lines = [line.plain for line in verdict(Run(changed))]
    assert any(line.endswith(MIXED_NOTE) for line in lines)
    assert any(MIXED in line for line in lines if MIXED_NOTE not in line)
    screen = io.StringIO()
    console(screen).print(listing(read_summaries(changed), catalog()))
    listed = screen.getvalue()
    assert MIXED in listed.replace(MIXED_NOTE, "")
    assert MIXED_NOTE in listed


def test_a_steady_machine_has_a_strip_and_no_mark(golden_run: Path) -> None:
    text = page.render(Run(golden_run))
    shapes = browser.figures(text)["machine-states"]["layout"]["shapes"]
    assert {shape["meta"] for shape in shapes} == {"launch"}
    assert MIXED not in text
    assert not any(MIXED in line.plain for line in verdict(Run(golden_run)))
