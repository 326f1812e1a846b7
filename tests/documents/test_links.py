"""Links of the documents lead to files, and to headings in them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.documents.commands import ROOT

LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED = re.compile(r"docs/[\w/-]+\.md")
TEXTS = subprocess.run(
    ["git", "ls-files", "*.md", "hpcscope/*.py"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split()


def headings(page: Path) -> set[str]:
    """Return the anchors of a page, as its readers' sites make them."""
    found = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in found}


@pytest.mark.parametrize("name", [name for name in TEXTS if name.endswith(".md")])
def test_every_link_leads_somewhere(name: str) -> None:
    page = ROOT / name
    for target in LINK.findall(page.read_text()):
        if "://" in target:
            continue
        file, _, heading = target.partition("#")
        to = page.parent / file if file else page
        assert to.exists(), target
        if heading:
            assert heading in headings(to), target


def test_every_page_that_the_program_names_is_there() -> None:
    sources = [name for name in TEXTS if name.endswith(".py")]
    named = {(name, page) for name in sources for page in NAMED.findall((ROOT / name).read_text())}
    assert len(named) > 3
    assert [(name, page) for name, page in sorted(named) if not (ROOT / page).exists()] == []


def test_every_message_of_the_page_on_errors_is_one_of_the_programs() -> None:
    page = (ROOT / "docs" / "how-to" / "troubleshoot.md").read_text()
    messages = re.findall(r"^\| `([^`]+)` \|", page.split("| what you see |")[0], re.MULTILINE)
    sources = "\n".join((ROOT / name).read_text() for name in TEXTS if name.endswith(".py"))
    assert len(messages) >= 10
    for message in messages:
        assert all(part in sources for part in message.split(": ")), message


def test_the_contents_of_the_site_have_every_page() -> None:
    pages = [name for name in TEXTS if re.match(r"docs/(?!decisions/0)[\w/-]+\.md", name)]
    contents = (ROOT / "mkdocs.yml").read_text()
    assert [name for name in pages if f": {name}\n" not in contents and f"- {name}\n" not in contents] == []
