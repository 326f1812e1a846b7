"""What can be typed: the commands, their subcommands and options, as their parsers know them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hpcscope.cli import COMMANDS, parser

if TYPE_CHECKING:
    from typer._click import Command


@dataclass(frozen=True)
class Words:
    """A command, or a subcommand of one."""

    name: str
    """The command as it is typed: `run`, `lab up`."""
    help: str
    usage: str
    options: tuple[tuple[str, str], ...]
    """Spellings (`-o, --output DIR`) and meaning of each."""

    @property
    def spellings(self) -> list[str]:
        """Return each spelling of each option."""
        parts = [part for given, _ in self.options for part in given.replace(" / ", ", ").split(", ")]
        return [part.split()[0] for part in parts if part.startswith("-")]

    @property
    def values(self) -> dict[str, str]:
        """Return the words that may follow an option, if its metavar lists them: `core|socket|none`."""
        listed = [given.split() for given, _ in self.options if "|" in given]
        return {words[-2]: words[-1].replace("|", " ") for words in listed}


@cache
def commands() -> tuple[Words, ...]:
    """Return every command and subcommand, in the order of `scope --help`."""
    found: list[Words] = []
    for name in COMMANDS:
        top = parser(name)
        inner = getattr(top, "commands", None)
        parsers = {f"{name} {word}": each for word, each in inner.items()} if inner else {name: top}
        found += [_words(full, each) for full, each in parsers.items()]
    return tuple(found)


def _words(name: str, command: Command) -> Words:
    context = command.make_context(name, [], resilient_parsing=True)
    asked = [parameter for parameter in command.get_params(context) if parameter.param_type_name == "option"]
    options = tuple(record for parameter in asked if (record := parameter.get_help_record(context)) is not None)
    usage = " ".join(command.collect_usage_pieces(context))
    return Words(name, (command.help or "").strip(), f"scope {name} {usage}".strip(), options)
