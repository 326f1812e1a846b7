"""Whether messages between hosts that share one kernel go over their wire: counted, for each MPI once.

MPI libraries find their way around an emulated wire: through memory that both hosts share, or over the network of
the launchers. A measurement on such a site would be of something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from scope.build.cmake import compiler_version
from scope.build.single_source import compiled
from scope.errors import ScopeError
from scope.lab.active import active, note_proof
from scope.launch.launcher import Site

SOURCE = Path(__file__).with_name("wire.cpp")
MOST_OVERHEAD = 1.5
"""Frames, headers and acknowledgements over payload; what goes around leaves nothing on the wire."""

RunOncePerHost = Callable[[Site, Sequence[str]], str]
"""Runs a command once on each host of a site and returns what they printed."""


def prove(site: Site, run_once_per_host: RunOncePerHost) -> None:
    """Raise ScopeError unless this MPI's messages between two hosts of the lab are seen on the emulated wire."""
    lab = active()
    if lab is None or len(site.hosts) < 2 or site.mpi.compiler in lab.proven or site.interface is None:
        return
    program = compiled(SOURCE, [site.mpi.compiler], [site.mpi.version, compiler_version(site.mpi)])
    said = run_once_per_host(replace(site, hosts=site.hosts[:2]), [str(program)])
    counted = re.search(r"^(\d+) (\S+=\d+.*)$", said, re.MULTILINE)
    if counted is None:
        raise ScopeError(f"{site.mpi.name} {site.mpi.version}: two hosts of lab {lab.name} do not talk: {said!r}")
    payload = int(counted[1])
    received = {name: int(number) for name, _, number in (word.partition("=") for word in counted[2].split())}
    over_wire = received.get(site.interface, 0)
    if not payload <= over_wire <= payload * MOST_OVERHEAD:
        others = ", ".join(f"{name} {number} B" for name, number in received.items() if name != site.interface)
        raise ScopeError(
            f"{site.mpi.name} {site.mpi.version} goes around the wire of lab {lab.name}: of {payload} B sent,"
            f" {site.interface} received {over_wire} B ({others})"
        )
    note_proof(lab, site.mpi.compiler)
