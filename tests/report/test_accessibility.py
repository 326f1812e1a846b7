"""Every kind of page, light and dark, wide and narrow, by the rules of axe-core."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from hpcscope.comparison.compare import compare, read_side
from hpcscope.comparison.efficiency import efficiencies
from hpcscope.findings.results import Run
from hpcscope.report.comparison import page as comparison_page
from hpcscope.report.comparison import side_by_side as side_by_side_page
from hpcscope.report.run import page as run_page
from hpcscope.report.topology import page as topology_page
from tests.campaign import test_page as campaign
from tests.comparison.test_side_by_side import beside, three
from tests.health import test_verdict as health
from tests.report import browser
from tests.report.test_profile_page import everything
from tests.topology.test_topology_file import GOOD, from_text

AXE = Path(__file__).parents[2] / ".node" / "node_modules" / "axe-core" / "axe.min.js"
"""Installed by `.ci/run`, as requirements/package.json says."""
WIDTHS = (1400, 420)

NEEDS_A_BROWSER_AND_AXE = [
    pytest.mark.skipif(not browser.CHROMIUM, reason="no Chromium on this machine"),
    pytest.mark.skipif(not AXE.exists(), reason=f"no {AXE.name} (npm, requirements/package.json)"),
]
pytestmark = NEEDS_A_BROWSER_AND_AXE

AUDIT = """;
const settled = () => new Promise((drawn) => {
  const wait = () => (document.documentElement.dataset.drawn ? setTimeout(drawn, 300) : setTimeout(wait, 50));
  wait();
});
addEventListener("load", async () => {
  const folded = [...document.querySelectorAll("details")];
  const alike = folded.filter((one) => one.matches(".benchmark, .exact, .finding, .figure > details"));
  folded.filter((one) => !alike.includes(one) || alike.indexOf(one) < 12).forEach((one) => { one.open = true; });
  await settled();
  document.querySelectorAll("tbody").forEach((body) => [...body.rows].slice(4).forEach((row) => row.remove()));
  const found = [];
  const audit = async (theme, options) => {
    document.documentElement.dataset.theme = theme;
    const { violations } = await axe.run({ resultTypes: ["violations"], ...options });
    for (const { id, nodes } of violations)
      for (const { target, any, all, none } of nodes)
        found.push(`${theme}: ${id}: ${target.join(" ")}: ${(any[0] ?? all[0] ?? none[0])?.message}`);
  };
  if (innerWidth > 1000) {
    await audit("light", {});
    await audit("dark", { runOnly: ["color-contrast"] });
  } else await audit("dark", { runOnly: ["scrollable-region-focusable", "target-size", "meta-viewport"] });
  parent.postMessage(JSON.stringify([`${NAME}, ${innerWidth} px`, found]), "*");
});
"""
"""Opens a page, waits until it is drawn, and sends what violates a rule to the page around it.

Of many rows and folds of one kind a few are looked at. Colors do not depend on the width.
"""
LISTEN = """<!DOCTYPE html><html lang="en"><body><script>
addEventListener("message", ({ data }) => {
  const answer = document.createElement("pre");
  answer.className = "answer";
  answer.textContent = data;
  document.body.append(answer);
});
</script>"""


@pytest.fixture(scope="module")
def audits(golden_run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The violations on each kind of page at each width; one browser looks at all of them."""
    folder = tmp_path_factory.mktemp("pages")
    monitored = everything(folder / "monitored", golden_run)
    pages = {
        "run": run_page.render(Run(golden_run)),
        "comparison": comparison_page.render(
            compare(golden_run, golden_run, across_machines=True), efficiencies([golden_run, golden_run])
        ),
        "side by side": side_by_side(folder),
        "monitored": (monitored / "report.html").read_text(),
        "campaign": campaign.page(campaign.records()),
        "health": health.page(),
        "topology": topology_page.render(from_text(folder, GOOD), "topology.toml"),
    }
    return audited(pages, folder)


def audited(pages: Mapping[str, str], folder: Path) -> dict[str, list[str]]:
    """Return what violates a rule on each page at each width; the pages are written to `folder` by their names."""
    frames = []
    for name, text in pages.items():
        page = folder / f"{name}.html"
        page.write_text(browser.with_script(text, AXE.read_text() + AUDIT.replace("${NAME}", name)))
        frames += [f'<iframe width="{width}" height="900" src="{page.as_uri()}"></iframe>' for width in WIDTHS]
    together = folder / "all.html"
    together.write_text(LISTEN + "".join(frames) + "</body></html>")
    seen = browser.opened(together, "--window-size=1600,1200", "--virtual-time-budget=60000")
    assert seen.console == []
    answers = re.findall(r'<pre class="answer">(.*?)</pre>', seen.dom, re.DOTALL)
    return dict(json.loads(html.unescape(answer)) for answer in answers)


def side_by_side(folder: Path) -> str:
    """The page of three runs, with efficiencies."""
    paths = three(folder)
    return side_by_side_page.render(beside(paths), [read_side(path) for path in paths], efficiencies(paths))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "kind", ["run", "comparison", "side by side", "monitored", "campaign", "topology", "health"]
)
def test_no_rule_is_violated(kind: str, width: int, audits: dict[str, list[str]]) -> None:
    assert audits[f"{kind}, {width} px"] == []


def test_a_violation_is_noticed(tmp_path: Path) -> None:
    bad = """<!DOCTYPE html><html lang="en" data-drawn="1"><title>Pale</title><body><main>
        <h1>Pale</h1><p style="color:#ddd">pale</p></main></body>"""
    script = AXE.read_text() + AUDIT.replace("${NAME}", "bad").replace("parent.", "window.")
    (tmp_path / "bad.html").write_text(LISTEN.replace("<!DOCTYPE html>", "") + browser.with_script(bad, script))
    seen = browser.opened(tmp_path / "bad.html", "--window-size=1400,900", "--virtual-time-budget=20000")
    assert "light: color-contrast: p" in html.unescape(seen.dom)
