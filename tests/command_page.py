"""The page docs/commands.md, from the parsers of the commands; `python -m tests.command_page` renews it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hpcscope.cli import GROUPS
from hpcscope.cli.grammar import Words, commands

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"


def page() -> str:
    """Return every command with its usage, its help and a table of its options."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Commands\n\nWhat `scope COMMAND --help-all` says; `python -m tests.command_page` renews this page."
    for heading, group in GROUPS.items():
        yield f"\n## {heading.capitalize()}\n\n| | |\n|---|---|"
        yield from (f"| `scope {name}` | {summary} |" for name, summary in group.items())
        for words in commands():
            if words.name.split()[0] in group:
                yield from _command(words)
    yield ""


def _command(words: Words) -> Iterator[str]:
    yield f"\n### {words.name}\n\n    {words.usage}\n\n{_listed(words.help)}"
    options = [(spelling, text) for spelling, text in words.options if "--help" not in spelling]
    if options:
        yield "\n| option | meaning |\n|---|---|"
    yield from (f"| `{_cell(spelling)}` | {_cell(text)} |" for spelling, text in options)


def _listed(text: str) -> str:
    """Return a help text whose lists of names are blocks, so that no page joins their lines."""
    return re.sub(r"(?m)^(\S.*:)\n(?=    )", r"\1\n\n", re.sub(r"(?m)^  (?=\S)", "    ", text))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
