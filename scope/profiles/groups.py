"""Rows of a table that belong together; what they add up to is found for all groups at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class Groups:
    """The rows whose keys are the same, in the order of the keys."""

    def __init__(self, *keys: NDArray[Any]) -> None:
        columns = [np.asarray(key).astype(np.int64) for key in keys]
        self._order = np.lexsort(columns[::-1])
        begins = np.arange(len(self._order)) == 0
        for column in columns:
            begins[1:] |= np.diff(column[self._order]) != 0
        self._starts = np.flatnonzero(begins)
        self._sizes = np.diff(self._starts, append=len(begins))
        self._number = np.empty(len(begins), np.int64)
        self._number[self._order] = np.cumsum(begins)

    def __iter__(self) -> Iterator[Integers]:
        """Yield the places of the rows, group by group."""
        return iter(np.split(self._order, self._starts[1:]) if len(self._starts) else [])

    @property
    def first(self) -> Integers:
        """A row of each group: all of its rows have the same keys."""
        return self._order[self._starts]

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add up the values of each group; those of short integers without overflow."""
        wide = np.result_type(values, np.int64) if values.dtype.itemsize < 8 else values.dtype
        sums: NDArray[Any] = np.add.reduceat(values[self._order], self._starts, dtype=wide)
        return sums

    def extremes(self, values: NDArray[np.float64]) -> tuple[Integers, Integers]:
        """Return the rows with the least and with the largest value of each group, of several the first."""
        return self._ascending(values)[self._starts], self._ascending(-values)[self._starts]

    def middle(self, values: NDArray[Any]) -> Integers:
        """Return the row with the median of the values of each group, of two the upper one."""
        rows: Integers = self._ascending(values)[self._starts + self._sizes // 2]
        return rows

    def distinct(self, values: NDArray[Any]) -> Integers:
        """Count the unlike values of each group."""
        ascending = values[self._ascending(values)]
        new = np.ones(len(ascending), np.int64)
        new[1:] = ascending[1:] != ascending[:-1]
        new[self._starts] = 1
        number: Integers = np.add.reduceat(new, self._starts)
        return number

    def _ascending(self, values: NDArray[Any]) -> Integers:
        """Return the rows group by group, those of a group by their values."""
        return np.lexsort((values, self._number))
