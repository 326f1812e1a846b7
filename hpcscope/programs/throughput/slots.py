"""The free slots of the hosts, which jobs take and give back."""

from __future__ import annotations

from collections.abc import Sequence


class Slots:
    """Free slots of each host."""

    def __init__(self, slots: Sequence[int]) -> None:
        self._free = list(slots)

    def take(self, ranks: int) -> list[int] | None:
        """Take slots for a job and return how many of each host; None where too few are free.

        A job gets the fullest host that has room for it, else the emptiest hosts: few hosts in any case.
        """
        if sum(self._free) < ranks:
            return None
        fitting = [position for position, free in enumerate(self._free) if free >= ranks]
        if fitting:
            order = [min(fitting, key=lambda position: self._free[position])]
        else:
            order = sorted(range(len(self._free)), key=lambda position: -self._free[position])
        taken = [0] * len(self._free)
        for position in order:
            taken[position] = min(self._free[position], ranks - sum(taken))
        self._free = [free - count for free, count in zip(self._free, taken, strict=True)]
        return taken

    def give_back(self, taken: Sequence[int]) -> None:
        """Free the slots of a job that ended."""
        self._free = [free + count for free, count in zip(self._free, taken, strict=True)]
