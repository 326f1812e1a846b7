"""The topology-aware collectives below a program: what `transport=collectives` means for a launch."""

from __future__ import annotations

import os
from dataclasses import replace

from scope.build import collectives
from scope.launch.launcher import Job, Site

WORD = "collectives"
"""`collectives` lets the library choose; `collectives.broadcast.flat_binomial` tells it what to choose."""


def preloaded(job: Job, site: Site) -> Job:
    """Return the job with the library below it, where its transport says so.

    That it can do what the transport says was checked before (`scope.topology.preloading`). `env` sets the
    variables on the ranks' own hosts: a launcher must not load the library itself.
    """
    word, *choice = job.transport.split(".")
    if word != WORD:
        return job
    settings = {
        "LD_PRELOAD": " ".join(
            filter(None, [str(collectives.build(site.mpi).library), os.environ.get("LD_PRELOAD")])
        ),
        "SCOPE_TOPOLOGY": str(site.topology),
    }
    if choice:
        settings["SCOPE_COLLECTIVES"] = "=".join(choice)
    words = [f"{name}={value}" for name, value in settings.items()]
    return replace(job, transport="default", program="env", arguments=(*words, job.program, *job.arguments))
