"""The cost of sharing a node: packed against spread placement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scope.build import installations
from scope.campaign import folder as folders
from scope.campaign.allocation import pairings
from scope.campaign.folder import Head
from scope.campaign.study import made, named, starts_ranks
from scope.engine.campaign import CampaignResult, start
from scope.engine.options import COMMAND_LINE, LauncherOptions, launcher_keys
from scope.engine.progress import CampaignProgress
from scope.errors import UsageError
from scope.launch.cluster import probe_cluster
from scope.launch.site import site_of
from scope.plan.experiment import resolve


@dataclass(frozen=True)
class PlacementOptions:
    """Options of `scope placement`."""

    program: Sequence[str]
    """The words of the program, without a launcher."""
    ranks: int | None = None
    """None: one for each host."""
    repetitions: int = 8
    """Of each placement, in random order."""
    transport: str = "default"
    launcher: LauncherOptions = field(default_factory=LauncherOptions)
    mpi: str | None = None
    check: str | None = None
    """A command that reads the output of a run and exits with 0 when that is correct."""
    limit_s: float | None = None
    seed: int | None = None
    name: str | None = None


def head_of(options: PlacementOptions, command: Sequence[str]) -> Head:
    """Return the head of a placement study; UsageError where nothing can be compared on these hosts."""
    if not options.program:
        raise UsageError("no program: must follow --, such as `scope placement -- ./app arguments`")
    if options.ranks is not None and options.ranks < 1:
        raise UsageError(f"--ranks {options.ranks}: must be at least 1")
    if starts_ranks(options.program):
        raise UsageError(f"{options.program[0]}: give the program alone; Scope starts its ranks on chosen hosts")
    asked = resolve(None, launcher_keys(options.launcher)).launcher
    cluster = probe_cluster(site_of(installations.find(options.mpi), asked, COMMAND_LINE))
    slots = cluster.place.slots
    if options.ranks is None and len(set(slots)) > 1:
        raise UsageError(
            f"the hosts take {', '.join(map(str, slots))} ranks: --ranks must say how many ranks are placed"
        )
    sockets = cluster.hosts[0].processor.sockets if cluster.hosts else 1
    pairs, notes = pairings(slots, sockets, options.ranks)
    layouts = [layout for pair in pairs for layout in (pair.packed, pair.spread)]
    study = made(
        {
            "name": options.name or named(options.program),
            "program": list(options.program),
            "ranks": sorted({layout.ranks for layout in layouts}),
            "placement": sorted({layout.placement for layout in layouts}),
            "transport": options.transport,
            "repetitions": options.repetitions,
            "launcher": asked.model_dump(),
        },
        COMMAND_LINE,
        {"mpi": options.mpi, "check": options.check, "limit_s": options.limit_s, "seed": options.seed},
    )
    head = folders.head_of("placement", study, list(command))
    return head.model_copy(update={"pairings": pairs, "notes": [*notes, *head.notes]})


def run(
    options: PlacementOptions,
    output: Path | None = None,
    progress: CampaignProgress | None = None,
    command: Sequence[str] = (),
) -> CampaignResult:
    """Run a program packed on few nodes and spread over many, and analyse the difference."""
    return start(head_of(options, command), COMMAND_LINE, output, progress)
