"""`health.json`: what every visit to every host measured; verdicts follow from it alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated, Literal

from pydantic import Field, model_validator

from hpcscope.strict import Printable, Strict, Unix

FILE = "health.json"
"""The file that marks the run directory of a check."""
NAME = "health"
"""The name of a check among other runs."""
PREFIX = f"{NAME}."
"""Start of the names of its values, as in `health.memory_bandwidth`."""


class Value(Strict):
    """One value of one visit."""

    check: str
    place: str
    """A NUMA node; empty for the whole host."""
    value: float = Field(gt=0, allow_inf_nan=False)
    """The value in the unit of the check: bytes or operations per second, seconds, or a fraction."""


class Visit(Strict):
    """One start of the native program on one host."""

    host: str
    stage: Literal[1, 2]
    """2: the host was visited again, as a suspect or as a partner of one."""
    started_unix_s: Unix
    """Time before the start, by the clock of the host where the command runs."""
    ended_unix_s: Unix
    begun_there_unix_s: Unix = 0
    """Time by the clock of the visited host; 0 if it did not answer."""
    ended_there_unix_s: Unix = 0
    values: list[Value] = []
    facts: dict[str, Printable] = {}
    """Facts of the host; empty if its first answer had the same facts."""
    before: dict[str, int] = {}
    """Fault counters when the visit began."""
    after: dict[str, int] = {}
    error: str = ""
    """Why the answer is incomplete; empty if it is complete."""

    @property
    def answered(self) -> bool:
        """Whether the visit was completed."""
        return not self.error


REPETITIONS = 6
"""Repetitions of each measurement of a link in a visit, as in `measure/health/main.cpp`."""
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class LinkVisit(Strict):
    """One measurement between two hosts over a TCP connection; every list has a value for each repetition."""

    first: str
    second: str
    """The host that listens; forward means from the first host to this one."""
    stage: Literal[1, 2]
    """2: measured again, with suspects and partners."""
    started_unix_s: Unix
    ended_unix_s: Unix
    latency_s: list[Positive] = []
    """One-way latency (RTT/2) of 64 bytes."""
    forward: list[Positive] = []
    """Bytes per second, one direction alone."""
    backward: list[Positive] = []
    forward_at_once: list[Positive] = []
    """Bytes per second while the other direction is busy, too."""
    backward_at_once: list[Positive] = []
    error: str = ""

    @model_validator(mode="after")
    def _whole(self) -> LinkVisit:
        lists = (self.latency_s, self.forward, self.backward, self.forward_at_once, self.backward_at_once)
        if not self.error and {len(values) for values in lists} != {REPETITIONS}:
            raise ValueError(f"must have {REPETITIONS} values of each measurement")
        return self


class HealthFile(Strict):
    """`health.json`."""

    format: int
    scope_version: str
    command: list[str]
    origin: Literal["measured", "emulated"]
    hosts: list[str]
    """Hosts in the order of the site."""
    seconds: float = Field(gt=0, allow_inf_nan=False)
    """Measuring time of each visit."""
    seed: int
    started_unix_s: Unix
    finished_unix_s: Unix
    visits: list[Visit]
    links: list[LinkVisit] = []
    status: Literal["finished", "interrupted"] = "finished"
    """Interrupted: the record has what was measured until then."""

    @model_validator(mode="after")
    def _of_its_hosts(self) -> HealthFile:
        named = {visit.host for visit in self.visits}
        named.update(host for visit in self.links for host in (visit.first, visit.second))
        if unknown := named.difference(self.hosts):
            raise ValueError(f"visits: host {min(unknown)!r}: must be one of `hosts`")
        return self


Kept = Callable[[HealthFile], Iterable[HealthFile]]
"""Returns the checks that precede a given one and are kept elsewhere, the newest first."""


def nothing_kept(_record: HealthFile) -> Iterable[HealthFile]:
    """Return no checks, for use without a repository."""
    return ()


def fleet(record: HealthFile) -> dict[str, str]:
    """Return each fact with its most frequent values."""
    known = {visit.host: visit.facts for visit in reversed(record.visits) if visit.answered}
    names = dict.fromkeys(name for facts in known.values() for name in facts)
    counted = {name: Counter(facts[name] for facts in known.values() if name in facts) for name in names}
    return {name: ", ".join(value for value, _ in counts.most_common(3)) for name, counts in counted.items()}
