"""The site of a repository: pages and pieces from real runs, opened in a real browser without a server."""

from __future__ import annotations

import html
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hpcscope.archive.index import RunChoice
from hpcscope.archive.repository import Repository
from hpcscope.archive.site.site import MARK, build
from hpcscope.cli import answer
from hpcscope.errors import UsageError
from hpcscope.models.published.machines import machines
from tests.messages import mentions
from tests.report import browser
from tests.report.test_accessibility import NEEDS_A_BROWSER_AND_AXE, WIDTHS, audited
from tests.repository.test_repository import variant

needs_a_browser, needs_axe = NEEDS_A_BROWSER_AND_AXE
HOSTILE = '<script>document.title="broken"</script>'
"""A name that would be obeyed where it is not escaped."""
LARGEST_BYTES = 2_000_000


@pytest.fixture(scope="module")
def kept(golden_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Four runs of two clusters; one cluster and the notes have names that would be obeyed."""
    folder = tmp_path_factory.mktemp("kept")
    repository = Repository(folder / "repository", make=True)
    for days in range(3):
        run = variant(golden_run, folder, f"run{days}", days)
        repository.add([run], tags=["nightly"], note=HOSTILE, cluster="giza")
    repository.add([variant(golden_run, folder, "other", 9)], cluster=HOSTILE)
    return repository


@pytest.fixture(scope="module")
def site(kept: Repository, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    built = build(kept, folder, 1, lambda _: None, machines())
    assert (built.reports, built.damaged) == (1, [])
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def opened(page: Path) -> browser.Opened:
    if not browser.CHROMIUM:
        pytest.skip("no Chromium on this machine")
    seen = browser.opened(page)
    assert seen.attribute("data-settled") == "yes", seen.console
    assert seen.attribute("data-errors") is None
    assert seen.console == []
    assert not [address for address in seen.requests if not address.startswith("file:")]
    assert "<title>broken" not in seen.dom
    return seen


def rows(seen: browser.Opened) -> list[list[str]]:
    """The words of the cells of the last table."""
    body = seen.dom[seen.dom.rindex("<tbody") :]
    cells = [
        re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL)
    ]
    return [[html.unescape(re.sub(r"<[^>]*>", " ", cell)).strip() for cell in row] for row in cells]


def test_every_file_is_small_and_asks_nobody(site: Path) -> None:
    found = files(site)
    assert {"index.html", "ranking.html", "runs.html", "compare.html", "data/cases.js", "data/runs-0.js"} <= set(
        found
    )
    assert max(len(content) for content in found.values()) < LARGEST_BYTES
    for name, content in found.items():
        assert not re.search(rb'(?:src|href)="https?:', content), name


def test_clusters_are_listed_with_what_they_are(site: Path) -> None:
    page = (site / "index.html").read_text()
    assert "2 clusters" in page
    assert html.escape(HOSTILE) in page.replace("&#34;", "&quot;")
    assert len([one for one in (site / "clusters").iterdir() if not one.name.startswith("published-")]) == 2


def test_the_ranking_shows_the_newest_figure_of_each_cluster(site: Path) -> None:
    found = rows(opened(site / "ranking.html"))
    assert not [row for row in found if "published" in row[-1]]
    assert sorted(row[1] for row in found) == sorted(["giza", HOSTILE])
    # Equal runs: nobody is better.
    assert [row[0] for row in found] == ["1 to 2", "1 to 2"]


def piece(site: Path, name: str) -> Any:
    return json.loads((site / "data" / f"{name}.js").read_text().partition(",")[2].removesuffix(");\n"))


def test_published_figures_stand_beside_measured_ones_without_a_place_or_an_interval(site: Path) -> None:
    cases = {(one[2], one[3]): one[0] for one in piece(site, "cases")}
    latencies = piece(site, f"ranking-{cases['ping-pong, 0 B, 2 ranks', 'latency']}")
    sp2 = next(row for row in latencies if row[0] == "IBM SP2")
    assert sp2[1:6] == ["published-sp2", None, "50.0 µs", None, None]
    assert sp2[-1] == "Melas 2000, table 7.7"
    # Places are those among the measured ones, however many others stand between them.
    assert {tuple(row[4:6]) for row in latencies if row[0] in ("giza", HOSTILE)} == {(1, 2)}
    # A largest bandwidth stands beside the best of each cluster, a case that nobody measured alone.
    best = piece(site, f"ranking-{cases['network.latency protocol=tcp ranks=2, the best case', 'bandwidth']}")
    assert sorted(row[0] for row in best if row[4] is not None) == sorted(["giza", HOSTILE])
    alone = piece(site, f"ranking-{cases['application.npb_ep class=A ranks=128', 'time']}")
    assert [(row[0], row[3]) for row in alone] == [
        ("IBM NetFinity, one process on each node", "1.18 s"),
        ("IBM NetFinity, two processes on each node", "2.51 s"),
    ]
    page = (site / "clusters" / "published-sp2.html").read_text()
    assert page.count("<td>table 7.5</td>") == 12


def test_runs_are_listed_newest_first(site: Path) -> None:
    seen = opened(site / "runs.html")
    assert "PARAM 10000, PARAMNet" in seen.dom
    found = rows(replace(seen, dom=seen.dom[: seen.dom.index('id="historic"')]))
    assert [row[1] for row in found] == ["other", "run2", "run1", "run0"]
    assert [row[6:] for row in found[:2]] == [["", ""], ["nightly", HOSTILE]]


def test_a_cluster_has_a_sheet_a_history_and_its_runs(site: Path, kept: Repository) -> None:
    page = next(file for file in (site / "clusters").iterdir() if "<h1>giza</h1>" in file.read_text())
    seen = opened(page)
    assert '<g class="points s0"' in seen.dom
    assert "Kernel" in seen.dom
    assert [row[0] for row in rows(seen)] == ["run2", "run1", "run0"]


def test_chosen_runs_are_compared_in_the_browser(site: Path, kept: Repository, tmp_path: Path) -> None:
    sp2 = next(row[0] for row in piece(site, "published") if row[1] == "IBM SP2")
    ids = [kept.named("latest").id, "nosuch", sp2, *(one.id for one in kept.chosen(RunChoice(cluster="giza")))]
    page = site / "compare-chosen.html"  # a fragment is no part of a path
    script = site / "chosen.js"
    script.write_text(f'location.hash = "{",".join(ids)}";')
    first = '<body><script src="chosen.js"></script>'
    page.write_text((site / "compare.html").read_text().replace("<body>", first))
    try:
        found = rows(opened(page))
    finally:
        page.unlink()
        script.unlink()
    assert {len(row) for row in found} == {6}
    assert "interval" in found[0][2], "it has none"
    assert "published, table 7.7" in found[0][2]
    # Equal runs.
    ratios = {words.partition(" × ")[0][-4:] for row in found for words in row[3:] if " × " in words}
    assert ratios == {"1.00"}


@needs_axe
@needs_a_browser
def test_no_page_violates_a_rule_of_axe(site: Path, tmp_path: Path) -> None:
    """Light and dark, wide and narrow."""
    shutil.copytree(site, tmp_path / "site")
    names = ["index", "ranking", "runs", "compare"]
    names += [f"clusters/{page.stem}" for page in (site / "clusters").iterdir() if "published" not in page.stem]
    names.append("clusters/published-sp2")
    pages = {name: (site / f"{name}.html").read_text() for name in names}
    assert audited(pages, tmp_path / "site") == {f"{name}, {width} px": [] for name in names for width in WIDTHS}


def test_a_second_build_changes_nothing_and_removes_what_is_gone(kept: Repository, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    build(kept, folder, 0, lambda _: None)
    before = files(folder)
    own = folder / "data" / "mine.txt"
    own.write_text("mine")
    listed = json.loads((folder / MARK).read_text())
    outside = tmp_path / "outside.html"
    outside.write_text("outside")
    listed["files"] += ["data/run-gone.js", "../outside.html", "data/mine.txt"]
    (folder / "data" / "run-gone.js").write_text("")
    (folder / MARK).write_text(json.dumps(listed))
    build(kept, folder, 0, lambda _: None)
    assert own.exists()
    assert outside.exists()
    own.unlink()
    assert files(folder) == before


def test_an_interrupted_build_can_be_completed(kept: Repository, site: Path, tmp_path: Path) -> None:
    def interrupt(stage: str) -> None:
        if stage.startswith("data/"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(kept, tmp_path / "site", 0, interrupt, machines())
    build(kept, tmp_path / "site", 0, lambda _: None, machines())
    reports = {name for name in files(site) if name.startswith("reports/")}
    assert files(tmp_path / "site").keys() == files(site).keys() - reports


def test_a_damaged_run_is_named_and_the_rest_is_built(kept: Repository, tmp_path: Path) -> None:
    other = tmp_path / "repository"
    shutil.copytree(kept.folder.path, other)
    damaged = Repository(other)
    newest = damaged.named("latest").id
    damaged.folder.run(newest).write_bytes(b"damaged")
    built = build(damaged, tmp_path / "site", 1, lambda _: None)
    assert [line.partition(":")[0] for line in built.damaged] == [newest]
    assert (tmp_path / "site" / "index.html").exists()


def test_a_folder_with_anything_else_is_refused(kept: Repository, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match=rf"{tmp_path}: .*\bsite\b"):
        build(kept, tmp_path, 0, lambda _: None)


def test_the_command_says_what_it_wrote(
    kept: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["site", str(tmp_path / "site"), "--in", str(kept.folder.path), "--reports", "0", "--no-published"]
    assert answer(words) == 0
    assert mentions(capsys.readouterr().out, "6 pages, 0")
