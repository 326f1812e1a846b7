"""Rows of a table that belong together; what they add up to is found for all groups at once."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


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

    def __iter__(self) -> Iterator[Integers]:
        """Yield the places of the rows, group by group."""
        return iter(np.split(self._order, self._starts[1:]) if len(self._starts) else [])

    @property
    def first(self) -> Integers:
        """A row of each group: all of its rows have the same keys."""
        return self._order[self._starts]

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add up the values of each group; those of short integers without overflow."""
        if values.ndim > 1:
            # One by one: a copy of all columns in wide integers would double the memory of a large job.
            return np.stack([self.sum(column) for column in values.T], axis=1)
        wide = np.result_type(values, np.int64) if values.dtype.itemsize < 8 else values.dtype
        sums: NDArray[Any] = np.add.reduceat(values[self._order], self._starts, dtype=wide)
        return sums

    def least(self, values: Floats) -> Floats:
        """Return the least value of each group."""
        least: Floats = np.minimum.reduceat(values[self._order], self._starts)
        return least

    def least_row(self, values: Floats) -> Integers:
        """Return the row with the least value of each group, of several the first."""
        rows = np.flatnonzero(values[self._order] == np.repeat(self.least(values), self._sizes))
        first = np.searchsorted(rows, self._starts)
        row: Integers = self._order[rows[first]]
        return row

    def middle(self, values: Floats) -> Floats:
        """Return the median of the values of each group, of two the upper one."""
        ascending = np.lexsort((values[self._order], np.repeat(self._starts, self._sizes)))
        middle: Floats = values[self._order[ascending[self._starts + self._sizes // 2]]]
        return middle

    def distinct(self, values: Integers) -> Integers:
        """Count the unlike values of each group; from one row of the table to the next they never fall."""
        ordered = values[self._order]
        new = np.ones(len(ordered), np.int64)
        new[1:] = ordered[1:] != ordered[:-1]
        new[self._starts] = 1
        number: Integers = np.add.reduceat(new, self._starts)
        return number
