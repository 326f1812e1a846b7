"""How many small jobs share a cluster with others: on a queue that is played, second by second."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from hpcscope.errors import ScopeError
from hpcscope.launch.jobs import host_jobs
from hpcscope.launch.jobs.host_jobs import HostJob, HostJobs, pairs
from hpcscope.launch.scheduler import JobState
from hpcscope.launch.schedulers.slurm import SlurmNode, job_state
from hpcscope.rundirectory import RunDirectory
from hpcscope.settings.queue_policy import QueuePolicy


@dataclass
class Played:
    """A queue whose jobs last `lasts` seconds; hosts in `others` are allocated to other people until then."""

    hosts: list[str]
    others: dict[str, float] = field(default_factory=dict)
    lasts: float = 3.0
    now: float = 0.0
    jobs: dict[str, tuple[tuple[str, ...], float]] = field(default_factory=dict)
    stuck: set[tuple[str, ...]] = field(default_factory=set)
    """Whose first job would wait."""
    cancelled: list[str] = field(default_factory=list)
    most: int = 0
    hands: list[tuple[str, ...]] = field(default_factory=list)

    def running(self) -> list[tuple[str, ...]]:
        alive = (job for number, job in self.jobs.items() if number not in self.cancelled)
        return [hosts for hosts, end in alive if end > self.now]

    def submit(self, job: HostJob) -> str:
        taken = {host for hosts in self.running() for host in hosts}
        assert taken.isdisjoint(job.hosts)
        assert all(self.others.get(host, 0.0) <= self.now for host in job.hosts)
        self.hands.append(job.hosts)
        number = str(len(self.jobs) + 1)
        waits = job.hosts in self.stuck
        self.stuck.discard(job.hosts)
        self.jobs[number] = (job.hosts, float("inf") if waits else self.now + self.lasts)
        self.most = max(self.most, len(self.running()))
        return number

    def state_of(self, number: str) -> JobState:
        _, end = self.jobs[number]
        if number in self.cancelled:
            return job_state("CANCELLED")
        if end == float("inf"):
            return job_state("PENDING", "Resources")
        return job_state("COMPLETED", "None", 0) if end <= self.now else job_state("RUNNING")

    def cancel(self, number: str) -> None:
        self.cancelled.append(number)

    def nodes(self, partition: str | None, wanted: tuple[str, ...] = ()) -> list[SlurmNode]:
        taken = {host for hosts in self.running() for host in hosts}
        busy = taken | {host for host, until in self.others.items() if until > self.now}
        return [SlurmNode(host, "allocated" if host in busy else "idle") for host in self.hosts if host in wanted]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Any:
    def played(queue: Played, groups: list[tuple[str, ...]], **policy: Any) -> HostJobs:
        def sleep(_seconds: float) -> None:
            queue.now += 1.0
            assert queue.now < 10000, "it never ends"

        monkeypatch.setattr(host_jobs.time, "sleep", sleep)
        monkeypatch.setattr(host_jobs.time, "monotonic", lambda: queue.now)
        jobs = [HostJob("--".join(group), group, RunDirectory(Path("/nowhere"))) for group in groups]
        return HostJobs(queue, None, jobs, QueuePolicy(**policy), queue.submit, lambda _line: None)  # type: ignore[arg-type]

    return played


@pytest.mark.parametrize("count", [2, 3, 7, 8])
def test_pairs_come_in_disjoint_rounds(count: int) -> None:
    hosts = [f"n{number}" for number in range(count)]
    found = list(pairs(hosts))
    assert sorted(tuple(sorted(pair)) for pair in found) == sorted(combinations(hosts, 2))
    size = count // 2
    for start in range(0, len(found), size):
        names = [host for pair in found[start : start + size] for host in pair]
        assert len(set(names)) == len(names)


def test_all_pairs_of_eight_take_seven_rounds(play: Any) -> None:
    hosts = [f"n{number}" for number in range(8)]
    queue = Played(hosts)
    done = play(queue, list(pairs(hosts)))
    done.run()
    assert (len(done.ended), done.waiting, queue.most) == (28, [], 4)
    assert queue.now <= 7 * (queue.lasts + 1)


def test_no_more_jobs_at_once_than_allowed(play: Any) -> None:
    hosts = [f"n{number}" for number in range(9)]
    queue = Played(hosts)
    done = play(queue, [(host,) for host in hosts], max_jobs=2)
    done.run()
    assert (len(done.ended), queue.most) == (9, 2)


def test_busy_hosts_are_left_alone_and_named(play: Any) -> None:
    queue = Played(["a", "b", "c"], others={"b": 1e9})
    done = play(queue, [("a",), ("b",), ("c",)])
    done.run()
    assert queue.hands == [("a",), ("c",)]
    assert [done.why_not(job) for job in done.waiting] == ["b (allocated)"]


def test_hosts_that_become_idle_in_time_are_waited_for(play: Any) -> None:
    queue = Played(["a", "b"], others={"b": 50.0})
    done = play(queue, [("a",), ("b",)], max_wait_s=100)
    done.run()
    assert (done.waiting, queue.hands) == ([], [("a",), ("b",)])
    hasty = play(Played(["a", "b"], others={"b": 50.0}), [("a",), ("b",)], max_wait_s=20)
    hasty.run()
    assert [job.name for job in hasty.waiting] == ["b"]


def test_a_controller_that_is_silent_at_first_is_asked_again(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Played(["a"])
    answers, silent = queue.nodes, iter([True, True])

    def nodes(partition: str | None, wanted: tuple[str, ...] = ()) -> list[SlurmNode]:
        if next(silent, False):
            raise ScopeError("sinfo: Unable to contact slurm controller")
        return answers(partition, wanted)

    monkeypatch.setattr(queue, "nodes", nodes)
    done = play(queue, [("a",)])  # waits for no host
    done.run()
    assert (queue.hands, done.waiting) == ([("a",)], [])


def test_a_job_that_would_wait_is_withdrawn_and_tried_again(play: Any) -> None:
    queue = Played(["a", "b"], stuck={("a",)})
    done = play(queue, [("a",), ("b",)], max_pending_s=5)
    done.run()
    assert queue.cancelled == ["1"]
    assert (queue.hands, done.waiting) == ([("a",), ("b",), ("a",)], [])


def test_an_interruption_leaves_nothing_in_the_queue(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Played(["a", "b"])
    done = play(queue, [("a",), ("b",)])

    def interrupted(_seconds: float) -> None:
        monkeypatch.setattr(host_jobs.time, "sleep", lambda _seconds: None)
        raise KeyboardInterrupt

    monkeypatch.setattr(host_jobs.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        done.run()
    assert queue.cancelled == ["1", "2"]


def test_a_controller_that_is_away_for_a_moment_does_no_harm(play: Any) -> None:
    queue = Played(["a"])
    answers = queue.state_of
    silent = iter([True, True, False])

    def state_of(number: str) -> JobState:
        if next(silent, False):
            raise ScopeError("scontrol: no answer")
        return answers(number)

    queue.state_of = state_of  # type: ignore[method-assign]
    done = play(queue, [("a",)])
    done.run()
    assert len(done.ended) == 1
