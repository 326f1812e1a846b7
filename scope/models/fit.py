"""What a fitted model says: parameters with intervals, its range, its residuals, and why it was chosen or not."""

from __future__ import annotations

from typing import Literal

from scope.samples.records import Origin
from scope.statistics.summary import Case
from scope.strict import Strict

Variable = Literal["message_bytes", "vector_length", "intensity", "ranks", "message_bytes_and_ranks"]
"""What varies along a curve: a parameter of the benchmark, the number of ranks, or both."""


class Parameter(Strict):
    """A fitted parameter with its 95 % interval."""

    name: str
    value: float
    low: float
    high: float
    unit: str


class Point(Strict):
    """One measured point beside what the model says."""

    x: float
    measured: float
    measured_low: float
    measured_high: float
    fitted: float
    ranks: int | None = None
    """The second variable, where there are two."""


class Segment(Strict):
    """A range of sizes with one straight line of its own: t = latency + n * per_byte."""

    low: float
    high: float
    latency_s: Parameter
    per_byte_s: Parameter


class LibrarySetting(Strict):
    """A setting of the MPI library or of a transport, with the size in bytes at which it switches."""

    name: str
    value: int


class Breakpoint(Strict):
    """Where one segment ends and the next begins: the last size of the one, the first of the other."""

    last_before: float
    first_after: float
    jump_s: float
    """Step of the fitted time (positive: dearer after it) that remains wherever between the two sizes the break
    lies; 0 where the lines cross between them, so that the curve may just bend."""
    jump_low_s: float | None = None
    jump_high_s: float | None = None
    agreement: float | None = None
    """Share of the launches that, each by itself, break between the same two sizes; None with too few launches."""
    settings: list[LibrarySetting] = []
    """Settings of the library that switch between these sizes, the likeliest first."""


class Fit(Strict):
    """A model of a metric over one variable, everything else held fixed."""

    model: str
    equation: str
    source: str
    """Paper, equation or page."""
    subject: Case
    """The case without the variable; its `ranks` is the largest number where the ranks vary."""
    metric: str
    definition: str
    variable: Variable
    low: float
    high: float
    parameters: list[Parameter]
    left_out: list[str] = []
    """Parameters of the model that the data cannot tell, each with the reason."""
    notes: list[str] = []
    """What to know of the parameters, for example up to which size they hold."""
    segments: list[Segment] = []
    breakpoints: list[Breakpoint] = []
    points: list[Point]
    relative_error: float
    """Median absolute relative residual."""
    bic: float
    chosen: bool
    reason: str
    """Why the data chose it, or why it was rejected."""


class NotFitted(Strict):
    """A model that was not tried on a curve, and why."""

    model: str
    subject: Case
    metric: str
    definition: str
    variable: Variable
    reason: str


class Rung(Strict):
    """One layer of the ladder."""

    layer: Literal["limit", "frames", "network", "mpi", "operation", "algorithm", "application"]
    name: str
    """What stands on this rung: a case's label or the name of the limit."""
    value: float | None
    low: float | None
    high: float | None
    unit: str
    retained: float | None
    """Share of the layer below that reaches this one; None on the lowest rung or where either is missing."""
    retained_low: float | None
    retained_high: float | None
    of_limit: float | None
    reason: str
    """Why a figure is missing; empty when it is not."""
    note: str = ""
    """What to know about this figure, for example that the messages stay in a cache."""


class Ladder(Strict):
    """The way from the physical limit up to the algorithm, for one path between two processes."""

    path: str
    """For example `shared memory inside a host`, `TCP over the loopback`, `eth0 between hosts`."""
    quantity: Literal["bandwidth_bytes_per_s", "latency_s", "flops_per_s"]
    exchange: Literal["ping-pong", "stream", ""] = ""
    """How the messages go: one and its echo, or a window of them in one direction; empty where none is told."""
    message_bytes: int | None
    rungs: list[Rung]
    """From the limit upwards."""


class LimitPoint(Strict):
    """The best that a message of this size can have."""

    message_bytes: int
    value: float


class Limit(Strict):
    """What bounds a protocol's messages from the other side of every measurement: a line in its curves."""

    name: str
    """For example `TCP/IP frames of 1500 B at 1 Gbit/s over eth0`."""
    protocols: list[str]
    """Values of the parameter `protocol` that it bounds."""
    placements: list[str]
    metric: Literal["bandwidth_bytes_per_s", "latency_s"]
    unit: str
    points: list[LimitPoint]


class Slow(Strict):
    """A process, a pair or a group of processes whose messages take longer than its equals'."""

    members: list[str]
    excess: float
    """Share by which it takes longer: 0.1 is 10 %."""
    low: float
    high: float
    """Its 95 % interval over the launches."""


class PairMatrix(Strict):
    """The ping-pong of every pair of processes, and what stands out in it."""

    message_bytes: int
    load: str
    """`alone`: one pair at a time; `together`: all pairs of a round at once."""
    transport: str
    placement: str
    origin: str
    names: list[str]
    """Of the processes, by rank: their hosts, with the rank where a host has several."""
    time_s: list[list[float | None]]
    """Half round trip of each pair, the median over the launches; None where it was not measured."""
    launches: int
    slow_processes: list[Slow] = []
    slow_pairs: list[Slow] = []
    slow_between: Slow | None = None
    """The smaller of two groups between which messages are slower than inside them."""
    reason: str = ""
    """Why nothing was looked for; empty when it was."""


class Bounds(Strict):
    """A figure with its 95 % interval; a bound is None where it is not known, or where there is none."""

    value: float
    low: float | None = None
    high: float | None = None


class SpeedupPoint(Strict):
    """An algorithm on one number of processes."""

    ranks: int
    rows: int
    """Rows of the grid of processes; 0: as the algorithm chooses by itself."""
    time_s: Bounds
    speedup: Bounds | None
    """Against the same variant on one process; None where that was not measured."""
    efficiency: Bounds | None
    speedup_of_best: Bounds | None
    """Against the fastest way to do the same on one process."""
    oversubscribed: bool
    """More processes than processors somewhere: no point of any model."""
    superlinear: bool
    """The speed-up's interval lies above the number of processes."""


class Amdahl(Strict):
    """T(n) = T_ser + T_par / n + alpha (n - 1), fitted to the times of one size."""

    serial_s: Bounds
    parallel_s: Bounds
    per_process_s: Bounds
    """alpha: what each further process costs."""
    serial_share: Bounds
    """T_ser / (T_ser + T_par)."""
    critical_ranks: Bounds | None
    """Where the time is shortest, sqrt(T_par / alpha); None where it cannot be told, and `reason` says why."""
    reason: str
    relative_error: float | None
    """Median absolute relative residual; None where there are no more points than costs: nothing tests the law."""
    points: list[Point]


class Speedup(Strict):
    """What more processes give an algorithm at one size."""

    subject: Case
    """The case without the grid; its `ranks` is the largest number."""
    origin: Origin
    size: int
    alone: str
    """The case on one process that the speed-up is against; empty where it was not measured."""
    best_alone: str
    """The fastest case on one process that computes the same."""
    best_alone_s: Bounds | None
    points: list[SpeedupPoint]
    effective_ranks: Bounds | None
    """The measured number with the largest efficiency times speed-up."""
    amdahl: Amdahl | None
    reason: str
    """Why there is no fit; empty when there is one."""


class PredictedPoint(Strict):
    """What the phase formulas say of one case, beside what was measured where it was."""

    size: int
    ranks: int
    rows: int
    compute_s: Bounds
    communicate_s: Bounds
    """Distribution, exchange and collection, the root's handling of them included."""
    total_s: Bounds
    speedup: Bounds
    """Against what one process takes."""
    role: Literal["input", "validated", "predicted"]
    """Input: the one process from which the rates are taken; validated: measured, and no input; else predicted."""
    measured_compute_s: float | None = None
    measured_communicate_s: float | None = None
    measured_total_s: Bounds | None = None
    error: float | None = None
    """Predicted over measured total, less one; only of validated points."""
    oversubscribed: bool = False
    """More processes than processors: their waiting for one is not predicted, and the error is not counted."""
    beyond: list[str] = []
    """What was extrapolated: sizes or messages outside what the lower levels measured."""


class Prediction(Strict):
    """An algorithm's phase formulas with what the lower levels say, held against all that was measured."""

    subject: Case
    """The case without size and grid; its `ranks` is the largest number."""
    origin: Literal["simulated"] = "simulated"
    """Of what is predicted; what it is held against was measured."""
    source: str
    parameters_from: list[str]
    """The measurements that the formulas are evaluated with."""
    points: list[PredictedPoint]
    median_error: float | None
    """Median absolute error of the validated points with a processor for each process; None without any."""
    reason: str = ""
    """Why nothing could be predicted, or validated."""


class PhasesByRank(Strict):
    """What each process of an algorithm did with its time."""

    subject: Case
    origin: Origin
    ranks_kept: list[int]
    phases_s: dict[str, list[float]]
    """Median over all repetitions and launches of each kept rank, by metric."""


class OperationParts(Strict):
    """Where the time of a program's operation on fresh buffers goes. All times are of the whole operation."""

    subject: Case
    time_s: Bounds
    messages_s: Bounds
    """What its messages would take one after another, each at the pace of the ping-pong."""
    retained: Bounds
    """Share of the ping-pong's figure that the operation delivers: the messages' time over its own."""
    paging_s: float | None
    """Fresh buffers cost so much more than used ones; None where those were not measured."""
    packing_s: float | None
    """Columns cost so much more than rows, which lie together; None where that cannot be told."""
    rest_s: float
    """Contention, copies, the library's algorithm; paging and packing too where they were not told apart."""


class ApplicationPoint(Strict):
    """An application on one number of processes. Times are of the slowest process in each part."""

    ranks: int
    memory_bytes: float
    """Of the largest process."""
    messages: float
    """Sent by all processes, counted without a clock; a collective counts as its point-to-point messages."""
    message_bytes: float
    """In all of them together."""
    time_s: Bounds
    compute_s: Bounds
    communicate_s: Bounds
    idle_s: Bounds
    oversubscribed: bool
    """More processes than processors somewhere: no point of the law of computation."""


class Application(Strict):
    """What an application computes and sends, and its law of computation a0 / p (Tessera, NetFinity, sec. 3.1)."""

    subject: Case
    """Its `ranks` is the largest number of processes."""
    origin: Origin
    iterations: float
    operations: float
    """By the suite's own count."""
    computation_s: Bounds | None
    """a0."""
    deviation: float | None
    """The largest |n t(n) / a0 - 1| of a point with a processor for each process."""
    reason: str
    """Why there is no law; empty when there is one."""
    points: list[ApplicationPoint]


class Models(Strict):
    """`models.json`."""

    format: int
    fits: list[Fit]
    ladders: list[Ladder]
    limits: list[Limit] = []
    not_fitted: list[NotFitted] = []
    pairs: list[PairMatrix] = []
    speedups: list[Speedup] = []
    predictions: list[Prediction] = []
    phases: list[PhasesByRank] = []
    operations: list[OperationParts] = []
    applications: list[Application] = []
