"""Many small jobs, each on hosts of its own, on a cluster that others use too.

Jobs go only to hosts that are idle at that moment, only so many at a time, and behind everybody else's (nice). One
that has to wait after all, because somebody was quicker, is withdrawn and tried again when its hosts are idle.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from scope.errors import ScopeError, UsageError
from scope.launch.schedulers.slurm import Node, Sight, Slurm
from scope.rundirectory import RunDirectory

SILENCE_S = 300
"""How long the controller may not answer."""
FAREWELL_S = 60
"""How long a cancelled job may take to end; Slurm kills it after KillWait (default 30 s)."""
POLL_S = (0.2, 5.0)
"""How often the queue is looked at, at first and later."""


@dataclass(frozen=True)
class Errand:
    """One small job."""

    name: str
    hosts: tuple[str, ...]
    run: RunDirectory


@dataclass(frozen=True)
class Manners:
    """How much of a cluster is taken at a time."""

    at_once: int = 8
    """Jobs in the queue."""
    nice: int = 100
    patience_s: float = 0.0
    """How long to wait for hosts that are not idle while nothing of ours runs."""
    queued_s: float = 20.0
    """How long a job may wait before it is withdrawn."""


@dataclass
class Errands:
    """Jobs to do, jobs in the queue, jobs that have ended."""

    queue: Slurm
    partition: str | None
    to_do: list[Errand]
    manners: Manners
    submit: Callable[[Errand], str]
    """Puts one into the queue and returns its number."""
    say: Callable[[str], None]
    ended: dict[Errand, tuple[str, Sight]] = field(default_factory=dict)
    """Number and last sight of each."""
    nodes: dict[str, Node] = field(default_factory=dict)
    """The hosts as they were last seen."""
    _queued: dict[str, tuple[Errand, float]] = field(default_factory=dict)
    """By number: what, and since when."""

    def run(self) -> None:
        """Do them all, or as many as hosts become idle for; an interruption cancels those in the queue."""
        started_s = moved_s = answered_s = time.monotonic()
        try:
            while self.to_do or self._queued:
                try:
                    moved = self._collect() + self._send()
                    answered_s = time.monotonic()
                except UsageError:
                    raise
                except ScopeError:
                    if time.monotonic() - answered_s > SILENCE_S:
                        raise
                    moved = 0
                now_s = time.monotonic()
                if moved or self._queued:
                    moved_s = now_s
                elif now_s - moved_s >= self.manners.patience_s:
                    return
                time.sleep(min(POLL_S[1], POLL_S[0] + (now_s - started_s) / 60))
        except BaseException:
            self._withdraw_all()
            raise

    def why_not(self, errand: Errand) -> str:
        """Say which hosts kept an errand from being done: node3 (drained: disk)."""
        seen = [self.nodes.get(host, Node(host, "unknown to this partition")) for host in errand.hosts]
        busy = [node for node in seen if not node.idle] or seen
        return ", ".join(f"{node.name} ({node.state}{': ' + node.reason if node.reason else ''})" for node in busy)

    def _collect(self) -> int:
        """Take in jobs that have ended, and withdraw those that would wait; return how many ended."""
        count = 0
        for number, (errand, since_s) in list(self._queued.items()):
            sight = self.queue.look(number)
            waited_s = time.monotonic() - since_s
            if sight.over:
                del self._queued[number]
                self.ended[errand] = (number, sight)
                self.say(f"{errand.name}: job {number} has ended ({sight.state})")
                count += 1
            elif sight.hopeless or (sight.waiting and waited_s > self.manners.queued_s):
                self.queue.cancel(number)
                del self._queued[number]
                self.to_do.append(errand)
                self.say(f"{errand.name}: job {number} would wait ({sight.reason}) and was withdrawn")
        return count

    def _send(self) -> int:
        """Submit what idle hosts allow; return how many jobs that were."""
        room = self.manners.at_once - len(self._queued)
        if not self.to_do or room <= 0:
            return 0
        wanted = tuple(dict.fromkeys(host for errand in self.to_do for host in errand.hosts))
        self.nodes |= {node.name: node for node in self.queue.nodes(self.partition, wanted)}
        taken = {host for errand, _ in self._queued.values() for host in errand.hosts}
        free = {host for host in wanted if host in self.nodes and self.nodes[host].idle} - taken
        count = 0
        for errand in list(self.to_do):
            if count < room and free.issuperset(errand.hosts):
                number = self.submit(errand)
                self._queued[number] = (errand, time.monotonic())
                self.to_do.remove(errand)
                self.say(f"{errand.name}: job {number}")
                free -= set(errand.hosts)
                count += 1
        return count

    def _withdraw_all(self) -> None:
        for number in self._queued:
            self.queue.cancel(number)
        deadline = time.monotonic() + FAREWELL_S
        while time.monotonic() < deadline and any(not self.queue.look(number).over for number in self._queued):
            time.sleep(0.2)


def pairs(hosts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield every pair once, in rounds of disjoint pairs, so that a round can run at the same time.

    The circle method of tournaments: one host stands still and the others walk round it.
    """
    ring: list[str | None] = [*hosts, *([None] if len(hosts) % 2 else [])]
    for _ in range(len(ring) - 1):
        half = len(ring) // 2
        for one, other in zip(ring[:half], reversed(ring[half:]), strict=True):
            if one is not None and other is not None:
                yield one, other
        ring = [ring[0], ring[-1], *ring[1:-1]]
