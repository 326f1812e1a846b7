"""Whether messages between hosts that share one kernel go over their wire: counted, for each MPI once.

MPI libraries find their way around an emulated wire: through memory that both hosts share, or over the network of
the launchers. A measurement on such a site would be of something else.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

from scope.build.cmake import cache_directory, compiler_version
from scope.errors import ScopeError
from scope.lab.active import active, note_proof
from scope.launch.diagnosis import diagnose
from scope.launch.launcher import Job, Site, command

SOURCE = Path(__file__).with_name("wire.cpp")
PATIENCE_S = 60.0
MOST_OVERHEAD = 1.5
"""Frames, headers and acknowledgements over payload; what goes around leaves nothing on the wire."""


def prove(site: Site) -> None:
    """Raise ScopeError unless this MPI's messages between two hosts of the lab are seen on the emulated wire."""
    lab = active()
    if lab is None or len(site.hosts) < 2 or site.mpi.compiler in lab.proven or site.interface is None:
        return
    two = replace(site, hosts=tuple(replace(host, slots=1) for host in site.hosts[:2]), ranks_per_host=1)
    start = command(Job(program=_program(site), arguments=(), ranks=2, ranks_per_host=1), two)
    environment = {**os.environ, **start.environment}
    try:
        answer = subprocess.run(
            start.arguments,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE_S,
        )
    except subprocess.TimeoutExpired as error:
        raise ScopeError(f"{start.arguments[0]}: two hosts of lab {lab.name} do not talk") from error
    counted = re.search(r"^(\d+) (\S+=\d+.*)$", answer.stdout, re.MULTILINE)
    if counted is None:
        said = diagnose(f"{answer.stderr}\n{answer.stdout}").text
        raise ScopeError(f"{start.arguments[0]}: two hosts of lab {lab.name} do not talk: {said}")
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


def _program(site: Site) -> str:
    """Return the path of the counting program, compiled for this MPI."""
    facts = "\0".join([SOURCE.read_text(), site.mpi.compiler, site.mpi.version, compiler_version(site.mpi)])
    path = cache_directory() / "wire" / hashlib.sha256(facts.encode()).hexdigest()[:16]
    if path.is_file():
        return str(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    words = [site.mpi.compiler, "-std=c++20", "-O1", "-o", str(fresh), str(SOURCE)]
    answer = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S * 2)
    if answer.returncode != 0:
        raise ScopeError(f"{SOURCE}: does not compile: {answer.stderr.partition(chr(10))[0]}")
    fresh.replace(path)
    return str(path)
