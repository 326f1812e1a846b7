"""The merged profiles of a program: `profile.json`. All times in seconds, all sizes in bytes."""

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from hpcscope.programs.profiles.routines import Kind
from hpcscope.strict import Strict


class Usage(Strict):
    """The operating system's counts for a process between MPI_Init and MPI_Finalize, all threads together."""

    user_s: float
    system_s: float
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    resident_bytes: int
    """At the end."""
    peak_resident_bytes: int
    threads: int

    @property
    def processor_s(self) -> float:
        """User and system time."""
        return self.user_s + self.system_s


class ProfiledProcess(Strict):
    """One process between MPI_Init and MPI_Finalize, or its last sign of life."""

    rank: int
    host: str
    pid: int
    state: str
    """`finalized`; `aborted` by MPI_Abort; `exited` without MPI_Finalize; `running`: killed, or not yet ended."""
    abort_code: int | None
    in_routine: str
    """The routine that a process which did not finish had entered and not left; empty where there is none."""
    wall_s: float
    init_s: float | None
    """Time inside MPI_Init, which is no part of `wall_s`; None where another tool has not kept it."""
    mpi_s: float
    """Inside MPI; calls inside calls count once."""
    compute_s: float
    """`wall_s` less `mpi_s`."""
    usage: Usage | None
    """None where another tool made the profile, which did not ask."""
    kinds_s: dict[Kind, float]
    """`mpi_s` by kind of routine."""
    calls: int
    sent_messages: int
    sent_bytes: int
    received_messages: int | None
    received_bytes: int | None
    """Point to point, without collectives. None where another tool has not counted it."""
    file_bytes: int = 0
    """Read and written by the program's calls: POSIX, streams and MPI-IO."""
    file_s: float = 0.0
    """Time in these."""
    lost: dict[str, int]
    """Entries beyond the profile's tables: `calls` were counted without details, the others not at all."""

    @property
    def off_processor_s(self) -> float | None:
        """Wall-clock time minus processor time: the overhead of GAMMA's Table 1; below 0 with threads."""
        return None if self.usage is None else self.wall_s - self.usage.processor_s


class Spread(Strict):
    """One quantity over the processes."""

    mean: float
    least: float
    least_rank: int
    most: float
    most_rank: int
    coefficient_of_variation: float | None
    """Standard deviation over mean; None of one process, or where the mean is 0."""
    sanitized_mean: float
    """Mean of the values up to the 99th percentile, next to the raw mean."""
    sanitized_coefficient_of_variation: float | None
    imbalance: float | None
    """(most - mean) / most x n / (n - 1): 0 where all are alike, 1 where one process does everything. DeRose,
    Homer & Johnson, Detecting application load imbalance on high end massively parallel systems, Euro-Par 2007."""


class CallSite(Strict):
    """Where in the program a call is made."""

    frames: list[str]
    """Innermost first: `exchange (halo.c:120)` where the program has its symbols, else `app+0x1234`."""


class CallTimes(Strict):
    """Repeated calls as their histogram tells them, beside the raw sums."""

    mean_s: float
    least_s: float
    most_s: float
    median_s: float | None
    """Within a factor of the square root of two: the histogram has a place for every power of two."""
    p99_s: float | None
    """No more than 1 % took longer; to the next power of two."""
    sanitized_mean_s: float | None
    """Without those above the 99th percentile; each call as long as the middle of its place in the histogram."""
    coefficient_of_variation: float | None
    """From the same; None of a single call. Without a histogram none of these is known."""
    first_tick_exponent: int
    histogram: list[int]
    """Calls of 2^n to 2^(n+1) ticks, n from `first_tick_exponent`."""
    tick_s: float


class Calls(Strict):
    """All calls of one routine from one place on communicators and with messages of one size, of all processes."""

    routine: str
    kind: Kind
    site: int | None
    """Number in `sites`; None where no caller was taken down."""
    communicator_size: int
    """0 where another tool has not kept it."""
    size_class: int
    """0: no bytes; n: 2^(n-1) to 2^n - 1 bytes."""
    region: int
    """As MPI_Pcontrol has numbered it; 0 outside."""
    overflow: bool
    """True for the row that collects entries without a row of their own."""
    processes: int
    calls: int
    time_s: float
    bytes: int
    least_s: float
    least_rank: int
    most_s: float
    most_rank: int
    """Rank that took least time and rank that took most, among those that made these calls."""
    times: CallTimes


class Collective(Strict):
    """A synchronizing collective: the time spent waiting, as far as sums can tell."""

    routine: str
    communicator_size: int
    size_class: int
    calls: int
    """Calls of each process."""
    time_s: float
    """Time of all processes."""
    transfer_most_s: float
    """Upper bound of the operation itself, all processes together: as long as it took the process that
    waited least."""
    waiting_least_s: float
    """`time_s` less that: time for which processes surely waited for others."""
    waiting_most_s: float
    """Upper bound, with the shortest call of any process as the time of the operation itself."""
    last_rank: int
    """The process that waited least: the others waited for it."""
    last_s: float
    next_s: float
    """Its time, and the time of the process that waited second least."""
    median_s: float


class PathNode(Strict):
    """A function of the program on one call path, or an MPI routine that it calls; of all processes."""

    name: str
    parent: int | None
    """Place in the list, before this one; None for the outermost function that is known."""
    mpi: bool
    """An MPI routine: `time_s` is measured. Of a function it is its own computation, as sampled."""
    time_s: float
    calls: int
    bytes: int


class Function(Strict):
    """A function of the program wherever it runs; MPI routines that it calls itself are part of it."""

    name: str
    compute_s: float
    """Its own, of all processes; 0 where nothing was sampled."""
    mpi_s: float
    calls: int
    """Calls of MPI routines."""
    bytes: int
    compute_by_rank: list[float]
    mpi_by_rank: list[float]
    """In s; of the processes of `Functions.ranks`."""


class Functions(Strict):
    """Computation and time in MPI by function of the program."""

    sample_hz: float
    """Samples per second of processor time; 0 where the computation was not sampled."""
    samples: int
    """Samples of all processes, samples in MPI included."""
    samples_in_mpi: int
    depth: int
    """Frames of a call path at most."""
    tree: list[PathNode]
    """Depth first, those with most time first."""
    functions: list[Function]
    """Those with most time first."""
    ranks: list[int]
    """Processes that are kept one by one, spread over all."""


class Waits(Strict):
    """Time in waits and tests for requests that one routine made at one place, of all processes."""

    operation: str
    site: int | None
    communicator_size: int
    size_class: int
    processes: int
    requests: int
    time_s: float
    bytes: int


class Traffic(Strict):
    """Messages, puts and gets by sender and receiver; columns of equal length, only pairs with a message."""

    block: int = Field(ge=1)
    """Successive ranks that share a row and a column: 1 up to 256 processes."""
    sender: list[int]
    receiver: list[int]
    messages: list[int]
    bytes: list[int]
    send_s: list[float]
    """Time of the sender in blocking sends to this receiver, and in waits for others."""
    receive_s: list[float]
    """Time of the receiver in blocking receives from this sender, and in waits for others: waiting included."""
    unreceived: int
    """Messages sent but not received when the profiles ended; negative: received but not sent."""

    @model_validator(mode="after")
    def _columns_are_alike(self) -> Self:
        _refuse_unequal(self.sender, self.receiver, self.messages, self.bytes, self.send_s, self.receive_s)
        return self


class Timeline(Strict):
    """The course of the program in steps of equal length, from the end of MPI_Init on."""

    step_s: float
    mpi_share: list[float]
    """Fraction of the processes' time in each step."""
    processor_share: list[float]
    """User and system time over wall-clock time; more than 1 with threads."""
    system_share: list[float]
    sent_bytes: list[float]
    """By all processes, point to point."""
    resident_bytes: list[float]
    """Resident memory of all processes together."""
    ranks: list[int]
    """Processes whose own course is kept, spread over all."""
    mpi_share_by_rank: list[list[float]]

    @model_validator(mode="after")
    def _columns_are_alike(self) -> Self:
        _refuse_unequal(
            *(self.mpi_share, self.processor_share, self.system_share, self.sent_bytes, self.resident_bytes),
            *self.mpi_share_by_rank,
        )
        _refuse_unequal(self.ranks, self.mpi_share_by_rank)
        return self


FileLayer = Literal["posix", "stream", "mpi-io", "inside mpi-io"]
"""Calls of POSIX; of C's buffered streams; of MPI-IO; and what MPI-IO calls of POSIX itself."""


class FileUse(Strict):
    """What all processes did with a file in one layer."""

    path: str
    """Empty: all files that found no row of their own."""
    layer: FileLayer
    processes: int
    opens: int
    reads: int
    writes: int
    syncs: int
    others: int
    """Closing, seeking, locking, flushing, calls that failed; MPI-IO's routines without data."""
    read_bytes: int
    written_bytes: int
    open_s: float
    read_s: float
    write_s: float
    sync_s: float
    other_s: float
    """Time of all processes; for MPI-IO it includes what MPI-IO calls of POSIX."""
    longest_s: float
    """A read or write."""
    consecutive: int
    """Reads and writes that begin where this process's last one ended; known of POSIX alone."""
    forward: int
    """... that begin behind it: strided."""
    unaligned: int
    """... that begin within a block of the file system."""
    collective: int
    """Collective reads and writes of MPI-IO."""
    file_gaps: int = 0
    """... through a view with gaps: the bytes of one call do not lie together in the file."""
    memory_gaps: int = 0
    """... of a type with gaps: they do not lie together in memory."""
    extent_bytes: int
    """The end of the farthest read or write; known of POSIX alone."""
    block_bytes: int
    """The block of the file system, as stat says; 0 where unknown."""
    read_sizes: list[int]
    write_sizes: list[int]
    """Numbers by size: 0: no bytes; n: 2^(n-1) to 2^n - 1 bytes."""
    most_rank: int
    most_bytes: int
    """The process that moved most bytes."""

    @property
    def bytes(self) -> int:
        """Read and written."""
        return self.read_bytes + self.written_bytes

    @property
    def transfers(self) -> int:
        """Reads and writes."""
        return self.reads + self.writes

    @property
    def transfer_s(self) -> float:
        """Time in reads and writes."""
        return self.read_s + self.write_s

    @property
    def time_s(self) -> float:
        """Time in all calls."""
        return self.transfer_s + self.open_s + self.sync_s + self.other_s


class Region(Strict):
    """The time that processes spent in a part of the program that MPI_Pcontrol(n) or scope-timer begins."""

    number: int
    name: str = ""
    """Empty where the program numbers its regions."""

    @property
    def label(self) -> str:
        """The name, or else the number."""
        return self.name or str(self.number)

    processes: int
    entries: int
    time_s: float
    mpi_s: float
    most_s: float
    most_rank: int


class LateRank(Strict):
    """One process in the trace window."""

    rank: int
    waited_s: float
    """For sends that had not begun, and for receives that had not."""
    late_sender_s: float
    """How long others waited for its sends."""
    late_receiver_s: float
    """How long others waited for its receives."""


class Late(Strict):
    """Late senders and receivers in the trace window, message by message."""

    window_s: float
    messages: int
    """Messages that have both ends in the window."""
    unmatched: int
    late_sender_s: float
    late_senders: int
    """Messages sent after the receiver had begun to wait."""
    late_receiver_s: float
    late_receivers: int
    ranks: list[LateRank]


class TraceWindow(Strict):
    """What a trace was asked to hold, and what it holds of every process."""

    start_s: float
    """After MPI_Init."""
    asked_s: float
    kept_s: float
    """From the start on, of the process whose room ended first; up to the end of the program."""
    full: int
    """Processes that made more calls in the window than they have room for."""
    lost_calls: int
    """Calls in the window that are left out, of all processes."""


def _refuse_unequal(*columns: Sequence[Any]) -> None:
    lengths = sorted({len(column) for column in columns})
    if len(lengths) > 1:
        raise ValueError(f"columns of {lengths[0]} and {lengths[-1]} entries: must be of equal length")


class Merged(Strict):
    """`profile.json`."""

    format: int
    source: str
    """The tool that made the profiles: `scope monitor`, or another."""
    program: str
    arguments: list[str]
    mpi: str
    thread_level: str
    ranks: int
    """Size of MPI_COMM_WORLD."""
    missing_ranks: list[int]
    """Processes that left no profile."""
    hosts: list[str]
    wall_s: float
    """Longest time of a process between MPI_Init and MPI_Finalize."""
    processes: list[ProfiledProcess]
    """By rank."""
    spreads: dict[str, Spread]
    """Over the processes: `wall_s`, `compute_s`, `mpi_s` and, where known, `user_s`, `system_s` and more."""
    calls: list[Calls]
    """Those that took longest first."""
    collectives: list[Collective]
    waits: list[Waits]
    sites: list[CallSite]
    functions: Functions | None = None
    """None where neither call paths nor samples were taken."""
    traffic: Traffic
    files: list[FileUse] = []
    """Those that took most time first; at most 1000 by name."""
    timeline: Timeline | None
    regions: list[Region]
    events: int
    """Calls in the trace window, of all processes."""
    window: TraceWindow | None = None
    """None where no trace was asked for."""
    late: Late | None
    """None where nothing was traced."""
    other_tools: list[str]
    """Libraries that stood between the program and MPI besides the monitor."""
    warnings: list[str]

    @property
    def total_s(self) -> float:
        """Time of all processes together."""
        return sum(process.wall_s for process in self.processes)

    @property
    def mpi_s(self) -> float:
        """Time of all processes inside MPI."""
        return sum(process.mpi_s for process in self.processes)

    @property
    def program_files(self) -> list[FileUse]:
        """What the program itself did with files: without MPI-IO's own calls of POSIX."""
        return [file for file in self.files if file.layer != "inside mpi-io"]

    @property
    def files_s(self) -> float:
        """Time of all processes in the program's calls on files."""
        return sum(file.time_s for file in self.program_files)

    @property
    def calls_s(self) -> float:
        """Time of all calls of all threads: the reference of a routine's share; never 0."""
        return sum(calls.time_s for calls in self.calls) or 1e-9

    @property
    def unfinished(self) -> list[ProfiledProcess]:
        """The processes that did not reach the end of MPI_Finalize."""
        return [process for process in self.processes if process.state != "finalized"]

    @model_validator(mode="after")
    def _traffic_is_of_these_ranks(self) -> Self:
        side = -(-self.ranks // self.traffic.block)
        places = [*self.traffic.sender, *self.traffic.receiver]
        if places and not 0 <= min(places) <= max(places) < side:
            raise ValueError(f"traffic: senders and receivers must be from 0 to {side - 1}")
        return self
