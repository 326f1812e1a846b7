"""The lines of `samples.jsonl`, as the native program and the supervisor write them.

A `launch` line opens every start of the native program and says where its processes ran and how good the
clock was; a `case` line holds all raw times of one case in that launch; a `sentinel` line says how long a fixed
workload took between two cases. In an imported run `printed` lines hold the figures of another program. Where the
throughput of a mix is measured, a `job` line is one job, and a `round` line ends each round. Times are seconds.
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
"""A third of a year."""
SHORTEST_S = 1e-12
"""No clock resolves less."""
OVERHEAD_S = 1e-6
"""The cost of reading the clock is subtracted. Now and then it exceeds a very short operation by nanoseconds."""


def _measurable(seconds: float) -> float:
    """Return a time that a clock can have measured; ValueError for any other."""
    if seconds != 0 and not (abs(seconds) >= SHORTEST_S and -OVERHEAD_S < seconds <= LONGEST_S):
        raise ValueError(f"must be 0, or from {SHORTEST_S:g} to {LONGEST_S:g} s")
    return seconds


Elapsed = Annotated[float, AfterValidator(_measurable)]
Repetition = Annotated[float, Field(gt=-OVERHEAD_S, le=LONGEST_S)]
"""An elapsed time among very many: `samples.py` refuses those that are too short, all at once."""
Moment = Annotated[float, Field(ge=-LONGEST_S, le=LONGEST_S)]
"""Relative to another time of the same repetition."""
Rank = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]


class Line(Strict):
    """Any line of the file."""

    crc32: int | None = Field(None, ge=0, lt=2**32)
    """Checksum of everything before it (hpcscope/checksum.py); None in runs of before there were checksums."""


class Process(Strict):
    """Where one rank ran."""

    rank: Rank
    host: str
    pid: int
    processors: list[int]
    """Logical processors that the operating system allowed it to run on."""


class Clock(Strict):
    """What the clock of the launch can do (the worst of all ranks)."""

    source: str
    """`tsc`, `cntvct`, `timebase` or `clock_gettime`."""
    frequency_hz: float
    resolution_s: float
    """The step in which it counts."""
    overhead_s: float
    """Cost of one start/stop pair, which is subtracted from every time."""
    monotonic: bool
    fallback_reason: str
    """Why no register timer is used; empty when one is."""


class ClockSynchronization(Strict):
    """How the clocks of several hosts were made one, and how well."""

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
    """From the entry of the first rank to that of the last."""


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
    """None where the ranks do not wait for one: a single rank, or ranks that share processors."""

    @property
    def batch(self) -> Batch:
        """Ranks, transport and placement, which the launch fixes for all its cases."""
        return self.ranks, self.transport, self.placement


class EndRecord(Line):
    """A launch that came to its end."""

    record: Literal["end"]
    launch: Count
    attempt: Count
    duration_s: Elapsed
    clock_error_s: float
    """Largest offset between hosts' synchronized clocks at the end."""


class Verification(Strict):
    """Whether the data was right; checked outside the timed part."""

    passed: bool
    checks: Count
    """Values compared."""
    cost_s: float
    digested_share: float = 1.0
    """Least share of the data of a repetition that was compared with those of others.

    The last repetition on the same data is verified in full; one wrong byte of another one is missed with a
    probability of 1 minus this.
    """
    message: str


class Work(Strict):
    """What one operation moves and computes, as declared by the benchmark."""

    bytes: float
    flops: float
    messages: float
    steps: float = 0.0
    """What follows one after another inside an operation: hops round a ring, accesses of a chain."""

    def of(self, quantity: Quantity, case: Case) -> float:
        """Return what a metric divides by the time; of p ranks that communicate, (p-1)/p of all bytes travel."""
        if quantity == "moved_bytes":
            return self.bytes * (1 - 1 / (int(case.parameters.get(GROUP, 0)) or case.ranks))
        return float(getattr(self, "steps" if quantity == "time_per_step" else quantity))


class Extremes(Strict):
    """Per repetition over all ranks, kept when there are too many ranks to keep every time."""

    minimum_s: list[Elapsed]
    minimum_rank: list[Rank]
    maximum_s: list[Elapsed]
    maximum_rank: list[Rank]
    mean_s: list[Elapsed]
    first_entry_s: list[Moment] | None = None
    """None in runs of before it was recorded: the agreed start counted there."""
    latest_exit_s: list[Moment]


class Series(Strict):
    """Raw times of one cadence of a case, in the order in which they were taken.

    `elapsed_s[k][i]` is the time of repetition i on rank `ranks_kept[k]`, over `operations` operations, timer
    overhead subtracted. `entry_s` (collectives only) is when that rank entered, relative to the agreed start of
    the repetition on the synchronized clock.
    """

    cadence: Literal["isolated", "streaming", "barrier_loop"]
    """Isolated: processes synchronized before every repetition; streaming: operations back to back;
    barrier_loop: the thesis's loop of the operation followed by a barrier."""
    synchronization: Literal["none", "dissemination", "window"]
    operations: int
    warmup: int
    """How many leading repetitions are warm-up."""
    ranks_kept: list[Rank]
    elapsed_s: list[list[Repetition]]
    entry_s: list[list[Moment]] | None = None
    valid: list[bool] | None = None
    """Per repetition; absent means that all are valid. False: a rank started late in its window."""
    observed: dict[str, list[list[float]]] = {}
    """Further quantities per kept rank and repetition, for example the phases of an algorithm."""
    observed_maximum: dict[str, list[float]] | None = None
    """Per repetition over all ranks, where some ranks are not kept."""
    extremes: Extremes | None = None
    medians_s: list[Repetition] | None = None
    """Median of every rank after the warm-up, for pairs on more ranks than keep all their times."""


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
    """Whether it had reached the point that the others waited at."""

    def __str__(self) -> str:
        return f"rank {self.rank} on {self.host} ({self.state})"


class OverRanks(Strict):
    """A count of every rank."""

    sum: Count
    maximum: Count


class Disturbances(Strict):
    """What else happened to the ranks and their hosts while the case was sampled, verification included."""

    voluntary_switches: OverRanks
    """A rank waited inside the kernel."""
    involuntary_switches: OverRanks
    """A rank had to leave its processor to another process."""
    major_faults: OverRanks
    """A page had to be read from a disk."""
    migrations: OverRanks | None = None
    """A rank went to another processor; None where the kernel does not tell."""
    waited_s: float | None = None
    """That the rank with the most was ready and another process had its processor; None where the kernel does not
    tell."""
    steal_s: float
    """Processor time that a hypervisor withheld, over all processors of the host with the most."""


class RangeOverRanks(Strict):
    """The smallest and the largest value of any rank."""

    minimum: float
    maximum: float


class Conditions(Strict):
    """What the kernel shows of processors and memory at the end of a visit."""

    frequency_hz: RangeOverRanks | None = None
    """Of the processors that the ranks ran on; None where the kernel does not tell, as in virtual machines."""
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
    """None in runs of before they were recorded."""
    conditions: Conditions | None = None
    """None where nothing was sampled."""
    stopped: Literal["precision", "budget", "repetitions", ""] = ""
    """Why sampling ended."""
    relative_interval: float | None = None
    """Half width of the median's 95 % interval over the median when sampling ended."""
    median_s: float | None = None
    """Median time of one operation under the benchmark's own definition of time, without warm-up."""
    settings: dict[str, Value] = {}
    """What a library granted to this case alone: of MPI-IO its implementation and the hints that it works with."""
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
    """How long a small fixed workload took between two cases: the same work all along a run.

    Launches whose ranks share processors have none.
    """

    record: Literal["sentinel"]
    launch: Count
    attempt: Count
    started_unix_s: Unix
    duration_s: Elapsed
    """Everything on rank 0, preparation included."""
    ranks_kept: list[Rank]
    arithmetic_s: list[Elapsed]
    """Dependent operations in registers; one value per kept rank, as in the following keys."""
    throughput_s: list[Elapsed] = []
    """Independent multiply-adds in registers."""
    bandwidth_s: list[Elapsed] = []
    """Reading memory that is in no cache."""
    memory_s: list[Elapsed]
    """Dependent loads from a buffer beyond the second-level cache."""
    ping_pong_s: Elapsed | None = None
    """Round trips of rank 0 with the next rank of its host; None where its host has no other."""


Statistic = Literal["each", "mean", "median", "minimum", "maximum"]
"""What a printed figure is of its repetitions; `each`: these are the repetitions."""

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
    """A figure of a case as another program printed it, in the unit of its metric."""

    record: Literal["printed"]
    launch: Count
    """Which of several outputs of the same case, from 0."""
    benchmark: str
    parameters: dict[str, Value]
    ranks: Annotated[int, Field(ge=1)]
    transport: str = "default"
    placement: Placement = Placement()
    metric: str
    definition: Definition | Literal["observed"]
    values: Annotated[list[FiniteFloat], Field(min_length=1)]
    """One, or all repetitions where the statistic is `each`."""
    statistic: Statistic
    repetitions: Annotated[int, Field(ge=1)] | None = None
    """Behind the statistic; None where they are not printed."""
    beside: dict[Beside, FiniteFloat] = {}
    failure: str = ""
    """Why the program says that its result is wrong; empty where it does not."""
    origin: Origin = "imported"
    """Another one of an export of Scope that was read again: figures of a lab remain such."""
    summary: dict[str, JsonValue] = {}
    """What an export of Scope holds of `statistics.json`, with the same keys."""
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
    """As the declaration in `benchmarks.json` names it."""
    ranks: Annotated[int, Field(ge=1)]
    beside: Literal["nothing", "mix"]
    """Whether it had the machine to itself, or ran beside the other jobs of the mix."""
    origin: Origin
    status: Literal["ok", "failed", "timeout", "wrong"]
    reason: str = ""
    """Why it is not ok; empty where it is."""
    started_unix_s: Unix
    elapsed_s: Elapsed
    processor_s: Annotated[float, Field(ge=0, le=1e12)] | None
    """Processor time of all ranks, user and system; None where not every rank said it."""


class RoundRecord(Line):
    """The end of a round, in which every job of the mix ran alone and all of them ran side by side."""

    record: Literal["round"]
    round: Annotated[int, Field(ge=1)]
    mix: str
    """As the declaration in `benchmarks.json` names it."""
    slots: Annotated[int, Field(ge=1)]
    """Processors that the jobs could have."""
    jobs: Annotated[int, Field(ge=0)] = 0
    """Its jobs, alone and side by side, each of which has a line; 0 in runs of before they were counted."""
    origin: Origin
    started_unix_s: Unix
    """Start of the jobs side by side."""
    elapsed_s: Elapsed
    """From the start of the first of these jobs to the end of the last."""


Record = Annotated[
    LaunchRecord | CaseRecord | SentinelRecord | EndRecord | PrintedRecord | JobRecord | RoundRecord,
    Field(discriminator="record"),
]
