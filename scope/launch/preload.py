"""What `transport=collectives` means for a launch: the topology-aware collectives below the program."""

from __future__ import annotations

import os
from dataclasses import replace

from scope.build import collectives
from scope.launch.launcher import MpiProgram, Site

TRANSPORT = "collectives"
"""`collectives` lets the library choose its algorithms; `collectives.broadcast.flat_binomial` names one."""


def preloaded(program: MpiProgram, site: Site) -> MpiProgram:
    """Return the program with the library preloaded, where its transport asks for that.

    `scope.topology.preloading` checks beforehand that the library can do what the transport asks for. `env` sets
    the variables on the hosts of the ranks, since the launcher itself must not load the library.
    """
    transport, *choice = program.transport.split(".")
    if transport != TRANSPORT:
        return program
    libraries = [str(collectives.build(site.mpi).library), os.environ.get("LD_PRELOAD")]
    settings = {"LD_PRELOAD": " ".join(filter(None, libraries)), "SCOPE_TOPOLOGY": str(site.topology)}
    if choice:
        settings["SCOPE_COLLECTIVES"] = "=".join(choice)
    words = [f"{name}={value}" for name, value in settings.items()]
    return replace(program, transport="default", path="env", arguments=(*words, program.path, *program.arguments))
