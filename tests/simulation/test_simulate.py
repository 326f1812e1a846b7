"""What `scope simulate` refuses before it compiles or simulates anything."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hpcscope.catalog.declared import declared
from hpcscope.cli import dispatch
from hpcscope.engine.simulate.launches import BYTES_OF_RANK, Launches, at_a_time, in_turn
from hpcscope.engine.simulate.request import Request, SimulateOptions
from hpcscope.engine.simulate.simulate import _notes, simulate
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.launch.supervision.supervisor import Listener
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import Launch, Plan, PlannedCase
from hpcscope.rundirectory import RunDirectory
from hpcscope.simulation.calibration import NO_OVERHEAD, ONE_RATE, calibrated
from hpcscope.simulation.platform import platform
from hpcscope.simulation.start import FEW_RANKS, algorithms
from tests.messages import mentions


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (SimulateOptions(collectives="mpi"), "--collectives mpi: .*openmpi, mpich"),
        (SimulateOptions(only=["mpi.alltoall"]), r"mpi\.alltoall"),
        (SimulateOptions(changes={"link.speed": 2.0}), r"--set link\.speed=2: "),
        (SimulateOptions(hosts=64), "--hosts 64: .*one host"),
        (SimulateOptions(topology="torus"), "--topology torus: .*one host"),
        (SimulateOptions(topology="ring"), "--topology ring: .*fat-tree"),
    ],
)
def test_impossible_requests_are_refused_by_name(golden_run: Path, options: SimulateOptions, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        simulate(golden_run, options)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cost", "-1", "--set", "link.latency=2"], "--cost -1: ... 0"),
        (["--cost", "20"], "--cost 20: "),
        (["--set", "link.latency=nan"], "--set link.latency=nan: ... key=number"),
        (["--set", "link.latency=2", "--set", "link.latency=3"], "--set link.latency=3: "),
        (["--limit", "0"], "--limit 0: ... 0s"),
        (["--memory", "0"], "--memory 0: ... 1"),
    ],
)
def test_the_command_refuses_what_means_nothing(
    golden_run: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch("simulate", [str(golden_run), *arguments]) == 2
    assert mentions(capsys.readouterr().err, words)


@pytest.mark.parametrize(("own_cores", "slower"), [(False, 4.0), (True, 1.0)])
def test_ranks_of_a_lab_share_its_cores_unless_each_host_has_its_own(own_cores: bool, slower: float) -> None:
    host = SimpleNamespace(processor=SimpleNamespace(usable_processors=2))
    known = SimpleNamespace(machine=SimpleNamespace(lab="o2", hosts=[host] * 8))
    node = SimpleNamespace(flops_per_s=SimpleNamespace(estimate=SimpleNamespace(value=1e9)))
    measured = SimpleNamespace(nodes=[node] * 8)
    request = cast(Request, SimpleNamespace(known=known, measured=measured, own_cores=own_cores))
    assert Request.speed_here(request, 8) == slower * 1e9


def test_notes_say_what_the_run_does_not_tell_the_simulation(golden_run: Path) -> None:
    run = Run(golden_run)
    calibrations = [
        calibrated(platform(run.measurements), run.measurements, fits) for fits in (run.models.fits, [])
    ]
    options, machine = SimulateOptions(), SimpleNamespace(lab=None, hosts=run.machine.hosts)
    requests = [
        SimpleNamespace(known=SimpleNamespace(machine=machine), calibration=calibration, options=options)
        for calibration in calibrations
    ]
    fitted, bare = (list(_notes(cast(Request, request), 2)) for request in requests)
    assert (ONE_RATE in fitted, NO_OVERHEAD in fitted) == (False, True)
    assert (ONE_RATE in bare, NO_OVERHEAD in bare) == (True, False)


def test_on_many_ranks_no_exchange_has_all_its_messages_under_way_at_once() -> None:
    assert algorithms(FEW_RANKS, short=False) == algorithms(FEW_RANKS, short=True) == {}
    short, long = (algorithms(FEW_RANKS + 1, short) for short in (True, False))
    assert (short["smpi/alltoall"], long["smpi/alltoall"]) == ("bruck", "pair")
    assert short["smpi/alltoallv"] == long["smpi/alltoallv"] == "pair"
    assert algorithms(FEW_RANKS, short=False, shares_memory=True) == {}
    shared = algorithms(FEW_RANKS + 1, short=False, shares_memory=True)
    assert shared == {**long, "smpi/reduce_scatter": "mpich_pair"}


def test_as_many_launches_run_at_a_time_as_have_a_core_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    assert at_a_time(turns=20, ranks=16, memory_bytes=1e12) == 8
    assert at_a_time(turns=3, ranks=16, memory_bytes=1e12) == 3
    assert at_a_time(turns=20, ranks=1024, memory_bytes=2.5 * 1024 * BYTES_OF_RANK) == 2
    assert at_a_time(turns=20, ranks=1024, memory_bytes=1) == 1


def test_launches_that_compute_follow_one_another() -> None:
    names = ["mpi.barrier", "algorithm.relaxation", "mpi.broadcast", "mpi.overlap"]
    launches = [
        Launch(number, ranks, "default", Placement.parse("core"), (PlannedCase(name, {}),))
        for number, (name, ranks) in enumerate(zip(names, (2, 4, 16, 4), strict=True), 1)
    ]
    nothing: dict[str, Any] = dict.fromkeys(field.name for field in fields(Request))
    request = Request(**nothing | {"plan": Plan(1, "baseline", tuple(launches)), "catalog": declared()})
    assert [[launch.number for launch in turn] for turn in in_turn(request)] == [[3], [2, 4], [1]]


def test_what_ranks_cannot_even_share_stays_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again: list[bool] = []
    monkeypatch.setattr(Launches, "_supervise", lambda _self, _launch, _bytes, shares: again.append(shares))
    launch = cast("Launch", SimpleNamespace(number=1, cases=["a", "b", "c"], key=lambda case: case))
    launches = Launches(
        RunDirectory(tmp_path), cast("Request", None), cast("Listener", None), lock=0, scratch=tmp_path
    )
    part = RunDirectory(RunDirectory(tmp_path).launches / "0001")
    part.path.mkdir(parents=True)
    lacking = "rank 0 on n1: the buffers need {} MB of memory on this host; available: 9 MB"
    reasons = ["", lacking.format(68786), lacking.format(2199023)]
    lines = [json.dumps({"position": number, "reason": reason}) + "\n" for number, reason in enumerate(reasons)]
    part.samples.write_text("".join(lines))
    launches._again(launch, 1e9, shares_memory=True)
    assert again == [True]
    assert part.samples.read_text() == lines[0] + lines[2]
    assert launches.sharing == {(1, "b")}
    launches._again(launch, 1e9)
    assert part.samples.read_text() == lines[0]
