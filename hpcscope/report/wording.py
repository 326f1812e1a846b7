"""Wording shared by the reports and the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, product
from string import ascii_lowercase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcscope.models.fitting.fit import Fit
    from hpcscope.statistics.summary import Summary

DEFINITIONS = {
    "half_round_trip": "RTT/2",
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
    "half_round_trip": "Half of the time from sending a message to receiving its echo, on the rank that sends "
    "first.",
    "local": "The time on the measuring rank only, from its first to its last operation.",
    "max_rank": "The longest time that any rank spends inside the call, including waiting for late ranks.",
    "mean_rank": "The mean over the ranks of the time inside the call; it hides slow ranks.",
    "global": "The time from the first rank's entry to the last rank's exit, on synchronized clocks.",
    "streaming": "Time of back-to-back calls without synchronization, divided by the number of calls; "
    "successive calls may overlap.",
    "barrier_loop": "Time of a loop in which a barrier follows each call, divided by the number of calls; "
    "includes the barrier.",
    "observed": "A quantity that the benchmark itself records; the largest over the ranks in each repetition.",
}
"""The meaning of each definition of time."""

_STATISTICS = {
    "": "medians",
    "mean": "means",
    "median": "medians",
    "minimum": "least values",
    "maximum": "greatest values",
}

LAYERS = {
    "limit": "Limit",
    "frames": "Raw frames",
    "node": "Node",
    "device": "Devices",
    "network": "Network",
    "mpi": "MPI",
    "operation": "Operations",
    "algorithm": "Algorithms",
    "application": "Applications",
    "storage": "Storage",
}
"""Names of the layers."""

SEVERITIES = {"error": "Error", "warning": "Warning", "advice": "Advice", "information": "Information"}
"""Names of the severities, worst first."""

INTRODUCTIONS = {
    "node": "Processors, memory and disk of one host of each type: the reference for all levels above.",
    "device": "GPUs and other devices, each with its memory and its link to the host.",
    "network": "Messages between two ranks without MPI, over each protocol: the limit of any MPI library.",
    "mpi": "The MPI library: point-to-point communication first, then collectives.",
    "operation": "Communication as in a program, with buffers, first touch and packing.",
    "algorithm": "Parallel algorithms and their phases.",
    "application": "Real applications, and kernels of them.",
    "storage": "File systems that all hosts share.",
}
"""Introductions to the levels."""


def figure_heading(summaries: Iterable[Summary]) -> str:
    """Return the heading of the values: medians, or as printed by another program (remarks say: means, maxima)."""
    return "as printed" if all(summary.printed for summary in summaries) else "median [95 % CI]"


def definition(name: str) -> str:
    """Return the short name of a definition of time."""
    return DEFINITIONS.get(name, name.replace("_", " "))


def points_shown(group: Iterable[Summary], definition_of_time: str = "", bands: bool = False) -> str:
    """Return what the points of a figure are: `Medians (global) with their 95 % CIs as bands`.

    For values printed by another program, what it printed: `Means (mean over ranks) as they were printed`.
    """
    among = f" ({definition_of_time})" if definition_of_time else ""
    printed = list(dict.fromkeys(case.printed.partition(" ")[0] for case in group))
    if not any(printed):
        return f"Medians{among} with their 95 % CIs" + (" as bands" if bands else "")
    statistics = sentence([_STATISTICS.get(word, "values") for word in printed])
    return f"{statistics.capitalize()}{among} as they were printed"


def model(name: str) -> str:
    """Return a model's name in words: `piecewise_hockney` is `piecewise Hockney`."""
    return name.replace("_", " ").replace("hockney", "Hockney").replace("loggp", "LogGP")


SYMBOLS = {
    "n": "bytes of a message",
    "m": "bytes of a block",
    "p": "ranks",
    "x": "vector length or operations per word",
    "r_inf": "rate of long vectors",
    "r_inf_flops_per_s": "rate of long vectors",
    "r_inf_bytes_per_s": "bandwidth of long messages",
    "n_half_bytes": "message size that reaches half of r_inf",
    "n_half": "vector length that reaches half of r_inf",
    "f_half": "operations per word that reach half of r_inf",
    "x_half": "x that reaches half of r_inf",
    "t_oc_s": "overhead of a call",
    "t_init_s": "start-up per rank",
    "t_s_s": "start-up of a message",
    "t_w_s_per_byte": "transfer time per byte",
    "t_op_s_per_byte": "time to combine a byte",
    "t_p_s": "time per further rank",
    "L_s": "time on the wire",
    "o_s_s": "time that the sender is busy",
    "o_r_s": "time that the receiver is busy",
    "g_s": "gap between short messages",
    "G_s_per_byte": "gap per byte of long messages",
}
"""Meanings of the symbols of fitted models."""


def equation(fit: Fit) -> str:
    """Return the equation of a model and the meanings of its symbols and parameters."""
    used = {*re.findall(r"\w+", fit.equation), *(parameter.name for parameter in fit.parameters)}
    return f"{fit.equation}; {'; '.join(f'{name}: {what}' for name, what in SYMBOLS.items() if name in used)}"


def sentence(words: list[str]) -> str:
    """Join words into a list: `a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""


def ending(text: str, most: int) -> str:
    """Return a text or, if it is longer than `most` characters, its end: `…/source/solver.c`."""
    return text if len(text) <= most else f"…{text[1 - most :]}"


def direction(better: str) -> str:
    """Return in words whether longer or shorter bars are better."""
    return "longer is better" if better == "higher" else "shorter is better"


def letters() -> Iterator[str]:
    """Yield the letters of notes: a to z, then aa, ab and so on."""
    return map("".join, chain(product(ascii_lowercase), product(ascii_lowercase, repeat=2)))


def moment(unix_s: float | None) -> str:
    """Return a time stamp in words, in UTC."""
    if unix_s is None:
        return "time not recorded"
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
