"""The page in a real browser: it draws, it asks nobody, it runs nothing that came as data."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from hpcscope.engine.analysis import analyze
from hpcscope.findings.results import Run
from hpcscope.report.run import page
from tests.report import browser

pytestmark = pytest.mark.skipif(not browser.CHROMIUM, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def drawn(golden_run: Path, tmp_path_factory: pytest.TempPathFactory) -> browser.Opened:
    return browser.opened(page.write(Run(golden_run), tmp_path_factory.mktemp("page") / "report.html"))


def test_every_open_figure_is_drawn(drawn):
    keys = ["messages-latency_s", "messages-bandwidth_bytes_per_s", "collectives-by-size"]
    speedups = re.findall(r'data-figure="([^"]*-speedup-[^"]*)"', drawn.dom)
    assert speedups
    assert drawn.attribute("data-drawn") == str(drawn.dom.count('data-drawn="yes"'))
    for key in [*keys, *speedups[:6]]:
        figure = re.search(rf'data-figure="{key}"[^>]*data-drawn="yes"[^>]*>(.*?)</svg>', drawn.dom, re.DOTALL)
        assert figure is not None, key
        assert 'class="line"' in figure[1] or 'class="marker"' in figure[1]
        assert "NaN" not in figure[1]


def test_every_folded_figure_is_drawn_when_it_is_opened(golden_run, tmp_path):
    """All kinds of figures: curves, cells, bars, distributions, surfaces."""
    turning = "document.querySelectorAll('button.surface').forEach((one) => one.click())"
    text = browser.with_script(page.render(Run(golden_run)).replace("<details", "<details open"), turning)
    written = tmp_path / "report.html"
    written.write_text(text)
    seen = browser.opened(written)
    keys = set(browser.figures(text))
    assert len(keys) > 20
    assert seen.attribute("data-errors") is None
    assert seen.attribute("data-drawn") == str(len(keys))
    surfaces = text.count('class="surface"')
    assert surfaces
    assert seen.dom.count('class="drawn turning"') == surfaces
    assert seen.dom.count('class="drawn"') == len(keys) - surfaces
    assert seen.dom.count('class="facet"') >= 4 * surfaces
    assert seen.dom.count('class="level"') >= surfaces
    assert "NaN" not in seen.dom[: seen.dom.index('id="figures"')]
    for part in ("stack s", "ecdf s", "break-strip", "area", "axis"):
        assert f'class="{part}' in seen.dom or f"shape {part}" in seen.dom, part


def test_nothing_goes_wrong_and_nobody_is_asked(drawn):
    assert drawn.attribute("data-errors") is None
    assert drawn.console == []
    assert drawn.requests == []


def test_a_page_that_asks_and_complains_is_caught(tmp_path):
    """The instruments themselves: what they must see, they see."""
    leaky = tmp_path / "leaky.html"
    leaky.write_text(
        '<html><img src="http://example.test/a.png"><script>console.error("oh"); nothing()</script></html>'
    )
    seen = browser.opened(leaky)
    assert seen.requests == ["http://example.test/a.png"]
    assert len(seen.console) >= 2


def test_data_cannot_run_or_change_the_page(golden_copy, tmp_path):
    evil = "<script>document.documentElement.dataset.owned='yes'</script>"
    evil += "<img src=http://example.test/a onerror=alert(1)>"
    machine = json.loads((golden_copy / "machine.json").read_text())
    machine["hosts"][0]["name"] = evil
    machine["hosts"][0]["processor"]["model"] = evil
    machine["environment"] = {"OMPI_" + evil: "</script>" + evil}
    (golden_copy / "machine.json").write_text(json.dumps(machine))
    run = json.loads((golden_copy / "run.json").read_text())
    run["skipped"] = [{"benchmark": evil, "case": evil, "reason": evil}]
    (golden_copy / "run.json").write_text(json.dumps(run))
    text = (golden_copy / "samples.jsonl").read_text().replace('"node1"', json.dumps(evil))
    text = text.replace('"mode": "buffered"', '"mode": ' + json.dumps(evil))
    (golden_copy / "samples.jsonl").write_text(text)
    analyze(golden_copy)

    written = page.write(Run(golden_copy), tmp_path / "report.html")
    assert "<script>document" not in written.read_text()
    seen = browser.opened(written)
    assert seen.attribute("data-owned") is None
    assert seen.attribute("data-errors") is None
    assert seen.console == []
    assert seen.requests == []
    assert "dataset.owned" in seen.dom


WHOLE = "document.documentElement.classList.add('whole');"
"""What the button for it does before it prints."""


def test_printing_everything_opens_every_curve(golden_run, tmp_path):
    written = tmp_path / "report.html"
    text = page.render(Run(golden_run))
    written.write_text(browser.with_script(text, f"{WHOLE} dispatchEvent(new Event('beforeprint'))"))
    seen = browser.opened(written)
    assert seen.attribute("data-errors") is None
    assert seen.attribute("data-theme") == "light"
    assert seen.dom.count('data-drawn="yes"') == len(browser.figures(text))
    folded = re.findall(r'<details class="benchmark" id="[^"]*">(.*?)</details>', seen.dom, re.DOTALL)
    assert not any('class="plot"' in part for part in folded)


def test_it_prints(golden_run, tmp_path):
    written = page.write(Run(golden_run), tmp_path / "report.html")
    paper = browser.printed(written, tmp_path / "report.pdf")
    assert paper.startswith(b"%PDF")
    assert 3 <= paper.count(b"/Type /Page\n") <= 6
    written.write_text(browser.with_script(written.read_text(), WHOLE))
    assert browser.printed(written, tmp_path / "whole.pdf").count(b"/Type /Page\n") > 20


def test_a_run_without_anything_still_gives_a_page(golden_copy, tmp_path):
    first = next(line for line in (golden_copy / "samples.jsonl").read_text().splitlines())
    (golden_copy / "samples.jsonl").write_text(first + "\n")
    (golden_copy / "experiment.toml").unlink()
    analyze(golden_copy)
    seen = browser.opened(page.write(Run(golden_copy), tmp_path / "report.html"))
    assert seen.attribute("data-drawn") == "0"
    assert seen.attribute("data-errors") is None
    shutil.rmtree(golden_copy)
