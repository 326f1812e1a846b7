"""What the discovery needs: something that runs transfers between hosts and returns their rates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hpcscope.topology.sharing import Floats, Transfer


@dataclass(frozen=True)
class Answer:
    """The result of concurrent transfers."""

    rates: Floats
    """Bytes per second of each transfer, in their order."""
    starved: bool = False
    """Whether processes lacked processors, which then may have been the bottleneck instead of the network."""
    attempts: int = 1
    """How often the transfers were run until the result was good."""


class Prober(Protocol):
    """Measures between the hosts of a cluster."""

    @property
    def hosts(self) -> Sequence[str]:
        """Names of the hosts, in their given order."""

    def rates(self, transfers: Sequence[Transfer], expected: Sequence[float]) -> Answer:
        """Run transfers concurrently, each from one host to another.

        `expected`: the isolated rate of each, in bytes per second; 0 if it is not known.
        """

    def latency(self, a: str, b: str) -> float:
        """Return the one-way latency (RTT/2) of an empty message in seconds; inside a host if `a` is `b`."""
