"""How each command of the pages is executed: here, in a lab, or only parsed, and why.

A command that is not named here runs as it is printed, in the directory of its page, with the budgets of `BRIEF`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

BRIEF = {
    "run": "--launches 1 --budget 0.01s",
    "tune linpack": "--solution-time 0.2s --trials 1 --launches 1 --oversubscribe",
    "tune storage": "--trials 1 --launches 1 --file-bytes 256Ki --oversubscribe",
    "tune blas": "--time 1s",
    "health": "--minutes 0.2 --memory 64Mi",
    "placement": "--repetitions 1",
    "throughput": "--rounds 1",
    "reproduce": "--launches 1 --budget 0.01s",
    "simulate": "--limit 30s",
}
"""Options that `bin/scope` of a page's directory adds where the page does not give them; they only shorten."""


@dataclass(frozen=True)
class Way:
    """How a command is executed."""

    where: str = "here"
    """`here`, `lab` (on the first host of the page's), `slurm` (where jobs are submitted), `job` or `parsed`."""
    reason: str = ""
    """Why it is only parsed."""
    codes: tuple[int, ...] = (0,)
    """Exit codes that are right."""
    shorter: str = ""
    """Options added at the end, in place of those of BRIEF; they may replace one that the page gives."""
    until: str = ""
    """What has been printed, or which file exists, when Ctrl-C ends the command."""
    stays: bool = False
    """Whether it then goes on until the end of the page instead, as a server does."""
    before: str = ""
    """What makes what the command supposes."""
    answer: str = ""
    """What is typed when it asks."""


@dataclass(frozen=True)
class Page:
    """How the commands of a page are executed."""

    ways: dict[str, Way] = field(default_factory=dict)
    """By the beginning of the command, the longest that fits."""
    where: str = "here"
    """Where commands run that `ways` does not name."""
    lab: str = ""
    """Which lab of LABS."""
    before: str = ""
    """A script that makes what the page supposes: earlier runs, a program."""
    printed: tuple[str, ...] = ()
    """The beginnings of the commands that print the blocks of output in the page, in order."""
    varying: str = r"(?!)"
    """Which of these lines depend on the machine, as those of findings do."""


LABS = {
    "nodes": """
title = "Hosts as the pages name them"
[[group]]
name = "node"
hosts = 4
ranks_per_host = 16
rate_mbit_per_s = 1000
[[group]]
name = "login"
hosts = 1
ranks_per_host = 0
rate_mbit_per_s = 1000
switch = "node"
""",
    "fleet": """
title = "A fleet of nodes"
[[group]]
name = "n"
hosts = 8
rate_mbit_per_s = 1000
""",
}


def parsed(reason: str) -> Way:
    """Return the way of a command that is not executed."""
    return Way("parsed", reason)
