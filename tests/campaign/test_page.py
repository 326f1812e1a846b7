"""The page and the tables of campaigns: what they hold, and that nothing breaks them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.parser import HTMLParser

import numpy as np

from hpcscope.findings.campaign import CampaignFacts, find_all
from hpcscope.programs.campaign.analysis import analyse
from hpcscope.programs.campaign.folder import Head, head_of
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.campaign.study import Value, made
from hpcscope.report.campaign import page as campaign_page
from hpcscope.report.campaign.sections import sections
from tests.campaign.records import study

POINTS: list[dict[str, Value]] = [
    {"grid": grid, "ranks": ranks} for grid in (64, 128, 256, 512) for ranks in (1, 2, 4)
]


def figures(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
    n, p = int(point["grid"]), int(point["ranks"])
    compute = 1e-5 * n**2 / p * float(np.exp(random.normal(0, 0.01)))
    mpi = 0.01 * float(np.log2(p)) * float(np.exp(random.normal(0, 0.01)))
    return {
        **{"wall_s": compute + mpi, "compute_s": compute, "mpi_s": mpi, "cpu_s": compute, "system_s": 0.1 * mpi},
        **{"send_s": mpi / 2, "receive_s": mpi / 2, "exchange_s": 0.0, "collective_s": 0.0, "other_mpi_s": 0.0},
        **{"communications": 10.0 * p, "sent_bytes": 8.0 * n},
    }


def head(name: str = "waves") -> Head:
    asked = {
        "program": "./app {grid}",
        "parameters": {"grid": [64, 128, 256, 512]},
        "ranks": [1, 2, 4],
        "name": name,
    }
    return head_of("campaign", made(asked, "here"), ["scope", "campaign"])


def records() -> list[RunRecord]:
    return study(POINTS, figures, repetitions=6)


class Balance(HTMLParser):
    """Counts open elements and refuses one that is closed without being open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "br", "line", "circle", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One that closes itself is never open."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page(made: list[RunRecord]) -> str:
    analysis = analyse(head(), made)
    return campaign_page.render(head(), analysis, find_all(CampaignFacts(head(), analysis)))


def test_the_page_is_whole_and_holds_every_table_and_drawing() -> None:
    text = page(records())
    balance = Balance()
    balance.feed(text)
    assert balance.open == []
    keys = ("effects", "runs", "amdahl", "scaling", "overhead", "groups")
    assert sorted(keys, key=lambda key: text.index(f'id="{key}"')) == list(keys)
    assert text.index("Fastest point: grid 64") < text.index("Speedup: 2 ranks") < text.index('id="effects"')
    assert text.count('class="whisker"') == len(POINTS)
    assert text.count("data-figure=") == 4 + 3, "over processes for each grid, over grids for each count"
    assert text.count('class="split"') == len(POINTS)
    assert not re.search(r"\bnan\b|\binf\b", text)
    assert text.count("<script") == 2, "the page's own, and its figures"


def test_laws_say_what_was_put_in() -> None:
    analysis = analyse(head(), records())
    tables = {section.key: section.table for section in sections(head(), analysis)}
    compute = [row for row in tables["scaling"].rows if row[0] == "computation"]
    over_grid = next(row for row in compute if row[1] == "n = grid" and row[2] == "ranks 1")
    assert over_grid[3].startswith("10.0 µs [")
    assert over_grid[3].endswith("] n^2")
    over_ranks = next(row for row in compute if row[2] == "grid 512")
    assert over_ranks[6].startswith("2.6")
    assert "/ p, error" in over_ranks[6]


def test_words_of_the_data_are_no_markup_and_empty_campaigns_have_a_page() -> None:
    bad = [record.model_copy(update={"status": "failed", "reason": "<i>&"}) for record in records()[:3]]
    text = page(bad)
    assert "&lt;i&gt;&amp;" in text
    assert "<i>&" not in text
    assert "<h1 " in page([])
