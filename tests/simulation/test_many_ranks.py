"""The native program on hundreds of simulated ranks: right results, few messages for each rank, flat memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hpcscope.engine.simulate.launches import lacking_bytes
from hpcscope.engine.simulate.request import takes_time_to_compute
from hpcscope.engine.simulate.simulate import listed
from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch import preload
from hpcscope.launch.launcher import MpiProgram
from hpcscope.machine.machine import NativeBuild
from hpcscope.simulation import library_rules
from hpcscope.simulation.description import HEAD
from hpcscope.simulation.description import write as describe
from hpcscope.simulation.platform import Platform, PlatformFigure, PlatformNode
from hpcscope.simulation.start import Simulator, refuse_unfit, simulated_time_s
from hpcscope.statistics.estimate import Estimate
from hpcscope.topology.topology import Group, Topology
from hpcscope.topology.topology import write as write_topology
from tests.patience import PATIENCE_S

FEW = 32
SENDS = {"send", "isend", "sendRecv"}
ALONE = {"init", "finalize", "recv", "irecv", "wait", "waitall", "compute", "sleep", *SENDS}
"""Calls of one rank; all others are collective."""
MOST_BYTES = 8 << 30


@dataclass
class Traffic:
    """How often each rank called each MPI routine."""

    calls: list[Counter[str]]

    def sent(self) -> int:
        """Most messages that a rank sent by itself."""
        return max(sum(each[name] for name in SENDS) for each in self.calls)

    def collectives(self) -> Counter[str]:
        """Collective calls of a rank: all ranks have the same."""
        found = [Counter({name: n for name, n in each.items() if name not in ALONE}) for each in self.calls]
        assert all(each == found[0] for each in found)
        return found[0]


def cluster(hosts: int) -> str:
    """Return a platform of so many hosts around a switch: 1 Gbit/s, and 50 us from each to each."""
    return (
        f'{HEAD}<platform version="4.1"><cluster id="all" prefix="host" suffix="" radical="0-{hosts - 1}" '
        'speed="1Gf" bw="125MBps" lat="25us"/></platform>\n'
    )


def run(build: NativeBuild, folder: Path, ranks: int, cases: Sequence[str], *options: str) -> int:
    """Run the cases on one rank per simulated host, verified; return the largest memory of the simulation in B."""
    records, memory_bytes = simulated_records(build, folder, ranks, cases, options)
    assert [record["status"] for record in records if record["record"] == "case"] == ["ok"] * len(cases)
    (launch,) = [record for record in records if record["record"] == "launch"]
    assert len(launch["processes"]) == ranks
    return memory_bytes


def simulated_records(
    build: NativeBuild,
    folder: Path,
    ranks: int,
    cases: Sequence[str],
    options: Sequence[str] = (),
    most_bytes: int = MOST_BYTES,
    shares_memory: bool = False,
    platform_text: str = "",
    environment: Mapping[str, str] | None = None,
    action: str = "test",
) -> tuple[list[dict[str, Any]], int]:
    """Run the cases on one rank per simulated host; return their records and the memory in B."""
    folder.mkdir()
    platform, plan, samples = folder / "platform.xml", folder / "plan.txt", folder / "samples.jsonl"
    platform.write_text(platform_text or cluster(ranks))
    plan.write_text("".join(f"{case}\n" for case in cases))
    hosts = [f"host{number}" for number in range(ranks)]
    simulator = Simulator(build.mpi.launcher, platform, hosts, "ompi", 1e9, most_bytes, folder, shares_memory)
    sharing = ("--share-memory=yes",) if shares_memory else ()
    words = (f"--action={action}", f"--plan={plan}", f"--output={samples}", "--origin=simulated", *sharing)
    program = MpiProgram(build.program, words, ranks)
    command = simulator.command(program, folder / "hosts", False, options, environment=environment)
    with subprocess.Popen(command.arguments, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    records = [json.loads(line) for line in samples.read_text().splitlines()]
    if all(record["status"] == "ok" for record in records if record["record"] == "case"):
        assert process.returncode == 0
    return records, usage.ru_maxrss * 1024


@pytest.mark.parametrize(
    ("sampling", "repetitions", "warmup", "stopped"),
    [
        ("minimum_repetitions=1 sampling.maximum_repetitions=1", 1, 0, "repetitions"),
        ("minimum_repetitions=1 sampling.maximum_repetitions=2", 2, 1, "repetitions"),
        ("minimum_repetitions=3 sampling.maximum_repetitions=4", 4, 1, "repetitions"),
        ("maximum_repetitions=4 sampling.budget_s=1e-9", 1, 0, "budget"),
    ],
)
def test_the_first_simulated_repetition_counts_among_the_most_and_is_enough_where_it_took_the_budget(
    simulated: NativeBuild, tmp_path: Path, sampling: str, repetitions: int, warmup: int, stopped: str
) -> None:
    cases = [f"mpi.broadcast message_bytes=1024 sampling.{sampling}"]
    records, _ = simulated_records(simulated, tmp_path / "few", 4, cases, action="run")
    (case,) = [record for record in records if record["record"] == "case"]
    (series,) = case["series"]
    assert {len(times) for times in series["elapsed_s"]} == {repetitions}
    assert (series["warmup"], case["stopped"]) == (warmup, stopped)
    assert case["verification"]["passed"]


def test_routines_that_simgrid_lacks_are_refused(simulated: NativeBuild, tmp_path: Path) -> None:
    cases = [
        f"mpi.neighbor_exchange message_bytes=1024 call={call}" for call in ("nonblocking", "neighbor_alltoall")
    ]
    records, _ = simulated_records(simulated, tmp_path / "few", 4, cases)
    done, refused = [record for record in records if record["record"] == "case"]
    assert done["status"] == "ok"
    assert refused["status"] == "unavailable"
    assert "MPI_Neighbor_alltoall" in refused["reason"]


def traffic(build: NativeBuild, folder: Path, ranks: int, cases: Sequence[str]) -> Traffic:
    """Run the cases and count the calls of each rank, as SMPI traces them."""
    trace = folder / "trace"
    run(build, folder, ranks, cases, "-trace-ti", "-trace-file", str(trace))
    files = [Path(name) for name in trace.read_text().split()]
    assert len(files) == ranks
    return Traffic([Counter(line.split()[1] for line in file.read_text().splitlines()) for file in files])


def test_the_simulated_program_lists_its_benchmarks(simulated: NativeBuild) -> None:
    assert "mpi.barrier" in listed(simulated).names


def test_only_benchmarks_that_compute_have_their_computation_timed(simulated: NativeBuild) -> None:
    catalog = listed(simulated)
    timed = {name for name in catalog.names if name.startswith("mpi.") and takes_time_to_compute(catalog, name)}
    assert timed == {"mpi.overlap", "mpi.intensity"}
    assert takes_time_to_compute(catalog, "algorithm.relaxation")


def test_empty_messages_find_a_buffer_where_the_library_asks_for_no_space(
    simulated: NativeBuild, tmp_path: Path
) -> None:
    modes = ("completion=blocking", "completion=nonblocking")
    run(simulated, tmp_path / "run", 2, [f"mpi.latency mode=buffered {mode} message_bytes=0" for mode in modes])


def test_programs_of_few_ranks_end_as_open_mpi_would_send(simulated: NativeBuild, tmp_path: Path) -> None:
    # SMPI's broadcast of nothing, which Open MPI's choice leads to on two ranks, divides by zero.
    run(simulated, tmp_path / "run", 2, ["operation.broadcast n=30", "algorithm.relaxation n=24"])


@pytest.mark.slow("many simulated ranks again; there, results and memory on 64 ranks")
def test_messages_of_a_rank_grow_with_the_logarithm_of_their_number(
    simulated: NativeBuild, tmp_path: Path
) -> None:
    """Sends of a rank grow with the levels of a tree, at the start and with each case; collective calls do not."""
    one, two = ["mpi.allreduce message_bytes=8"], ["mpi.allreduce message_bytes=8", "mpi.barrier"]
    levels = {16: 4, 64: 6, 256: 8}
    begun = {ranks: traffic(simulated, tmp_path / f"one{ranks}", ranks, one) for ranks in levels}
    sent = {ranks: each.sent() for ranks, each in begun.items()}
    assert 0 < sent[256] / levels[256] <= sent[64] / levels[64] <= sent[16] / levels[16]
    assert begun[16].collectives() == begun[64].collectives() == begun[256].collectives()
    # From each to each, or to one from all others, one after the other, is nowhere.
    assert not {"alltoall", "alltoallv", "gatherv", "scatterv", "allgatherv"} & set(begun[256].collectives())
    further = {ranks: traffic(simulated, tmp_path / f"two{ranks}", ranks, two) for ranks in (16, 64)}
    case = {ranks: each.sent() - sent[ranks] for ranks, each in further.items()}
    assert 0 < case[64] / levels[64] <= case[16] / levels[16]
    assert further[16].collectives() == further[64].collectives()


@pytest.mark.parametrize(
    "many", [64, pytest.param(256, marks=pytest.mark.slow("the same on four times as many ranks; there, on 64"))]
)
def test_results_are_right_and_memory_is_flat(simulated: NativeBuild, many: int, tmp_path: Path) -> None:
    cases = [
        "mpi.broadcast message_bytes=1000",
        "mpi.reduce message_bytes=1000",
        "mpi.pairs round=3 message_bytes=1000 load=concurrent",
        "operation.broadcast n=30",
    ]
    memory = {ranks: run(simulated, tmp_path / str(ranks), ranks, cases) for ranks in (FEW, many)}
    assert memory[many] / many < 1.5 * memory[FEW] / FEW


def test_shared_memory_has_room_for_a_case_that_is_refused_without(simulated: NativeBuild, tmp_path: Path) -> None:
    cases = ["mpi.alltoall message_bytes=2097152"]  # 2 x 32 MB for each of 16 ranks
    for name, shares_memory in (("own", False), ("shared", True)):
        records, _ = simulated_records(simulated, tmp_path / name, 16, cases, (), 1 << 30, shares_memory)
        (case,) = [record for record in records if record["record"] == "case"]
        if shares_memory:
            assert (case["status"], case["verification"]["checks"]) == ("ok", 0)
        else:
            assert case["status"] == "unavailable"
            assert lacking_bytes(case["reason"]) == pytest.approx(16 * 2 * 32 * 2**20, rel=0.1)


def test_topology_aware_collectives_take_the_time_of_their_schedules(
    simulated: NativeBuild, tmp_path: Path
) -> None:
    """Two rooms with 100 MB/s inside and 1 MB/s between: how often a message crosses decides its time."""
    rooms = ("a", "b")
    hosts = [f"host{number}" for number in range(16)]
    groups = [
        Group(
            **{"name": room, "level": "cluster", "hosts": hosts[place::2], "latency_s": 1e-4},
            **{"bandwidth_bytes_per_s": 1e8, "parent": "all", "uplink_bytes_per_s": 1e6},
        )
        for place, room in enumerate(rooms)
    ]
    groups.append(Group(name="all", level="lan", latency_s=1e-3, bandwidth_bytes_per_s=1e6))
    topology = Topology(origin="simulated", group=groups)
    file = tmp_path / "topology.toml"
    file.write_text(write_topology(topology))
    speed = PlatformFigure(Estimate(value=1e9), "none", "flop/s")
    text = describe(
        Platform("simulated", [PlatformNode(name, 1, speed) for name in hosts], None, None, topology), []
    )

    def time_s(transport: str) -> float:
        records, _ = simulated_records(
            simulated,
            tmp_path / transport,
            16,
            ["mpi.broadcast message_bytes=1000000"],
            platform_text=text,
            environment=preload.settings(transport, file),
        )
        (case,) = [record for record in records if record["record"] == "case"]
        assert case["status"] == "ok"
        return max(times[-1] for times in case["series"][0]["elapsed_s"])

    once = time_s("collectives.broadcast.multilevel_pipelined")
    assert 1.0 < once < 1.3
    # The heap of the ranks in order joins the rooms, which have every second rank, on nearly every level.
    assert time_s("collectives.broadcast.flat_binomial") > 2 * once
    assert time_s("default") > 1.3 * once


@pytest.mark.parametrize(("rules", "ranks"), [("openmpi4", 16), ("openmpi5", 13)])
def test_operations_are_right_by_the_rules_of_open_mpi(
    simulated: NativeBuild, tmp_path: Path, rules: str, ranks: int
) -> None:
    """SMPI has the same rules for some operations, in code of its own: times must agree there."""
    hosts = [f"host{number}" for number in range(ranks)]
    environment = library_rules.environment(rules, hosts, tmp_path / "hosts.toml")
    names = [name for name in library_rules.FLAT if name != "barrier"]
    cases = ["mpi.barrier", *(f"mpi.{name} message_bytes={size}" for name in names for size in (8, 16384, 65536))]
    times_s = []
    for name, given in (("smpi", None), ("rules", environment)):
        records, _ = simulated_records(simulated, tmp_path / name, ranks, cases, environment=given)
        found = [record for record in records if record["record"] == "case"]
        assert [one["status"] for one in found] == ["ok"] * len(cases)
        longest_s = (max(times[-1] for times in one["series"][0]["elapsed_s"]) for one in found)
        times_s.append(dict(zip(cases, longest_s, strict=True)))
    by_smpi, by_rules = times_s
    same = [
        case for case in cases if "alltoall" in case or "scatter" in case or "allreduce message_bytes=6" in case
    ]
    assert [by_rules[case] for case in same] == pytest.approx([by_smpi[case] for case in same], rel=0.02)
    # SMPI cuts this one into segments.
    assert by_rules["mpi.reduce message_bytes=16384"] < 0.6 * by_smpi["mpi.reduce message_bytes=16384"]


PROGRAM = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  double x = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1 && rank == 1) {
    if (argv[1][0] == 'e') exit(3);
    MPI_Recv(&x, 1, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 100; ++i) MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
}
"""


def test_a_program_of_ones_own_is_timed_and_its_failures_are_named(tmp_path: Path) -> None:
    compiler = shutil.which("smpicc")
    if compiler is None:
        pytest.skip("smpicc is not installed")
    source, program = tmp_path / "own.c", str(tmp_path / "own")
    source.write_text(PROGRAM)
    subprocess.run([compiler, str(source), "-o", program], check=True, capture_output=True)
    refuse_unfit([program])
    platform = tmp_path / "platform.xml"
    platform.write_text(cluster(8))
    hosts = [f"host{number}" for number in range(8)]
    launcher = str(Path(compiler).with_name("smpirun"))
    simulator = Simulator(launcher, platform, hosts, "ompi", 1e9, MOST_BYTES, tmp_path)

    def time_s(ranks: int, *arguments: str) -> float:
        return simulated_time_s([program, *arguments], ranks, simulator, tmp_path / "hosts", PATIENCE_S)

    # 100 times at least one way from one host to another, of 50 us; more levels of a tree take longer.
    assert 100 * 50e-6 < time_s(2) < time_s(8)
    with pytest.raises(ScopeError, match=r"own exit .*\b2\b.*: .*exit code [1-9]"):
        time_s(2, "exit")
    with pytest.raises(ScopeError, match=r"own wait .*\b2\b.*: .*wait"):
        time_s(2, "wait")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [([], "program"), (["nosuch"], "nosuch"), (["/bin/sh"], "/bin/sh.*smpicc")],
)
def test_what_smpi_cannot_load_is_refused(words: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        refuse_unfit(words)
