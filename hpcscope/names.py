"""Names that become names of folders, and short forms for the names of many hosts."""

import re
from collections.abc import Sequence

from hpcscope.errors import UsageError

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
"""Names that become names of folders: never hidden, never `.` or `..`, never an option, never with white space."""


def refuse_odd_name(where: str, name: str) -> str:
    """Return a name that can be the name of a folder; UsageError for any other."""
    if re.fullmatch(NAME, name) is None:
        raise UsageError(
            f"{where} = {name!r}: must begin with a letter or digit and have up to 100 letters, digits, dots,"
            " dashes and underscores"
        )
    return name


def several(names: Sequence[str]) -> str:
    """Return names in words: all if there are few, else the first ones and how many more there are."""
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


def plural(kind: str) -> str:
    """Return the plural of a kind of groups: `switches`, `groups of switches`."""
    first, of, rest = kind.partition(" ")
    return f"{first}{'es' if first.endswith('ch') else 's'}{of}{rest}"


FEW = 4
"""Most names that are listed: a cluster may have thousands of hosts."""


def host_ranges(hosts: Sequence[str]) -> list[str]:
    """Return hosts in short form: `hpc1-8` for eight consecutive numbers."""
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
