"""Hosts and their slots, as users write them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from itertools import chain
from pathlib import Path
from typing import Any

from hpcscope.settings.kinds import Kind, Several, parts

ALLOWED = "must be a host's name, or name:slots with at least one slot"
NODES = "must be names of nodes, such as node[1-3,7]"
MOST_HOSTS = 10**6
_ASCII = re.ASCII | re.IGNORECASE
_KEYS = ("slots", "max_slots", "max-slots")
"""Keys of Open MPI's host files; the maximum matters only to a launcher that oversubscribes."""


@dataclass(frozen=True)
class HostSlots:
    """A host and how many ranks it takes; None: one per usable core."""

    name: str
    slots: int | None = None

    def __str__(self) -> str:
        """Return the host as users type it and launchers take it: `name`, `name:slots`, or `[address]:slots`."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.slots is None else f"{name}:{self.slots}"


class _Host(Kind):
    """One host, or several with a range of numbers."""

    def read(self, value: Any) -> list[HostSlots]:
        """Return the hosts."""
        if isinstance(value, HostSlots):
            return [value]
        text = super().read(value)
        if text.count(":") > 1 and not text.startswith("["):
            text = f"[{text}]"
        match = re.fullmatch(r"(?:\[([^\]]*:.*)\]|([a-z0-9](?:[\w.-]|\[[\d,-]+\])*))(?::(\d{1,9}))?", text, _ASCII)
        if match is None or match[3] == "0":
            raise ValueError(ALLOWED)
        try:
            names = [str(IPv6Address(match[1]))] if match[1] else _expanded(match[2])
        except AddressValueError as error:
            raise ValueError(f"{ALLOWED}: {error}") from error
        return [HostSlots(name, int(match[3]) if match[3] else None) for name in names]


class Nodes(Kind):
    """Names of nodes as Slurm spells them."""

    def read(self, value: Any) -> str:
        """Return the names unchanged."""
        names = hostnames(text := super().read(value))
        if not all(re.fullmatch(r"[\w.-]+", name, _ASCII) for name in names):
            raise ValueError(NODES)
        return str(text)


class Hosts(Several):
    """Hosts: `a:2,b:2`, `node[1-3]:2`; a host that is named several times has the slots of all mentions.

    If any host is repeated, a mention without slots counts as one slot, as in the lists of batch systems.
    """

    def __init__(self, metavar: str = "A:2,B:2") -> None:
        super().__init__(_Host(), metavar=metavar)

    def read(self, value: Any) -> tuple[HostSlots, ...]:
        """Return the hosts."""
        return self.typed(value) if isinstance(value, str) else _together(super().read(value))

    def typed(self, text: str) -> tuple[HostSlots, ...]:
        """Return the hosts that were typed."""
        return _together(super().typed(text))

    def plain(self, value: Iterable[HostSlots]) -> list[str]:
        """Return the hosts in the form of files."""
        return [str(host) for host in value]


class Hostfile(Hosts):
    """The hosts of a file with one per line: `name`, `name:slots` or `name slots=N max_slots=M`."""

    def __init__(self) -> None:
        super().__init__("FILE")

    def typed(self, text: str) -> tuple[HostSlots, ...]:
        """Return the hosts in the named file."""
        from hpcscope.rundirectory import read_text

        lines = [
            line.partition("#")[0].strip() for line in read_text(Path(text)).removeprefix("\ufeff").splitlines()
        ]
        hosts = [self._of_line(f"{text}:{number}: {line}", line) for number, line in enumerate(lines, 1) if line]
        if not hosts:
            raise ValueError(f"{text} does not name a host; must have lines such as 'name:2' or 'name slots=2'")
        return _together(hosts)

    def _of_line(self, where: str, line: str) -> list[HostSlots]:
        name, *words = re.sub(r"\s*=\s*", "=", line).split()
        try:
            asked = [word.partition("=") for word in words]
            if unknown := [key for key, _, value in asked if key not in _KEYS or not value]:
                raise ValueError(f"{unknown[0]}: must be slots=N or max_slots=N")
            return list(self.of.read(":".join([name, *(value for key, _, value in asked if key == "slots")])))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error


def hostnames(text: str) -> list[str]:
    """Return the hosts of a list in Slurm's notation: node[1-3,07],rack[1-2]b[0-1]."""
    return [host for name in parts(text) for host in _expanded(name)]


def _together(hosts: Iterable[Iterable[HostSlots]]) -> tuple[HostSlots, ...]:
    """Return each host once; a host that was named several times has the slots of all mentions."""
    found: dict[str, list[int | None]] = {}
    for host in chain.from_iterable(hosts):
        found.setdefault(host.name, []).append(host.slots)
    again = any(len(slots) > 1 for slots in found.values())
    return tuple(
        HostSlots(name, sum(count or 1 for count in slots) if again else slots[0]) for name, slots in found.items()
    )


def _expanded(name: str) -> list[str]:
    match = re.fullmatch(r"([^\[]*)\[([\d,-]+)\](.*)", name)
    if match is None:
        return [name]
    before, ranges, after = match.groups()
    numbers: list[str] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        both = first.isdigit() and (last or first).isdigit()
        if not both or not 0 <= int(last or first) - int(first) <= MOST_HOSTS:
            raise ValueError(f"[{ranges}]: must be numbers and ranges of numbers, such as [1-3,7]")
        numbers += [str(number).zfill(len(first)) for number in range(int(first), int(last or first) + 1)]
    return [f"{before}{number}{rest}" for number in numbers for rest in _expanded(after)]
