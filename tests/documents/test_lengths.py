"""Pages stay short: what explains code stands beside the code, tables of tests in docs/validation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents.commands import ROOT

MOST_WORDS = {"how-to": 900, "method": 1500}
PAGES = [page for room in MOST_WORDS for page in sorted((ROOT / "docs" / room).glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_a_page_keeps_its_limit(page: Path) -> None:
    assert len(page.read_text().split()) <= MOST_WORDS[page.parent.name]
