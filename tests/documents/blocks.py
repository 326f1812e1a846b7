"""The blocks of a page: commands as a reader types them, files that it writes, and what commands print.

An indented block has commands. A fenced block has a file or part of one, and says its language; without a language
it is what a command printed. A file's name stands on the line before: "`waves.toml`:".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

INDENT = "    "
NAMED = re.compile(r"`([\w./~-]+)`:$")
COMMENT = re.compile(r"(?:^|\s+)# .*$")


@dataclass
class Block:
    """Some lines of a page, and on which line they begin."""

    line: int
    language: str
    """`sh` of commands, `` of what was printed."""
    lines: list[str] = field(default_factory=list)
    name: str = ""
    """Name of the file that a block shows; empty for none."""

    @property
    def commands(self) -> list[tuple[int, str]]:
        """Return the commands with their lines, without comments, continuation lines joined."""
        found: list[tuple[int, str]] = []
        open_line = False
        for number, line in enumerate(self.lines, self.line):
            text = COMMENT.sub("", line).rstrip()
            if open_line:
                found[-1] = (found[-1][0], f"{found[-1][1]} {text.strip()}")
            elif text:
                found.append((number, text))
            open_line = text.endswith("\\")
            if open_line:
                found[-1] = (found[-1][0], found[-1][1].removesuffix("\\").rstrip())
        return found


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page in their order."""
    open_block: Block | None = None
    before = ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fenced = open_block is not None and open_block.language != "sh"
        if line.startswith("```"):
            if fenced and open_block:
                yield open_block
                open_block = None
            else:
                if open_block:
                    yield open_block
                named = NAMED.search(before)
                open_block = Block(number + 1, line.removeprefix("```"), name=named[1] if named else "")
        elif fenced and open_block:
            open_block.lines.append(line)
        elif line.startswith(INDENT) and line.strip():
            open_block = open_block or Block(number, "sh")
            open_block.lines.append(line.removeprefix(INDENT))
        elif open_block and line.strip():
            yield open_block
            open_block = None
        elif open_block:
            open_block.lines.append("")  # an empty line inside
        before = line or before
    if open_block:
        yield open_block
