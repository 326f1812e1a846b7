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

SEVERITIES = {"error": "Error", "warning": "Warning", "advice": "Advice", "information": "Information"}
"""Names of the severities, worst first."""

METRICS = {
    "latency_s": "latency",
    "time_s": "time",
    "pair_s": "cost of a start/stop pair",
    "bandwidth_bytes_per_s": "bandwidth",
    "message_rate_per_s": "message rate",
    "flops_per_s": "arithmetic rate",
}
"""Names of metrics; one that is not listed keeps its own without the unit."""


def definition(name: str) -> str:
    """Return the short name of a definition of time."""
    return DEFINITIONS.get(name, name.replace("_", " "))


def metric(name: str) -> str:
    """Return a metric's name as a person reads it: `bandwidth_bytes_per_s` is `bandwidth`."""
    return METRICS.get(name, name.removesuffix("_s").replace("_", " "))


def model(name: str) -> str:
    """Return a model's name as people write it: `piecewise_hockney` is `piecewise Hockney`."""
    return name.replace("_", " ").replace("hockney", "Hockney")


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
