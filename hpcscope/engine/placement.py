"""The cost of sharing a node: packed against spread placement."""

from collections.abc import Mapping, Sequence
from typing import Any

from hpcscope.build import installations
from hpcscope.errors import UsageError
from hpcscope.launch.cluster import probe_cluster
from hpcscope.launch.site import site_of
from hpcscope.plan.experiment import COMMAND_LINE, resolve
from hpcscope.programs.campaign import folder as folders
from hpcscope.programs.campaign.folder import Head
from hpcscope.programs.campaign.placement import pairings
from hpcscope.programs.campaign.study import made, named, starts_ranks
from hpcscope.settings.programs import PlacementSettings


def head_of(
    program: Sequence[str], options: PlacementSettings, given: Mapping[str, Any], command: Sequence[str]
) -> Head:
    """Return the head of a placement study; UsageError if nothing can be compared on these hosts.

    `program`: its words, without a launcher. `given`: settings of an experiment by their keys: hosts, MPI, seed.
    """
    if not program:
        raise UsageError("no program: name one after --, as in `scope placement -- ./app arguments`")
    if starts_ranks(program):
        raise UsageError(f"{program[0]}: must be the program without its launcher; Scope itself starts the ranks")
    asked = resolve(None, given)
    cluster = probe_cluster(site_of(installations.find(asked.mpi), asked.launcher, COMMAND_LINE))
    slots = cluster.place.slots
    if options.ranks is None and len(set(slots)) > 1:
        raise UsageError(f"the hosts have {', '.join(map(str, slots))} slots: give the number of ranks (--ranks)")
    sockets = cluster.hosts[0].processor.sockets if cluster.hosts else 1
    pairs, notes = pairings(slots, sockets, options.ranks)
    layouts = [layout for pair in pairs for layout in (pair.packed, pair.spread)]
    study = made(
        {
            "name": options.name or named(program),
            "program": list(program),
            "ranks": sorted({layout.ranks for layout in layouts}),
            "placement": sorted({layout.placement for layout in layouts}),
            "transport": options.transport,
            "repetitions": options.repetitions,
            "launcher": asked.launcher,
        },
        COMMAND_LINE,
        {"mpi": asked.mpi, "check": options.check, "limit_s": options.limit_s, "seed": asked.seed},
    )
    head = folders.head_of("placement", study, list(command))
    return head.model_copy(update={"pairings": pairs, "notes": [*notes, *head.notes]})
