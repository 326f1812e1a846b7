"""The commands that the documents print, as a reader would type them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    "docs/how-to",
    "docs/method",
    "docs/tutorial",
    "measure/notes",
    "hpcscope",
    "collectives",
    "active-messages",
)
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "monitor/README.md")),
    *sorted(page for room in ROOMS for page in (ROOT / room).rglob("*.md")),
]
PROGRAMS = ("scope", "make", "scope-estimate")
INDENT = "    "


@dataclass(frozen=True)
class Documented:
    """A command of a page."""

    page: Path
    line: int
    text: str
    """With its continuation lines, as a shell reads it."""

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)


def documented() -> list[Documented]:
    """Return every command of every page, in order."""
    return [command for page in PAGES for command in _of(page)]


def _of(page: Path) -> Iterator[Documented]:
    lines = iter(enumerate(page.read_text().splitlines(), 1))
    fenced = ""
    for number, line in lines:
        if line.startswith("```"):
            fenced = "" if fenced else line.removeprefix("```") or "text"
        code = line if fenced in ("sh", "bash") else line.removeprefix(INDENT) if line.startswith(INDENT) else ""
        text = code.replace(".venv/bin/", "")
        if text.split(" ")[0] not in PROGRAMS:
            continue
        while text.endswith("\\"):
            text = text[:-1] + next(lines)[1].strip()
        for part in re.split(r" && |; ", re.sub(r"\s#\s.*", "", text)):
            yield Documented(page, number, part)
