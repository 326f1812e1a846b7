"""What `scope simulate` refuses before it compiles or simulates anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from scope.engine.simulate import SimulateOptions, simulate
from scope.errors import UsageError


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (SimulateOptions(collectives="mpi"), "--collectives mpi: must be one of openmpi, mpich"),
        (SimulateOptions(only=["mpi.alltoall"]), "no result of mpi.alltoall of several ranks"),
        (SimulateOptions(changes={"link.speed": 2.0}), "--set link.speed=2: unknown key"),
        (SimulateOptions(hosts=64), "--hosts 64: the run has one host"),
        (SimulateOptions(topology="torus"), "--topology torus: the run has one host"),
        (SimulateOptions(topology="ring"), "--topology ring: must be one of fat-tree"),
    ],
)
def test_wrong_requests(golden_run: Path, options: SimulateOptions, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        simulate(golden_run, options)
