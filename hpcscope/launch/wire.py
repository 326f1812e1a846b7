"""Whether messages between hosts of a lab take its emulated network: checked once for each MPI.

MPI libraries find ways around an emulated network: memory that both hosts share, or the network of the launchers.
A measurement over either would measure something else.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

from hpcscope.build.cmake import compiler_version
from hpcscope.build.single_source import compiled
from hpcscope.errors import ScopeError
from hpcscope.lab.active import active, note_verified
from hpcscope.launch.diagnosis import diagnose
from hpcscope.launch.launcher import Site

SOURCE = Path(__file__).with_name("wire.cpp")
LARGEST_OVERHEAD = 1.5
"""Bytes on the network over payload: frames, headers and acknowledgements."""

StartOncePerHost = Callable[[Site, Sequence[str]], CompletedProcess[str]]
"""Runs a command once on each host of a site."""


def verify(site: Site, start_once_per_host: StartOncePerHost) -> None:
    """Raise ScopeError unless this MPI's messages between two hosts of the lab are counted on its network."""
    lab = active()
    if lab is None or len(site.hosts) < 2 or site.mpi.compiler in lab.verified or site.interface is None:
        return
    mpi = f"{site.mpi.name} {site.mpi.version}"
    program = compiled(SOURCE, [site.mpi.compiler], [site.mpi.version, compiler_version(site.mpi)])
    ended = start_once_per_host(replace(site, hosts=site.hosts[:2]), [str(program)])
    # The exit code says nothing about the messages: MPICH 4.0 over UCX may fail in MPI_Finalize.
    counted = re.search(r"^(\d+) (\S+=\d+.*)$", ended.stdout, re.MULTILINE)
    if counted is None:
        reason = diagnose(f"{ended.stderr}\n{ended.stdout}").text
        raise ScopeError(f"{mpi}: no message got through between two hosts of lab {lab.name}: {reason}")
    payload = int(counted[1])
    received = {name: int(number) for name, _, number in (word.partition("=") for word in counted[2].split())}
    on_network = received.get(site.interface, 0)
    if not payload <= on_network <= payload * LARGEST_OVERHEAD:
        others = ", ".join(f"{name} {number} B" for name, number in received.items() if name != site.interface)
        raise ScopeError(
            f"{mpi} bypasses the network of lab {lab.name}: of {payload} B sent,"
            f" {site.interface} received {on_network} B ({others})"
        )
    note_verified(lab, site.mpi.compiler)
