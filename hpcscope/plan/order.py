"""The order of the cases in one pass of a launch: random, but cases that will be compared are side by side.

Cases that are measured within the same second meet the same state of the machine, and their ratio does not depend
on it. Declarations determine what is compared: at one size, rungs of one pattern, MPI routines, members of a
family; and cases of one benchmark that differ only in layout, call or path.
"""

import random
from collections.abc import Callable, Hashable, Iterable
from typing import Protocol, TypeVar

from hpcscope.catalog.catalog import Catalog, Settings
from hpcscope.settings.selection import Value

Compared = Callable[[str, Settings], tuple[Hashable, Hashable]]
"""Returns the group of a benchmark's case, and the smaller group inside it."""


class _Ordered(Protocol):
    @property
    def benchmark(self) -> str: ...
    @property
    def parameters(self) -> dict[str, Value]: ...


_Case = TypeVar("_Case", bound=_Ordered)
_Item = TypeVar("_Item")


def compared(catalog: Catalog) -> Compared:
    """Return the function that groups cases by what they will be compared with."""

    def groups(benchmark: str, settings: Settings) -> tuple[Hashable, Hashable]:
        declared = catalog[benchmark]
        if declared.rungs:
            kind: str = declared.rungs[0].pattern
        else:
            kind = "routine" if declared.routines else declared.family
        size = tuple(catalog.of_role(benchmark, settings, "size").values())
        kept = catalog.of_role(benchmark, settings, "size", "problem", "method", "parallel")
        return (kind, size), (benchmark, *sorted(kept.items()))

    return groups


def side_by_side(cases: Iterable[_Case], groups: Compared | None, chance: random.Random) -> list[_Case]:
    """Return the cases in a random order that keeps groups, and the smaller groups inside them, together."""
    if groups is None:
        return _shuffled(cases, chance)
    nested: dict[Hashable, dict[Hashable, list[_Case]]] = {}
    for case in cases:
        outer, inner = groups(case.benchmark, case.parameters)
        nested.setdefault(outer, {}).setdefault(inner, []).append(case)
    return [
        case
        for group in _shuffled(nested.values(), chance)
        for alike in _shuffled(group.values(), chance)
        for case in _shuffled(alike, chance)
    ]


def _shuffled(items: Iterable[_Item], chance: random.Random) -> list[_Item]:
    shuffled = list(items)
    chance.shuffle(shuffled)
    return shuffled
