"""Hosts by the names that records use for them: full, or without their domain or a part of it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator


class HostNames:
    """Names of different hosts; two with equal first labels remain two."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)
        self._with: dict[str, set[str]] = defaultdict(set)
        """For each beginning of a name, the names that begin with it."""
        for name in self._names:
            for beginning in _beginnings(name):
                self._with[beginning].add(name)

    def find(self, name: str) -> str | None:
        """Return the host that a record means by a name; None if none fits, or several do."""
        if name in self._names:
            return name
        found = self._with.get(name, set()) | (self._names & set(_beginnings(name)))
        return next(iter(found)) if len(found) == 1 else None

    def short(self, name: str) -> str:
        """Return the first label of a host's name, for display; the whole name if another has this label."""
        label = next(reversed(list(_beginnings(name))), name)
        return label if label not in self._names and self._with.get(label, set()) <= {name} else name


def _beginnings(name: str) -> Iterator[str]:
    """Yield a name without the last part of its domain, without the last two, and so on; nothing for addresses."""
    while "." in name and not name.replace(".", "").isdigit():
        name = name.rpartition(".")[0]
        yield name
