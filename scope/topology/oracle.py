"""Whom the discovery asks: something that can run transfers between hosts and say how fast they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from scope.topology.sharing import Floats, Transfer


@dataclass(frozen=True)
class Answer:
    """What transfers that ran at once achieved."""

    rates: Floats
    """Bytes per second of each, in the order of the question."""
    starved: bool = False
    """Whether processes lacked processors, so that these and not the network may have been the limit."""
    attempts: int = 1
    """How often all of them were run before the answer was good."""


class Oracle(Protocol):
    """A cluster that answers questions."""

    @property
    def hosts(self) -> Sequence[str]:
        """Names of the hosts, in the order in which they were given."""

    def rates(self, transfers: Sequence[Transfer], expected: Sequence[float]) -> Answer:
        """Run these transfers at once, each from one host to another.

        `expected`: what each would achieve alone as far as is known, in bytes per second, else 0.
        """

    def latency(self, a: str, b: str) -> float:
        """Return half the round trip of an empty message, in seconds; on one host when `a` is `b`."""
