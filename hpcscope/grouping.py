"""Items by what they have in common."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Group = TypeVar("Group", bound=Hashable)


def grouped(items: Iterable[Item], key: Callable[[Item], Group]) -> dict[Group, list[Item]]:
    """Return the items that have each key; keys and items in the order in which they first occur."""
    groups: dict[Group, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
