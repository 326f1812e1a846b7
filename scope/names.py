"""Texts that become names of folders, or lines of another program's input."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator

from scope.errors import UsageError

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
"""Names that become names of folders: never hidden, never `.` or `..`, never an option, never with white space."""


def refuse_odd_name(where: str, name: str) -> str:
    """Return a name that may become that of a folder; UsageError for any other."""
    if re.fullmatch(NAME, name) is None:
        raise UsageError(
            f"{where} = {name!r}: must begin with a letter or digit and have up to 100 letters, digits, dots,"
            " dashes and underscores"
        )
    return name


def printable(text: str) -> str:
    """Return a text without line breaks and control characters, which other programs would misread.

    Raises ValueError for any other text.
    """
    if not text.isprintable():
        raise ValueError("must have no line breaks or control characters")
    return text


def several(names: Sequence[str]) -> str:
    """Return names in words: all of a few, else the first ones and how many more there are."""
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


FEW = 4
"""Names that are listed: a cluster may have thousands of hosts."""
LONGEST = 4096
"""Characters of a path on Linux; what takes time by the square of its length, such as a pattern, stays fast."""


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    if len(text) > LONGEST:
        raise ValueError(f"has {len(text)} characters; must have at most {LONGEST}")
    return text


def _passable(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not have the character U+0000, which ends an argument")
    return text


Argument = Annotated[str, AfterValidator(_passable)]
"""A word for another program, as it stands."""
Printable = Annotated[str, AfterValidator(printable)]
Text = Annotated[Printable, AfterValidator(_not_empty)]
"""A path, a word or a name for another program."""


def host_ranges(hosts: Sequence[str]) -> list[str]:
    """Return hosts in short: `hpc1-8` for eight consecutive numbers."""
    parts: list[tuple[str, int | None, int | None]] = []
    for host in hosts:
        stem = host.rstrip("0123456789")
        digits = host[len(stem) :]
        plain = re.fullmatch(r"0|[1-9][0-9]{0,8}", digits) is not None
        number = int(digits) if plain else None
        if parts and number is not None and parts[-1][0] == stem and parts[-1][2] == number - 1:
            parts[-1] = (stem, parts[-1][1], number)
        else:
            parts.append((stem, number, number) if plain else (host, None, None))
    return [
        stem if first is None else f"{stem}{first}" if first == last else f"{stem}{first}-{last}"
        for stem, first, last in parts
    ]
