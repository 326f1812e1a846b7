"""The lines of `samples.jsonl`, as the native program and the supervisor write them.

A `launch` line opens every start of the native program and says where its ranks ran and how good the clock was; a
`case` line contains all raw times of one case in that launch; a `sentinel` line gives the time of a fixed workload
between two cases. In an imported run, `printed` lines contain the values of another program. If the throughput of
a mix is measured, a `job` line is one job, and a `round` line ends each round. Times are in seconds.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, FiniteFloat, JsonValue, model_validator

from hpcscope.catalog.benchmark import Definition, Quantity, Value
from hpcscope.catalog.ranks import GROUP
from hpcscope.plan.case import Batch, Case
from hpcscope.plan.placement import Placement
from hpcscope.strict import Strict, Unix

Origin = Literal["measured", "emulated", "simulated", "imported"]
"""Origin of values: real hosts, a lab, a simulation, the output of another program."""
Status = Literal["ok", "failed", "unavailable", "timeout", "crashed"]
LONGEST_S = 1e7
"""Longest measurable time: about four months."""
SHORTEST_S = 1e-12
"""Shortest measurable time: no clock resolves less."""
OVERHEAD_S = 1e-6
"""The cost of reading the clock is subtracted; occasionally it exceeds a very short operation by nanoseconds."""


def _measurable(seconds: float) -> float:
    """Return a time that a clock can have measured; raises ValueError for any other."""
    if seconds != 0 and not (abs(seconds) >= SHORTEST_S and -OVERHEAD_S < seconds <= LONGEST_S):
        raise ValueError(f"must be 0, or from {SHORTEST_S:g} to {LONGEST_S:g} s")
    return seconds


Elapsed = Annotated[float, AfterValidator(_measurable)]
Repetition = Annotated[float, Field(gt=-OVERHEAD_S, le=LONGEST_S)]
"""An elapsed time among very many: `samples.py` refuses times that are too short, in one pass."""
Moment = Annotated[float, Field(ge=-LONGEST_S, le=LONGEST_S)]
"""Relative to another time of the same repetition."""
Rank = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]


class Line(Strict):
    """Any line of the file."""

    crc32: int | None = Field(None, ge=0, lt=2**32)
    """Checksum of everything before it (hpcscope/checksum.py); None in runs from before there were checksums."""


class Process(Strict):
    """Where one rank ran."""

    rank: Rank
    host: str
    pid: int
    processors: list[int]
    """Logical processors that the operating system allowed it to run on."""


class Clock(Strict):
    """The properties of the launch's clock (the worst of all ranks)."""

    source: str
    """`tsc`, `cntvct`, `timebase` or `clock_gettime`."""
    frequency_hz: float
    resolution_s: float
    """The step of its counter."""
    overhead_s: float
    """Cost of one start/stop pair, which is subtracted from every time."""
    monotonic: bool
    fallback_reason: str
    """Why no register timer is used; empty if one is."""


class ClockSynchronization(Strict):
    """How the clocks of several hosts were synchronized, and how well."""

    method: str
    hosts: int
    error_s: float
    """Largest offset left between two hosts or two ranks of a host, measured after synchronization."""
    error_at_end_s: float | None = None
    """Error measured when the launch ended (`end` line)."""
    drift: list[float] = []
    """Relative drift of each host's clock against rank 0's."""


class CommonStart(Strict):
    """How ranks leave the wait for a common start: medians over empty repetitions."""

    lag_s: float
    """From the agreed start to the entry of the first rank."""
    spread_s: float
    """From the entry of the first rank to the entry of the last."""


class LaunchRecord(Line):
    """One start of the native program."""

    record: Literal["launch"]
    format: int
    launch: Count
    attempt: Count
    ranks: Annotated[int, Field(ge=1)]
    origin: Origin
    transport: str
    placement: Placement
    started_unix_s: Unix
    library: str
    mpi_standard: str
    settings: dict[str, Value] = {}
    """The library's own settings (MPI_T control variables): eager limits, algorithms."""
    processes: list[Process]
    clock: Clock
    clock_synchronization: ClockSynchronization
    common_start: CommonStart | None = None
    """None if the ranks do not wait for a common start: a single rank, or ranks that share processors."""

    @property
    def batch(self) -> Batch:
        """Ranks, transport and placement, which the launch fixes for all its cases."""
        return self.ranks, self.transport, self.placement


class EndRecord(Line):
    """A launch that ended normally."""

    record: Literal["end"]
    launch: Count
    attempt: Count
    duration_s: Elapsed
    clock_error_s: float
    """Largest offset between hosts' synchronized clocks at the end."""
    outside_s: float | None = Field(None, ge=0)
    """CPU time of processes outside the lab during the launch; None if the hosts are real."""


class Verification(Strict):
    """Whether the data were right; checked outside the timed part."""

    passed: bool
    checks: Count
    """Number of compared values."""
    cost_s: float
    digested_share: float = 1.0
    """Least fraction of a repetition's data that was compared with the data of others.

    The last repetition on the same data is verified in full; one wrong byte in another repetition is missed with a
    probability of 1 minus this fraction.
    """
    message: str


class Work(Strict):
    """What one operation moves and computes, as declared by the benchmark."""

    bytes: float
    flops: float
    messages: float
    steps: float = 0.0
    """Number of successive steps inside an operation: hops round a ring, accesses of a chain."""

    def of(self, quantity: Quantity, case: Case) -> float:
        """Return the work that a metric divides by the time; if p ranks communicate, (p-1)/p of the bytes move."""
        if quantity == "moved_bytes":
            return self.bytes * (1 - 1 / (int(case.parameters.get(GROUP, 0)) or case.ranks))
        return float(getattr(self, "steps" if quantity == "time_per_step" else quantity))


class Extremes(Strict):
    """Extreme values of each repetition over all ranks, kept if there are too many ranks to keep every time."""

    minimum_s: list[Elapsed]
    minimum_rank: list[Rank]
    maximum_s: list[Elapsed]
    maximum_rank: list[Rank]
    mean_s: list[Elapsed]
    first_entry_s: list[Moment]
    latest_exit_s: list[Moment]


class Series(Strict):
    """Raw times of one cadence of a case, in the order in which they were taken.

    `elapsed_s[k][i]` is the time of repetition i on rank `ranks_kept[k]`, over `operations` operations, timer
    overhead subtracted. `entry_s` (collectives only) is when that rank entered, relative to the agreed start of
    the repetition on the synchronized clock.
    """

    cadence: Literal["isolated", "streaming", "barrier_loop"]
    """Isolated: ranks synchronized before every repetition; streaming: operations back to back; barrier_loop:
    the thesis's loop of the operation followed by a barrier."""
    synchronization: Literal["none", "dissemination", "window"]
    operations: int
    warmup: int
    """Number of leading repetitions that are warm-up."""
    ranks_kept: list[Rank]
    elapsed_s: list[list[Repetition]]
    entry_s: list[list[Moment]] | None = None
    valid: list[bool] | None = None
    """Per repetition; absent means that all are valid. False: a rank started late in its window."""
    observed: dict[str, list[list[float]]] = {}
    """Further quantities per kept rank and repetition, for example the phases of an algorithm."""
    observed_maximum: dict[str, list[float]] | None = None
    """Per repetition over all ranks, if some ranks are not kept."""
    extremes: Extremes | None = None
    medians_s: list[Repetition] | None = None
    """Median of every rank after the warm-up, for pairs on more ranks than can keep all their times."""


class RankState(Strict):
    """What one rank was doing when its case was terminated."""

    rank: Rank
    host: str
    pid: int
    stage: str
    repetition: int
    last_heartbeat_s: float
    """Seconds between its last heartbeat and the termination."""
    state: str
    """State of its process: running, sleeping, stopped, gone, or unknown."""
    arrived: bool
    """Whether it had reached the point at which the others waited."""

    def __str__(self) -> str:
        return f"rank {self.rank} on {self.host} ({self.state})"


class OverRanks(Strict):
    """Sum and maximum of a count over all ranks."""

    sum: Count
    maximum: Count


class Disturbances(Strict):
    """What else happened to the ranks and their hosts while the case was sampled, including verification."""

    voluntary_switches: OverRanks
    """Times that a rank waited inside the kernel."""
    involuntary_switches: OverRanks
    """Times that a rank had to leave its processor to another process."""
    major_faults: OverRanks
    """Times that a page had to be read from a disk."""
    migrations: OverRanks | None = None
    """Times that a rank moved to another processor; None if the kernel does not report it."""
    waited_s: float | None = None
    """Run-queue wait time of the rank with most of it: it was ready, but another process had its processor.
    None if the kernel does not report it."""
    steal_s: float
    """Steal time: CPU time that a hypervisor withheld, over all processors of the host with most of it."""


class RangeOverRanks(Strict):
    """The smallest and the largest value over all ranks."""

    minimum: float
    maximum: float


class Conditions(Strict):
    """What the kernel reports about processors and memory at the end of a visit."""

    frequency_hz: RangeOverRanks | None = None
    """Of the processors that the ranks ran on; None if the kernel does not report it, as in virtual machines."""
    huge_pages_bytes: RangeOverRanks | None = None
    """Anonymous memory of a rank in huge pages."""


class CaseRecord(Line):
    """All raw times of one case in one launch, or the reason why there are none."""

    record: Literal["case"]
    launch: Count
    attempt: Count
    position: Count
    """Place in the launch's shuffled order, from 0."""
    benchmark: str
    parameters: dict[str, Value]
    ranks: Annotated[int, Field(ge=1)]
    status: Status
    reason: str = ""
    started_unix_s: Unix
    duration_s: Elapsed
    verification: Verification | None = None
    work: Work | None = None
    disturbances: Disturbances | None = None
    """None if nothing was measured."""
    conditions: Conditions | None = None
    """None if nothing was sampled."""
    stopped: Literal["precision", "budget", "repetitions", ""] = ""
    """Why sampling ended."""
    relative_interval: float | None = None
    """Half width of the median's 95 % interval over the median when sampling ended."""
    median_s: float | None = None
    """Median time of one operation under the benchmark's own definition of time, without warm-up."""
    settings: dict[str, Value] = {}
    """Settings that a library granted to this case alone: for MPI-IO, its implementation and effective hints."""
    series: list[Series] = []
    rank_states: list[RankState] = []
    """What each rank of a case that was terminated was doing."""

    @model_validator(mode="after")
    def _consistent(self) -> CaseRecord:
        """Refuse a result that was not verified, and ranks that the case does not have."""
        if self.status == "ok" and self.series and not (self.verification and self.verification.passed):
            raise ValueError("status = ok: must have verification.passed = true")
        for series in self.series:
            if beyond := [rank for rank in series.ranks_kept if rank >= self.ranks]:
                raise ValueError(f"series.ranks_kept = {beyond[0]}: must be less than ranks = {self.ranks}")
        return self


class SentinelRecord(Line):
    """The time of a small fixed workload between two cases: the same work during the whole run.

    Launches whose ranks share processors have none.
    """

    record: Literal["sentinel"]
    launch: Count
    attempt: Count
    started_unix_s: Unix
    duration_s: Elapsed
    """Time of everything on rank 0, including preparation."""
    ranks_kept: list[Rank]
    arithmetic_s: list[Elapsed]
    """Dependent operations in registers; one value per kept rank, as in the following keys."""
    throughput_s: list[Elapsed] = []
    """Independent multiply-adds in registers."""
    bandwidth_s: list[Elapsed] = []
    """Reading memory that is not in any cache."""
    memory_s: list[Elapsed]
    """Dependent loads from a buffer beyond the second-level cache."""
    ping_pong_s: Elapsed | None = None
    """Round trips of rank 0 with the next rank of its host; None if its host has no other rank."""


Statistic = Literal["each", "mean", "median", "minimum", "maximum"]
"""The statistic of the repetitions that a printed value is; `each`: the values are the repetitions."""

Beside = Literal[
    "ci_low",
    "ci_high",
    "mean",
    "coefficient_of_variation",
    "minimum",
    "maximum",
    "p05",
    "p25",
    "p75",
    "p95",
    "p99",
]
"""Further statistics of the same repetitions, named as in `statistics.json`."""


class PrintedRecord(Line):
    """A value of a case as another program printed it, in the unit of its metric."""

    record: Literal["printed"]
    launch: Count
    """Number of the output among several of the same case, from 0."""
    benchmark: str
    parameters: dict[str, Value]
    ranks: Annotated[int, Field(ge=1)]
    transport: str = "default"
    placement: Placement = Placement()
    metric: str
    definition: Definition | Literal["observed"]
    values: Annotated[list[FiniteFloat], Field(min_length=1)]
    """One value, or all repetitions if the statistic is `each`."""
    statistic: Statistic
    repetitions: Annotated[int, Field(ge=1)] | None = None
    """Number of repetitions behind the statistic; None if it was not printed."""
    beside: dict[Beside, FiniteFloat] = {}
    failure: str = ""
    """Why the program says that its result is wrong; empty if it does not."""
    origin: Origin = "imported"
    """Different in an export of Scope that was read again: values of a lab keep their origin."""
    summary: dict[str, JsonValue] = {}
    """What an export of Scope contains of `statistics.json`, with the same keys."""
    file: str
    line: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _consistent(self) -> PrintedRecord:
        """Refuse several values of one statistic."""
        if self.statistic != "each" and len(self.values) != 1:
            raise ValueError(f"values: {len(self.values)}: must be one value if statistic = {self.statistic}")
        return self

    @property
    def words(self) -> str:
        """The statistic in words: `mean of 10,000 repetitions`."""
        if self.repetitions == 1:
            return "1 repetition"
        return f"{self.statistic} of {self.repetitions:,} repetitions" if self.repetitions else self.statistic


class JobRecord(Line):
    """One job of a mix, from the start of its launcher to its end."""

    record: Literal["job"]
    round: Annotated[int, Field(ge=1)]
    job: str
    """Its name in the declaration in `benchmarks.json`."""
    ranks: Annotated[int, Field(ge=1)]
    beside: Literal["nothing", "mix"]
    """Whether it had the machine to itself, or ran together with the other jobs of the mix."""
    origin: Origin
    status: Literal["ok", "failed", "timeout", "wrong"]
    reason: str = ""
    """Why it is not ok; empty if it is."""
    started_unix_s: Unix
    elapsed_s: Elapsed
    processor_s: Annotated[float, Field(ge=0, le=1e12)] | None
    """CPU time of all ranks, user and system; None if not every rank reported it."""


class RoundRecord(Line):
    """The end of a round, in which every job of the mix ran alone and all of them ran side by side."""

    record: Literal["round"]
    round: Annotated[int, Field(ge=1)]
    mix: str
    """Its name in the declaration in `benchmarks.json`."""
    slots: Annotated[int, Field(ge=1)]
    """Number of processors that the jobs could use."""
    jobs: Count
    """Number of its jobs, alone and side by side, each with a line."""
    origin: Origin
    started_unix_s: Unix
    """Start of the jobs that ran side by side."""
    elapsed_s: Elapsed
    """From the start of the first of these jobs to the end of the last."""


Record = Annotated[
    LaunchRecord | CaseRecord | SentinelRecord | EndRecord | PrintedRecord | JobRecord | RoundRecord,
    Field(discriminator="record"),
]
