"""Many small jobs, each on hosts of its own, on a cluster that others use too.

A job is submitted with lowered priority (nice), only to hosts that are idle at that moment, and only a limited
number of jobs is queued at a time. A job that stays pending anyway, because another user was quicker, is withdrawn
and submitted again when its hosts are idle.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch.scheduler import JobState
from hpcscope.launch.schedulers.slurm import Slurm, SlurmNode
from hpcscope.rundirectory import RunDirectory
from hpcscope.settings.queue_policy import QueuePolicy

SILENCE_S = 300
"""How long the controller may fail to respond."""
CANCEL_S = 60
"""How long a canceled job may take to end; Slurm kills it after KillWait (default 30 s)."""
POLL_S = (0.2, 5.0)
"""Interval of polling the queue: at first and later."""


@dataclass(frozen=True)
class HostJob:
    """One small job."""

    name: str
    hosts: tuple[str, ...]
    run: RunDirectory


@dataclass
class HostJobs:
    """Jobs to submit, jobs in the queue, jobs that have ended."""

    queue: Slurm
    partition: str | None
    waiting: list[HostJob]
    policy: QueuePolicy
    submit: Callable[[HostJob], str]
    """Submits a job and returns its number."""
    report: Callable[[str], None]
    """Takes one line of progress."""
    ended: dict[HostJob, tuple[str, JobState]] = field(default_factory=dict)
    """Number and last state of each job."""
    nodes: dict[str, SlurmNode] = field(default_factory=dict)
    """The last known states of the hosts."""
    _queued: dict[str, tuple[HostJob, float]] = field(default_factory=dict)
    """The job and when it was submitted, by job number."""

    def run(self) -> None:
        """Run all jobs, or as many as hosts become idle for; an interruption cancels those in the queue."""
        started_s = progressed_s = answered_s = time.monotonic()
        try:
            while self.waiting or self._queued:
                try:
                    progress = self._collect() + self._submit_to_idle()
                    answered_s = time.monotonic()
                except UsageError:
                    raise
                except ScopeError:
                    if time.monotonic() - answered_s > SILENCE_S:
                        raise
                    time.sleep(POLL_S[0])
                    continue
                now_s = time.monotonic()
                if progress or self._queued:
                    progressed_s = now_s
                elif now_s - progressed_s >= self.policy.max_wait_s:
                    return
                time.sleep(min(POLL_S[1], POLL_S[0] + (now_s - started_s) / 60))
        except BaseException:
            self._cancel_all()
            raise

    def why_not(self, job: HostJob) -> str:
        """Return the hosts that kept a job from running, each with its state: node3 (drained: disk)."""
        seen = [self.nodes.get(host, SlurmNode(host, "not in this partition")) for host in job.hosts]
        busy = [node for node in seen if not node.idle] or seen
        return ", ".join(f"{node.name} ({node.state}{': ' + node.reason if node.reason else ''})" for node in busy)

    def _collect(self) -> int:
        """Note the jobs that have ended and withdraw those that stay pending; return how many ended."""
        count = 0
        for number, (job, since_s) in list(self._queued.items()):
            state = self.queue.state_of(number)
            waited_s = time.monotonic() - since_s
            if state.ended:
                del self._queued[number]
                self.ended[job] = (number, state)
                self.report(f"{job.name}: job {number} has ended ({state.state})")
                count += 1
            elif state.stuck or (state.pending and waited_s > self.policy.max_pending_s):
                self.queue.cancel(number)
                del self._queued[number]
                self.waiting.append(job)
                self.report(f"{job.name}: job {number} stayed pending ({state.reason}) and was withdrawn")
        return count

    def _submit_to_idle(self) -> int:
        """Submit as many jobs as idle hosts and the policy allow; return how many."""
        room = self.policy.max_jobs - len(self._queued)
        if not self.waiting or room <= 0:
            return 0
        wanted = tuple(dict.fromkeys(host for job in self.waiting for host in job.hosts))
        self.nodes |= {node.name: node for node in self.queue.nodes(self.partition, wanted)}
        taken = {host for job, _ in self._queued.values() for host in job.hosts}
        free = {host for host in wanted if host in self.nodes and self.nodes[host].idle} - taken
        count = 0
        for job in list(self.waiting):
            if count < room and free.issuperset(job.hosts):
                number = self.submit(job)
                self._queued[number] = (job, time.monotonic())
                self.waiting.remove(job)
                self.report(f"{job.name}: job {number}")
                free -= set(job.hosts)
                count += 1
        return count

    def _cancel_all(self) -> None:
        for number in self._queued:
            self.queue.cancel(number)
        deadline = time.monotonic() + CANCEL_S
        while time.monotonic() < deadline and any(
            not self.queue.state_of(number).ended for number in self._queued
        ):
            time.sleep(0.2)


def pairs(hosts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield every pair once, in rounds of disjoint pairs, so that the pairs of a round can run at the same time.

    The circle method of round-robin tournaments: one host stays in place and the others rotate.
    """
    ring: list[str | None] = [*hosts, *([None] if len(hosts) % 2 else [])]
    for _ in range(len(ring) - 1):
        half = len(ring) // 2
        for one, other in zip(ring[:half], reversed(ring[half:]), strict=True):
            if one is not None and other is not None:
                yield one, other
        ring = [ring[0], ring[-1], *ring[1:-1]]
