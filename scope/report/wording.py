"""Words that the page and the terminal share."""

from __future__ import annotations

DEFINITIONS = {
    "half_round_trip": "half round trip",
    "global": "global",
    "max_rank": "slowest rank",
    "mean_rank": "mean over ranks",
    "local": "local",
    "streaming": "streaming",
    "barrier_loop": "barrier loop",
    "observed": "observed",
}
"""Short names of the definitions of time."""

MEANINGS = {
    "half_round_trip": "Half of the time between sending and having received the answer, on the rank that begins.",
    "local": "The time on the measuring rank alone, from its first to its last operation.",
    "max_rank": "The longest time that any rank spent inside the call; waiting for late ranks is included.",
    "mean_rank": "The mean over ranks of the time inside the call; it hides the slow ones.",
    "global": "From the agreed start until the last rank leaves, on synchronised clocks: what a caller waits for.",
    "streaming": "Calls back to back without synchronisation, over their number; successive calls may overlap.",
    "barrier_loop": "A loop of the operation followed by a barrier, over its count; the barrier's cost is in it.",
    "observed": "A quantity that the benchmark itself took down, the largest over the ranks in each repetition.",
}
"""What each definition of time means."""

LAYERS = {
    "limit": "Limit",
    "frames": "Raw frames",
    "node": "Node",
    "network": "Network",
    "mpi": "Message passing",
    "operation": "Operations",
    "algorithm": "Algorithms",
    "application": "Applications",
    "storage": "Storage",
}
"""Names of the layers."""

PLACEMENTS = {
    "core": "bound to cores",
    "socket": "bound to sockets",
    "none": "not bound",
    "node": "one per host",
    "threads": "MPI_THREAD_MULTIPLE",
}
"""How processes stand on the hosts."""

SEVERITIES = {"error": "Error", "warning": "Warning", "advice": "Advice", "information": "Information"}
"""Names of the severities, worst first."""

INTRODUCTIONS = {
    "node": "What one host can do by itself, on each kind of host: its memory, its processors, its disk. "
    "All layers above are held against it.",
    "network": "Messages without the message-passing library, over each protocol between two processes: what any "
    "library could reach.",
    "mpi": "The message-passing library: first what two processes do, then what all do together.",
    "operation": "What a program's communication costs with everything around it: buffers, first touch, packing.",
    "algorithm": "Whole parallel algorithms, and where their time goes.",
    "application": "Programs that do real work.",
    "storage": "Files that all hosts share.",
}
"""What the benchmarks of a layer are about."""

METRICS = {
    "latency_s": "latency",
    "time_s": "time",
    "pair_s": "cost of a start/stop pair",
    "bandwidth_bytes_per_s": "bandwidth",
    "message_rate_per_s": "message rate",
    "flops_per_s": "arithmetic rate",
    "access_s": "time of an access",
    "hop_s": "time of a hop",
    "time_per_child_s": "time per child",
    "half_round_trip_s": "half round trip",
    "send_overhead_s": "overhead of the sender",
    "receive_overhead_s": "overhead of the receiver",
    "gap_s": "gap between messages",
    "wire_latency_s": "latency without the overheads",
    "exchange_s": "exchange",
    "computation_s": "computation alone",
    "hidden_share": "share hidden behind computation",
    "noise_share": "share lost to the operating system",
    "resident_share": "share of the file in memory",
    "longest_detour_s": "longest detour",
    "detours_per_s": "detours per second",
    "period_s": "period of the detours",
    "repeated_packets": "packets sent again",
    "granted_buffer_bytes": "socket buffer granted",
    "compute_s": "compute",
    "communicate_s": "communicate",
    "initialise_s": "initialise",
    "distribute_s": "distribute",
    "collect_s": "collect",
    "solve_s": "time without initialisation",
    "last_share": "share of exchanges as the last",
    "partition_imbalance": "largest partition over an equal share",
    "time_per_element_s": "time per element",
    "time_per_iteration_s": "time per iteration",
    "idle_s": "idle",
    "mops_per_s": "Mop/s",
    "mops_per_process_per_s": "Mop/s of a process",
    "memory_bytes": "memory of a process",
}
"""Names of metrics; one that is not listed keeps its own without the unit."""

VARIABLES = {
    "message_bytes": "message size",
    "message_bytes_and_ranks": "message size and number of processes",
    "array_bytes": "array size",
    "block_bytes": "block size",
    "file_bytes": "file size",
    "socket_buffer_bytes": "socket buffer",
    "vector_length": "vector length",
    "intensity": "operations per memory reference",
    "quantum_ns": "length of a quantum in ns",
    "ranks": "number of processes",
    "size": "order of the matrix",
    "elements": "number of elements",
    "shift": "shift q",
}
"""Names of what is swept; one that is not listed keeps its own."""


def variable_name(name: str) -> str:
    """Return the name of a parameter that was swept: `message_bytes` is `message size`."""
    return VARIABLES.get(name, name.replace("_", " "))


def definition(name: str) -> str:
    """Return the short name of a definition of time."""
    return DEFINITIONS.get(name, name.replace("_", " "))


def metric(name: str) -> str:
    """Return a metric's name as a person reads it: `bandwidth_bytes_per_s` is `bandwidth`."""
    return METRICS.get(name, name.removesuffix("_s").replace("_", " "))


def is_share(name: str) -> bool:
    """Say whether a metric is a share, which is written in percent."""
    return name.endswith("_share")


def model(name: str) -> str:
    """Return a model's name as people write it: `piecewise_hockney` is `piecewise Hockney`."""
    return name.replace("_", " ").replace("hockney", "Hockney").replace("loggp", "LogGP")


def count(number: int, noun: str, plural: str = "") -> str:
    """Return `1 finding`, `2 findings`; thousands are set apart by a space."""
    word = noun if number == 1 else plural or noun + "s"
    return f"{number:,}".replace(",", " ") + " " + word


def sentence(words: list[str]) -> str:
    """Join words as people do: `a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""


def direction(better: str) -> str:
    """Say which way is good."""
    return "longer is better" if better == "higher" else "shorter is better"
