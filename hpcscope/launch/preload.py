"""What `transport=collectives` means for a launch: the topology-aware collectives below the program."""

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from hpcscope.build import collectives
from hpcscope.launch.launcher import MpiProgram, Site

TRANSPORT = "collectives"
"""`collectives` lets the library choose its algorithms; `collectives.broadcast.flat_binomial` names one."""
OPERATIONS = ("broadcast", "reduce", "allreduce", "barrier", "gather", "scatter", "allgather", "alltoall")
"""The operations of the library."""


def preloaded(program: MpiProgram, site: Site) -> MpiProgram:
    """Return the program with the library preloaded, if its transport asks for that.

    `hpcscope.topology.preloading` checks beforehand that the library can do what the transport asks for. `env`
    sets the variables on the hosts of the ranks, since the launcher itself must not load the library.
    """
    asked = settings(program.transport, site.topology)
    if not asked:
        return program
    libraries = [str(collectives.build(site.mpi).library), os.environ.get("LD_PRELOAD")]
    asked = {"LD_PRELOAD": " ".join(filter(None, libraries)), **asked}
    words = [f"{name}={value}" for name, value in asked.items()]
    return replace(program, transport="default", path="env", arguments=(*words, program.path, *program.arguments))


def settings(transport: str, topology: Path | None) -> dict[str, str]:
    """Return the environment in which the library does what a transport asks for; empty if it asks for nothing."""
    name, *choice = transport.split(".")
    if name != TRANSPORT:
        return {}
    return {"SCOPE_TOPOLOGY": str(topology), **({"SCOPE_COLLECTIVES": "=".join(choice)} if choice else {})}


def by_rules(rules: str, operations: Collection[str], topology: Path) -> dict[str, str]:
    """Return the environment in which the library follows the rules of an MPI library in some operations.

    The other operations are left to MPI.
    """
    choices = ",".join(f"{name}={rules if name in operations else 'library'}" for name in OPERATIONS)
    return {"SCOPE_TOPOLOGY": str(topology), "SCOPE_COLLECTIVES": choices}
