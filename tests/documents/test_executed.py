"""Every command of the README, the tutorial, the how-to and the method pages runs as it is printed.

The commands of one page run in their order in one directory. What a page shows as printed has the shape of what
was printed: the same labels in the same order, while numbers, prefixes of units and bars vary.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.documents.blocks import blocks
from tests.documents.commands import ROOT
from tests.documents.pages import PAGES
from tests.documents.reader import Reader, seated
from tests.documents.shapes import lacking, unprintable
from tests.documents.ways import Page, Way

QUICK = ("docs/how-to/timer.md",)
"""Pages whose commands `make test` types, too."""
NAMED = re.compile(
    r"`((?:[\w.~-]+/)*[\w.-]+\.(?:html|json|jsonl|toml|md|py|txt|csv|tex|xml|pdf|svg|cpp|hpp|dat|def|sh))`"
)
MOST_PARSED = 0.1


def pages() -> list[str]:
    """Return the pages that have commands, or show what was printed."""
    rooms = [file for room in ("tutorial", "how-to", "method") for file in (ROOT / "docs" / room).glob("*.md")]
    return sorted(str(file.relative_to(ROOT)) for file in (ROOT / "README.md", *rooms) if _shows(file))


def _shows(page: Path) -> bool:
    return any(block.language in ("sh", "") for block in blocks(page))


def typed(name: str) -> list[tuple[int, str]]:
    """Return the commands of a page with their lines."""
    return [command for block in blocks(ROOT / name) if block.language == "sh" for command in block.commands]


def way_of(page: Page, text: str) -> Way:
    """Return how a command of a page is executed."""
    fitting = [beginning for beginning in page.ways if text.startswith(beginning)]
    return page.ways[max(fitting, key=len)] if fitting else Way(page.where)


def test_at_most_one_command_in_ten_is_only_parsed() -> None:
    ways = [way_of(PAGES[name], text) for name in pages() for _, text in typed(name)]
    only_parsed = [way for way in ways if way.where == "parsed"]
    elsewhere = sum(way.where != "here" for way in ways) - len(only_parsed)
    print(f"{len(ways)} commands: {len(only_parsed)} only parsed, {elsewhere} in a lab or a job, others here")
    assert len(ways) > 150
    assert len(only_parsed) <= MOST_PARSED * len(ways)
    assert all(len(way.reason) > 20 for way in only_parsed)


@pytest.mark.parametrize("name", pages())
def test_every_way_is_that_of_a_command(name: str) -> None:
    unused = [begin for begin in PAGES[name].ways if not any(text.startswith(begin) for _, text in typed(name))]
    assert unused == []


@pytest.mark.parametrize("name", pages())
def test_numbers_that_a_page_shows_are_of_the_printed_form(name: str) -> None:
    shown = [line for block in blocks(ROOT / name) if not block.language for line in block.lines]
    assert {line: found for line in shown if (found := unprintable(line))} == {}


WHOLE = pytest.mark.slow(
    "types every command of a page; test_commands.py parses all, and short pages are typed there"
)


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else WHOLE) for name in pages()])
def test_the_commands_of_a_page_run(name: str, tmp_path: Path) -> None:
    page = PAGES[name]
    wrong: list[str] = []
    printed = list(page.printed)
    with seated(page, tmp_path / "page") as reader:
        for block in blocks(ROOT / name):
            if block.language == "sh":
                wrong += [
                    f"{name}:{line}: {told}"
                    for line, text in block.commands
                    for told in refused(reader, page, text)
                ]
            elif block.name:
                reader.write(block)
            elif not block.language and (by := printed.pop(0)):
                said = [
                    line
                    for ended in reader.ended
                    if ended.text.startswith(by)
                    for line in ended.output.splitlines()
                ]
                wrong += [
                    f"{name}:{block.line}: not printed: {line}"
                    for line in lacking(block.lines, said, page.varying)
                ]
        wrong += [f"{name}: there is no {file}" for file in absent(ROOT / name, reader.folder)]
    assert not wrong, "\n".join(wrong)


def refused(reader: Reader, page: Page, text: str) -> list[str]:
    """Type a command and return what went wrong."""
    way = way_of(page, text)
    if way.where == "parsed":
        return []
    began_s = time.monotonic()
    ended = reader.type(text, way)
    print(f"{text}: exit code {ended.code}, {time.monotonic() - began_s:.0f} s", flush=True)
    return [] if ended.code in way.codes else [f"{text}: exit code {ended.code}\n{ended.output[-1500:]}"]


def absent(page: Path, folder: Path) -> list[str]:
    """Return the files named in the text of a page that are neither in the checkout nor made by its commands."""
    text = "\n".join(line for line in page.read_text().splitlines() if not line.startswith("    "))
    names = sorted(set(NAMED.findall(text)))
    there = {path.name for path in folder.rglob("*")} | {path.name for path in (folder / "runs").rglob("*")}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    there |= {Path(name).name for name in tracked}
    whole = [name for name in names if "/" in name and not re.search(r"[A-Z]{3}", name)]
    own = {block.name for block in blocks(page)}
    missing = [
        name for name in whole if name not in own and not (ROOT / name).exists() and not (folder / name).exists()
    ]
    return missing + [name for name in names if name not in whole and Path(name).name not in there]
