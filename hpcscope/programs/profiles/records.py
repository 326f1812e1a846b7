"""The merged profile of a program: `profile.json`. All times are in seconds, all sizes in bytes."""

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from hpcscope.programs.profiles.routines import Kind
from hpcscope.strict import Strict


class Usage(Strict):
    """The operating system's counts for a process from MPI_Init to MPI_Finalize, over all threads."""

    user_s: float
    system_s: float
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    resident_bytes: int
    """Resident memory at the end."""
    peak_resident_bytes: int
    threads: int

    @property
    def processor_s(self) -> float:
        """User and system time."""
        return self.user_s + self.system_s


class ProfiledProcess(Strict):
    """One process from MPI_Init to MPI_Finalize, or to its last sign of life."""

    rank: int
    host: str
    pid: int
    state: str
    """`finalized`; `aborted` by MPI_Abort; `exited` without MPI_Finalize; `running`: killed, or not yet ended."""
    abort_code: int | None
    in_routine: str
    """Routine that an unfinished process had entered but not left; empty if there is none."""
    wall_s: float
    init_s: float | None
    """Time inside MPI_Init, which is not part of `wall_s`; None if another tool has not recorded it."""
    mpi_s: float
    """Time inside MPI; nested calls count once."""
    compute_s: float
    """`wall_s` - `mpi_s`."""
    usage: Usage | None
    """None if another tool made the profile and did not record it."""
    kinds_s: dict[Kind, float]
    """`mpi_s` by kind of routine."""
    calls: int
    sent_messages: int
    sent_bytes: int
    received_messages: int | None
    received_bytes: int | None
    """Point-to-point messages only, no collectives. None if another tool has not counted them."""
    file_bytes: int = 0
    """Bytes read and written by the program's calls: POSIX, streams and MPI-IO."""
    file_s: float = 0.0
    """Time in these calls."""
    lost: dict[str, int]
    """Entries that did not fit into the profile's tables: `calls` lack only details, others are not counted."""

    @property
    def off_processor_s(self) -> float | None:
        """Wall-clock time - CPU time: the overhead of GAMMA's Table 1; below 0 with threads."""
        return None if self.usage is None else self.wall_s - self.usage.processor_s


class Spread(Strict):
    """Distribution of one quantity over the ranks."""

    mean: float
    least: float
    least_rank: int
    most: float
    most_rank: int
    coefficient_of_variation: float | None
    """Standard deviation / mean; None for a single rank, or if the mean is 0."""
    sanitized_mean: float
    """Mean of the values up to the 99th percentile, next to the raw mean."""
    sanitized_coefficient_of_variation: float | None
    imbalance: float | None
    """(most - mean) / most x n / (n - 1): 0 if all ranks are equal, 1 if one rank does everything. DeRose,
    Homer & Johnson, Detecting application load imbalance on high end massively parallel systems, Euro-Par 2007."""


class CallSite(Strict):
    """The place in the program where a call is made."""

    frames: list[str]
    """Frames, innermost first: `exchange (halo.c:120)` if the program has symbols, else `app+0x1234`."""


class CallTimes(Strict):
    """Statistics of repeated calls: raw values, and estimates from their histogram."""

    mean_s: float
    least_s: float
    most_s: float
    median_s: float | None
    """Median within a factor of the square root of two, because the histogram has a bin for every power of two."""
    p99_s: float | None
    """At most 1 % of the calls took longer; rounded up to a power of two."""
    sanitized_mean_s: float | None
    """Mean without calls above the 99th percentile; each call counts as the middle of its bin in the histogram."""
    coefficient_of_variation: float | None
    """From the histogram, too; None for a single call. Without a histogram, these four are None."""
    first_tick_exponent: int
    histogram: list[int]
    """Numbers of calls of 2^n to 2^(n+1) ticks, for n from `first_tick_exponent`."""
    tick_s: float


class Calls(Strict):
    """All ranks' calls of one routine from one call site, with one communicator size and message size class."""

    routine: str
    kind: Kind
    site: int | None
    """Index in `sites`; None if the caller was not recorded."""
    communicator_size: int
    """0 if another tool has not recorded it."""
    size_class: int
    """0: no bytes; n: 2^(n-1) to 2^n - 1 bytes."""
    region: int
    """Number of the region from MPI_Pcontrol; 0 outside regions."""
    overflow: bool
    """True for the row that collects entries without their own row."""
    processes: int
    calls: int
    time_s: float
    bytes: int
    least_s: float
    least_rank: int
    most_s: float
    most_rank: int
    """`least_rank` and `most_rank` took the least and the most time among the ranks that made these calls."""
    times: CallTimes


class Collective(Strict):
    """A synchronizing collective: bounds on the time spent waiting, from sums."""

    routine: str
    communicator_size: int
    size_class: int
    calls: int
    """Number of calls of each rank."""
    time_s: float
    """Time over all ranks."""
    transfer_most_s: float
    """Upper bound on the time of the operation itself over all ranks: every rank takes as long as the rank
    that waited least."""
    waiting_least_s: float
    """Lower bound on the waiting time: `time_s` - `transfer_most_s`."""
    waiting_most_s: float
    """Upper bound on the waiting time, with the shortest call of any rank as the time of the operation."""
    last_rank: int
    """The rank that waited least: the others waited for it."""
    last_s: float
    next_s: float
    """`last_s`: time of that rank; `next_s`: time of the rank that waited second least."""
    median_s: float


class PathNode(Strict):
    """A function of the program on one call path, or an MPI routine that it calls, over all ranks."""

    name: str
    parent: int | None
    """Index of the parent, which comes earlier in the list; None for the outermost known function."""
    mpi: bool
    """Whether it is an MPI routine, whose `time_s` is measured; a function's is its own sampled computation."""
    time_s: float
    calls: int
    bytes: int


class Function(Strict):
    """A function of the program on all call paths, including the MPI routines that it calls directly."""

    name: str
    compute_s: float
    """Computation in the function itself over all ranks; 0 without samples."""
    mpi_s: float
    calls: int
    """Number of calls of MPI routines."""
    bytes: int
    compute_by_rank: list[float]
    mpi_by_rank: list[float]
    """Times in s of the ranks in `Functions.ranks`, also above."""


class Functions(Strict):
    """Computation and time in MPI by function of the program."""

    sample_hz: float
    """Samples per second of CPU time; 0 if the computation was not sampled."""
    samples: int
    """Number of samples over all ranks, including samples in MPI."""
    samples_in_mpi: int
    depth: int
    """Maximum number of frames of a call path."""
    tree: list[PathNode]
    """Call tree, depth first, most time first."""
    functions: list[Function]
    """Functions, most time first."""
    ranks: list[int]
    """Ranks with separate values, spread evenly over all ranks."""


class Waits(Strict):
    """Time over all ranks in waits and tests for requests that one routine made at one call site."""

    operation: str
    site: int | None
    communicator_size: int
    size_class: int
    processes: int
    requests: int
    time_s: float
    bytes: int


class Traffic(Strict):
    """Messages, puts and gets by sender and receiver, for pairs with messages, in columns of equal length."""

    block: int = Field(ge=1)
    """Number of successive ranks that share a row and a column: 1 for up to 256 ranks."""
    sender: list[int]
    receiver: list[int]
    messages: list[int]
    bytes: list[int]
    send_s: list[float]
    """Time of the sender in blocking sends to this receiver, and in waits for its non-blocking sends."""
    receive_s: list[float]
    """Time of the receiver in blocking receives from this sender, and in waits for its non-blocking receives."""
    unreceived: int
    """Messages sent but not received when the profiles ended; negative if received but not sent."""

    @model_validator(mode="after")
    def _columns_are_alike(self) -> Self:
        _refuse_unequal(self.sender, self.receiver, self.messages, self.bytes, self.send_s, self.receive_s)
        return self


class Timeline(Strict):
    """The course of the program after MPI_Init, in steps of equal length."""

    step_s: float
    mpi_share: list[float]
    """Fraction of all ranks' time spent in MPI, by step."""
    processor_share: list[float]
    """(User + system time) / wall-clock time; more than 1 with threads."""
    system_share: list[float]
    sent_bytes: list[float]
    """Bytes sent point to point by all ranks."""
    resident_bytes: list[float]
    """Resident memory of all ranks together."""
    ranks: list[int]
    """Ranks with a separate course, spread evenly over all ranks."""
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
"""POSIX calls, C's buffered streams, MPI-IO, and the POSIX calls that MPI-IO makes itself."""


class FileUse(Strict):
    """Use of a file in one layer by all ranks."""

    path: str
    """Path of the file; empty for all files without their own row."""
    layer: FileLayer
    processes: int
    opens: int
    reads: int
    writes: int
    syncs: int
    others: int
    """Closing, seeking, locking, flushing, failed calls; MPI-IO routines that do not transfer data."""
    read_bytes: int
    written_bytes: int
    open_s: float
    read_s: float
    write_s: float
    sync_s: float
    other_s: float
    """Times are sums over all ranks; times of MPI-IO include its own POSIX calls."""
    longest_s: float
    """Longest read or write."""
    consecutive: int
    """Reads and writes that start where the rank's previous one ended; known only for POSIX."""
    forward: int
    """Reads and writes that start after that point, as in strided access."""
    unaligned: int
    """Reads and writes that do not start at a block boundary of the file system."""
    collective: int
    """Collective reads and writes of MPI-IO."""
    file_gaps: int = 0
    """MPI-IO reads and writes through a view with gaps: the bytes of one call are not contiguous in the file."""
    memory_gaps: int = 0
    """MPI-IO reads and writes of a type with gaps: the bytes are not contiguous in memory."""
    extent_bytes: int
    """End of the read or write that reached farthest; known only for POSIX."""
    block_bytes: int
    """Block size of the file system from stat; 0 if not known."""
    read_sizes: list[int]
    write_sizes: list[int]
    """Numbers of reads and of writes by size class; 0: no bytes; n: 2^(n-1) to 2^n - 1 bytes."""
    most_rank: int
    most_bytes: int
    """`most_rank` is the rank that moved the most bytes."""

    @property
    def bytes(self) -> int:
        """Bytes read and written."""
        return self.read_bytes + self.written_bytes

    @property
    def transfers(self) -> int:
        """Number of reads and writes."""
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
    """Time in a part of the program that MPI_Pcontrol(n) or scope-timer marks."""

    number: int
    name: str = ""
    """Empty if the program only numbers its regions."""

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
    """Time of this rank waiting for sends and receives of others that had not started."""
    late_sender_s: float
    """Time that others waited for this rank's sends."""
    late_receiver_s: float
    """Time that others waited for this rank's receives."""


class Late(Strict):
    """Late senders and receivers in the trace window, message by message."""

    window_s: float
    messages: int
    """Messages with both ends in the window."""
    unmatched: int
    late_sender_s: float
    late_senders: int
    """Messages sent after the receiver had started to wait."""
    late_receiver_s: float
    late_receivers: int
    ranks: list[LateRank]


class TraceWindow(Strict):
    """The requested trace window, and the part of it that the trace holds of every rank."""

    start_s: float
    """Start of the window, after MPI_Init."""
    asked_s: float
    kept_s: float
    """Traced time after the start, of the rank whose trace filled up or ended first."""
    full: int
    """Number of ranks that made more calls in the window than fit."""
    lost_calls: int
    """Calls in the window that were left out, over all ranks."""


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
    """Ranks without a profile."""
    hosts: list[str]
    wall_s: float
    """Longest time of a rank from MPI_Init to MPI_Finalize."""
    processes: list[ProfiledProcess]
    """Sorted by rank."""
    spreads: dict[str, Spread]
    """Distributions over ranks: `wall_s`, `compute_s`, `mpi_s` and, if known, `user_s`, `system_s` and more."""
    calls: list[Calls]
    """Longest first."""
    collectives: list[Collective]
    waits: list[Waits]
    sites: list[CallSite]
    functions: Functions | None = None
    """None if neither call paths nor samples were recorded."""
    traffic: Traffic
    files: list[FileUse] = []
    """Most time first; at most 1000 by name."""
    timeline: Timeline | None
    regions: list[Region]
    events: int
    """Calls in the trace window, over all ranks."""
    window: TraceWindow | None = None
    """None if no trace was requested."""
    late: Late | None
    """None if nothing was traced."""
    other_tools: list[str]
    """Libraries between the program and MPI besides the monitor."""
    warnings: list[str]

    @property
    def total_s(self) -> float:
        """Time of all ranks together."""
        return sum(process.wall_s for process in self.processes)

    @property
    def mpi_s(self) -> float:
        """Time of all ranks inside MPI."""
        return sum(process.mpi_s for process in self.processes)

    @property
    def program_files(self) -> list[FileUse]:
        """File use of the program itself, without MPI-IO's own POSIX calls."""
        return [file for file in self.files if file.layer != "inside mpi-io"]

    @property
    def files_s(self) -> float:
        """Time of all ranks in the program's file calls."""
        return sum(file.time_s for file in self.program_files)

    @property
    def calls_s(self) -> float:
        """Time of all calls of all threads, the reference for a routine's fraction; never 0."""
        return sum(calls.time_s for calls in self.calls) or 1e-9

    @property
    def unfinished(self) -> list[ProfiledProcess]:
        """The ranks that did not reach the end of MPI_Finalize."""
        return [process for process in self.processes if process.state != "finalized"]

    @model_validator(mode="after")
    def _traffic_is_of_these_ranks(self) -> Self:
        side = -(-self.ranks // self.traffic.block)
        places = [*self.traffic.sender, *self.traffic.receiver]
        if places and not 0 <= min(places) <= max(places) < side:
            raise ValueError(f"traffic: senders and receivers must be from 0 to {side - 1}")
        return self
