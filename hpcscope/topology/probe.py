"""The real prober: the native program on every host, which takes requests on its standard input."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import psutil

from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch import processes
from hpcscope.launch.cluster import Cluster
from hpcscope.launch.diagnosis import diagnose
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import Command, MpiProgram
from hpcscope.plan.placement import Placement
from hpcscope.private import temporary_folder
from hpcscope.settings.hosts import HostSlots
from hpcscope.topology.prober import Answer
from hpcscope.topology.sharing import Transfer
from hpcscope.topology.topology import InsideHost

RANKS_PER_HOST = 2
"""One rank sends and receives over the network; the second one measures inside the host."""
START_S = 60.0
STARTS = 2
"""Starts of a launcher: if its ranks do not answer within START_S, it is ended and started again."""
TIMEOUT_S = 150.0
"""Longer than the timeout of the native program."""
SINGLE_STREAM_S, STREAM_S, LONGEST_STREAM_S = 0.1, 0.2, 3.0
CHUNK_S = 2.5e-3
"""Time of a chunk at the fastest rate seen: short compared with a stream, long compared with its overhead."""
SMALLEST_CHUNK, LARGEST_CHUNK = 4096, 1 << 22
LOADED_S = 0.4
"""Duration of streams at a set rate."""
PACED_CHUNK_S, SMALLEST_PACED_CHUNK = 1e-3, 1024
WINDOW = 8
"""Chunks in flight: enough for a receiver to be late."""
FEWEST_CHUNKS = 8
MOST_ATTEMPTS = 4
STARVED_ATTEMPTS = 3
"""Most attempts of a measurement that lacks processors."""
FASTER_THAN_ALONE = 4.0
"""A transfer that among others appears this many times as fast as alone is measured again: chunks that waited
behind a lost one arrive all at once."""
FIRST_GUESS = 4e6
"""Assumed rate in bytes per second of a path that was never used."""
NAP_US = 500
"""Pause of waiting ranks that share processors with each other."""
ECHOES = 30
WAITED = 0.6
"""Fraction of time without a processor above which a receiver's rate does not show the rate of the network."""
STOLEN = 0.1
"""Fraction of processor time withheld by the hypervisor above which rates do not show those of emulated links."""
LIGHT = 60e6
"""Bytes per second that any processor sustains, even a busy one."""


@dataclass
class Probe:
    """The running ranks, and the latencies that they measured so far."""

    hosts: list[str]
    ranks: dict[str, list[int]]
    nap_us: int
    _ask: Any
    latencies: dict[frozenset[str], float] = field(default_factory=dict)

    def rates(self, transfers: Sequence[Transfer], expected: Sequence[float]) -> Answer:
        """Run transfers concurrently, again with larger chunks or longer until the rates no longer change."""
        ends = [(self.ranks[transfer.source][0], self.ranks[transfer.target][0]) for transfer in transfers]
        round_trips = [self._round_trip(transfer) for transfer in transfers]
        chunks = [self._chunk(rate or FIRST_GUESS, trip) for rate, trip in zip(expected, round_trips, strict=True)]
        ceilings = [FASTER_THAN_ALONE * rate if rate and len(ends) > 1 else np.inf for rate in expected]
        answers: list[Answer] = []
        for _ in range(STARVED_ATTEMPTS):
            answers.append(self._stream(ends, chunks, round_trips, ceilings))
            if not answers[-1].starved:
                break
        # If processors were short each time, the fastest result suffered least.
        best = max(answers, key=lambda answer: float(answer.rates.sum()))
        return replace(best, starved=answers[-1].starved, attempts=sum(answer.attempts for answer in answers))

    def loaded(
        self, transfers: Sequence[Transfer], rates: Sequence[float], pair: Transfer
    ) -> tuple[Answer, list[float]]:
        """Run transfers at these rates at most; return what they delivered, and latencies (RTT/2) of a pair."""
        first, second = self.ranks[pair.source][0], self.ranks[pair.target][0]
        ends = [(self.ranks[transfer.source][0], self.ranks[transfer.target][0]) for transfer in transfers]
        words = [
            f"{a} {b} {self._paced_chunk(rate)} {WINDOW} {rate:.0f}"
            for (a, b), rate in zip(ends, rates, strict=True)
        ]
        reply = self._ask(f"loaded {LOADED_S:g} {self.nap_us} {first} {second} {' '.join(words)}")
        for each, replied in zip(transfers, reply["transfers"], strict=True):
            if not replied["correct"]:
                raise ScopeError(f"what {each.target} received from {each.source} differs from what was sent")
        delivered = np.array([sent["bytes"] / max(sent["seconds"], 1e-9) for sent in reply["transfers"]])
        waited = max(float(sent["starved"]) for sent in reply["transfers"])
        starved = self.nap_us > 0 and waited > WAITED and float(delivered.sum()) > LIGHT
        return Answer(delivered, starved), list(reply["half_round_trips_s"])

    @staticmethod
    def _paced_chunk(rate: float) -> int:
        """Return the size of a chunk that is small and sent often, since waiting behind chunks is measured."""
        return int(min(max(rate * PACED_CHUNK_S, SMALLEST_PACED_CHUNK), LARGEST_CHUNK)) // 16 * 16

    def latency(self, a: str, b: str) -> float:
        """Return the median one-way latency (RTT/2) of an empty message, in seconds."""
        first, second = (self.ranks[a][0], self.ranks[b][0]) if a != b else self.ranks[a][:2]
        reply = self._ask(f"latency {first} {second} {ECHOES}")
        latency = float(np.median(reply["half_round_trips_s"]))
        self.latencies[frozenset((a, b))] = latency
        return latency

    def inside_host(self) -> InsideHost | None:
        """Measure between two ranks of one host; None if no host has two."""
        dual = [host for host in self.hosts if len(self.ranks[host]) > 1]
        if not dual:
            return None
        host = dual[0]
        latency = self.latency(host, host)
        first, second = self.ranks[host][:2]
        rate = float(self._stream([(first, second)], [LARGEST_CHUNK // 4], [2 * latency], [np.inf]).rates[0])
        return InsideHost(latency_s=latency, bandwidth_bytes_per_s=rate)

    def _stream(
        self,
        ends: Sequence[tuple[int, int]],
        chunks: list[int],
        round_trips: Sequence[float],
        ceilings: Sequence[float],
    ) -> Answer:
        """Run transfers; no chunk grows beyond what its ceiling rate needs, since it could take far too long."""
        seconds = STREAM_S if len(ends) > 1 else SINGLE_STREAM_S
        attempts = 0
        while attempts < MOST_ATTEMPTS:
            attempts += 1
            words = [f"{a} {b} {chunk} {WINDOW}" for (a, b), chunk in zip(ends, chunks, strict=True)]
            before = psutil.cpu_times()
            replies = self._ask(f"transfers {seconds:g} {self.nap_us} {' '.join(words)}")["transfers"]
            for (a, b), reply in zip(ends, replies, strict=True):
                if not reply["correct"]:
                    raise ScopeError(f"what rank {b} received from rank {a} differs from what was sent")
            rates = np.array([reply["bytes"] / max(reply["seconds"], 1e-9) for reply in replies])
            waited = max(float(reply["starved"]) for reply in replies)
            stolen = _stolen(before)
            plausible = np.minimum(rates, ceilings)
            needed = [self._chunk(rate, trip) for rate, trip in zip(plausible, round_trips, strict=True)]
            grown = [max(old, new) for old, new in zip(chunks, needed, strict=True)]
            arrived = min(reply["bytes"] / chunk for reply, chunk in zip(replies, chunks, strict=True))
            if any(new > 1.5 * old for old, new in zip(chunks, grown, strict=True)):
                chunks = grown
            elif (arrived < FEWEST_CHUNKS or (rates > plausible).any()) and seconds < LONGEST_STREAM_S:
                chunks = needed
                seconds = min(LONGEST_STREAM_S, seconds * max(2.0, FEWEST_CHUNKS / max(arrived, 1.0)))
            else:
                break
        starved = self.nap_us > 0 and (waited > WAITED or stolen > STOLEN) and float(rates.sum()) > LIGHT
        return Answer(rates, starved, attempts)

    def _round_trip(self, transfer: Transfer) -> float:
        pair = frozenset((transfer.source, transfer.target))
        return 2 * self.latencies.get(pair, max(self.latencies.values(), default=0.0))

    def _chunk(self, rate: float, round_trip: float) -> int:
        """Return the size of a chunk that is long enough for this rate and whose window covers the round trip."""
        wanted = rate * max(CHUNK_S, round_trip / 2)
        return int(min(max(wanted, SMALLEST_CHUNK), LARGEST_CHUNK)) // 16 * 16


def _stolen(before: Any) -> float:
    """Return the fraction of this host's processor time since `before` that the hypervisor gave to others."""
    now = psutil.cpu_times()
    return float((now.steal - before.steal) / max(sum(now) - sum(before), 1e-9))


@contextmanager
def started(cluster: Cluster, program: str, oversubscribed: bool) -> Iterator[Probe]:
    """Start the native program on every host of a cluster and yield the probe that measures between the hosts.

    `oversubscribed`: hosts, or their ranks, share processors. Raises UsageError if there is only one host,
    ScopeError if the ranks do not answer. Nothing is left running when the context ends.
    """
    if len(cluster.site.hosts) < 2:
        only = cluster.hosts[0].name
        raise UsageError(
            f"only one host ({only}): a topology needs two hosts; name them with --hosts a,b or --hostfile"
        )
    counts = [min(RANKS_PER_HOST, slots) for slots in cluster.place.slots]
    slots = tuple(HostSlots(host.name, n) for host, n in zip(cluster.site.hosts, counts, strict=True))
    site = replace(cluster.site, hosts=slots, ranks_per_host=None)
    with temporary_folder("topology") as folder:
        argument = f"--progress={folder}/progress"  # identifies its processes
        job = MpiProgram(program, ("--action=probe", argument), ranks=sum(counts))
        command = Cluster(site, cluster.hosts).start(job, Placement(site.binding))
        with ExitStack() as stack:
            for left in reversed(range(STARTS)):
                talk = stack.enter_context(_running(command, argument, Path(folder) / "stderr.txt"))
                try:
                    probe = _introduced(talk, oversubscribed)
                    break
                except _SilentError:
                    if not left:
                        raise
                    stack.close()
            yield probe
            talk.end()


@contextmanager
def _running(command: Command, argument: str, log: Path) -> Iterator[_Talk]:
    """Start the ranks, which get this argument, and end them with the context."""
    with launch_environment(command.environment) as variables, log.open("w+") as errors:
        try:
            process = subprocess.Popen(
                command.arguments,
                env=variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"{command.arguments[0]}: does not start: {error.strerror}") from error
        try:
            yield _Talk(process, errors)
        finally:
            processes.end(process, lambda: processes.with_argument(argument))


def _introduced(talk: _Talk, oversubscribed: bool) -> Probe:
    ranks: dict[str, list[int]] = {}
    for rank, host in enumerate(talk.hear(START_S)["hosts"]):
        ranks.setdefault(host, []).append(rank)
    if len(ranks) < 2:
        raise UsageError(f"all ranks are on one host ({next(iter(ranks))}): a topology needs two hosts")
    return Probe(list(ranks), ranks, NAP_US if oversubscribed else 0, talk.ask)


class _SilentError(ScopeError):
    """The ranks did not answer."""


class _Talk:
    """Requests to rank 0 and its answers, line by line."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[str]) -> None:
        self._process = process
        self._errors = errors
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, question: str) -> dict[str, Any]:
        """Return the answer to a request; ScopeError if there is none."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(question.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise ScopeError(self._ended()) from None
        answer = self.hear(TIMEOUT_S)
        if "error" in answer:
            raise ScopeError(f"the probe rejects '{question[:60]}': {answer['error']}")
        return answer

    def end(self) -> None:
        """Let the ranks end."""
        assert self._process.stdin is not None
        with suppress(OSError, subprocess.TimeoutExpired):
            self._process.stdin.write(b"end\n")
            self._process.stdin.close()
            self._process.wait(5.0)

    def hear(self, timeout_s: float) -> dict[str, Any]:
        """Return the next answer of the probe; other output is skipped."""
        while True:
            try:
                line = self._lines.get(timeout=timeout_s)
            except queue.Empty:
                words = f"the ranks did not answer within {timeout_s:g} s"
                raise _SilentError(f"{words}; does the launcher forward its standard input to rank 0?") from None
            if not line:
                raise ScopeError(self._ended())
            if line.startswith(b'{"record":"probe"'):
                answer: dict[str, Any] = json.loads(line)
                return answer

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _ended(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(processes.GRACE_S)
        self._errors.seek(0)
        said = self._errors.read()
        if self._process.returncode == 0 and not said.strip():
            return "the ranks ended immediately; does the launcher forward its standard input to rank 0?"
        return f"the ranks ended during the measurement: {diagnose(said).text}"
