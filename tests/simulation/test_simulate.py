"""What `scope simulate` refuses before it compiles or simulates anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scope.cli import simulate as command
from scope.engine.simulate import simulate
from scope.engine.simulation_request import SimulateOptions
from scope.errors import UsageError
from scope.simulation.start import FEW_RANKS, algorithms


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (SimulateOptions(collectives="mpi"), "--collectives mpi: must be one of openmpi, mpich"),
        (SimulateOptions(case_limit_s=-3), "--case-limit -3: must be more than 0 seconds"),
        (SimulateOptions(case_limit_s=float("nan")), "--case-limit nan: must be more than 0 seconds"),
        (SimulateOptions(only=["mpi.alltoall"]), "no result of mpi.alltoall of several ranks"),
        (SimulateOptions(changes={"link.speed": 2.0}), "--set link.speed=2: unknown key"),
        (SimulateOptions(hosts=64), "--hosts 64: the run has one host"),
        (SimulateOptions(topology="torus"), "--topology torus: the run has one host"),
        (SimulateOptions(topology="ring"), "--topology ring: must be one of fat-tree"),
    ],
)
def test_impossible_requests_are_refused_by_name(golden_run: Path, options: SimulateOptions, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        simulate(golden_run, options)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cost": -1.0, "choose": ["link.latency=2"]}, "--cost -1: must be more than 0"),
        ({"cost": 20.0}, "--cost 20: must stand beside a change"),
        ({"choose": ["link.latency=nan"]}, "--set link.latency=nan: must be key=number"),
        ({"choose": ["link.latency=2", "link.latency=3"]}, "--set link.latency=3: link.latency is given twice"),
    ],
)
def test_the_command_refuses_changes_and_costs_that_mean_nothing(
    golden_run: Path, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        command.command(golden_run, **arguments)


def test_on_many_ranks_no_exchange_has_all_its_messages_under_way_at_once() -> None:
    assert algorithms(FEW_RANKS, short=False) == algorithms(FEW_RANKS, short=True) == {}
    short, long = (algorithms(FEW_RANKS + 1, short) for short in (True, False))
    assert (short["smpi/alltoall"], long["smpi/alltoall"]) == ("bruck", "pair")
    assert short["smpi/alltoallv"] == long["smpi/alltoallv"] == "pair"
