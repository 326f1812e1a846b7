"""Every algorithm under every MPI, element by element; what is passed through; and that the comparison notices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from hpcscope.launch.preload import OPERATIONS
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from hpcscope.simulation.library_rules import ANYWHERE, FLAT
from tests.collectives.conftest import TOPOLOGY, Job, hosts_of
from tests.installed_mpi import under_every_mpi
from tests.messages import mentions

FORCED = [
    {
        "broadcast": "flat_binomial",
        "reduce": "flat_binomial",
        "allreduce": "flat_recursive_doubling",
        "barrier": "flat_dissemination",
        "gather": "flat_linear",
        "scatter": "flat_linear",
        "allgather": "flat_ring",
        "alltoall": "flat_pairwise",
    },
    {
        "broadcast": "multilevel_asynchronous",
        "reduce": "multilevel_pipelined",
        "allreduce": "flat_ring",
        "barrier": "multilevel_tree",
        "gather": "flat_binomial",
        "scatter": "flat_binomial",
        "allgather": "flat_dissemination",
        "alltoall": "multilevel_exchange",
    },
    {
        "broadcast": "multilevel_blocking",
        "allreduce": "multilevel_pipelined",
        "gather": "multilevel_tree",
        "scatter": "multilevel_tree",
        "allgather": "multilevel_exchange",
    },
    {"broadcast": "multilevel_pipelined", "allreduce": "flat_halving_doubling"},
]
"""Together, all algorithms of the table."""
MULTILEVEL = FORCED[1] | FORCED[2] | {"broadcast": "multilevel_pipelined"}
"""The best for each operation."""


def words(forced: dict[str, str]) -> str:
    return ",".join(f"{operation}={algorithm}" for operation, algorithm in forced.items())


@pytest.mark.parametrize("forced", FORCED, ids=range(len(FORCED)))
@pytest.mark.parametrize(("ranks", "cases", "most"), [(2, 6, 4000), (5, 6, 4000), (17, 2, 3000)])
def test_every_algorithm(
    embedded: MpiInstallation, job: Job, forced: dict[str, str], ranks: int, cases: int, most: int
) -> None:
    ended = job(
        *(embedded, ranks, "verify.cpp", str(ranks), str(cases), str(most)),
        SCOPE_COLLECTIVES=words(forced),
        SCOPE_COLLECTIVES_SEGMENT="1000",
    )
    assert ended.code == 0, ended.errors
    assert ended.output.startswith("0 failures")
    taken = {(decision["operation"], decision["algorithm"]) for decision in ended.decisions}
    assert set(forced.items()) <= taken


@pytest.mark.parametrize(
    ("rules", "hosts", "operations"),
    [
        ("openmpi4", "a,a,a,a,a", FLAT),
        ("openmpi4", "a,b,c,d,e,a,b,c", FLAT),
        ("openmpi5", "a,b", FLAT),
        ("openmpi5", "a,a,b,d,d", ANYWHERE),
        ("mpich", "a,b,c,d,e", ANYWHERE),
    ],
)
def test_operations_by_the_rules_of_another_library(
    embedded: MpiInstallation, job: Job, rules: str, hosts: str, operations: Sequence[str]
) -> None:
    forced = {name: rules if name in operations else "library" for name in OPERATIONS}
    ranks = len(hosts.split(","))
    ended = job(
        *(embedded, ranks, "verify.cpp", "9", "4", "40000"),
        SCOPE_COLLECTIVES=words(forced),
        SCOPE_TOPOLOGY_HOSTS=hosts,
    )
    assert ended.code == 0, ended.errors
    assert ended.output.startswith("0 failures")
    taken = {(one["operation"], one["algorithm"]) for one in ended.decisions if one["ranks"] > 1}
    assert taken == set(forced.items())


@under_every_mpi("the monitor is preloaded under MPICH 4.0, with Fortran's entries, too")
@pytest.mark.parametrize("forced", [MULTILEVEL, {}], ids=["multilevel", "by the estimate"])
def test_every_mpi(mpi: MpiInstallation, job: Job, forced: dict[str, str]) -> None:
    ended = job(mpi, 3, "verify.cpp", "7", "3", "20000", SCOPE_COLLECTIVES=words(forced))
    assert ended.code == 0, ended.errors
    assert ended.output.startswith("0 failures")
    assert {decision["operation"] for decision in ended.decisions} >= {"broadcast", "reduce", "alltoall"}
    assert any(decision["algorithm"] != "library" for decision in ended.decisions)


def test_forty_ranks(embedded: MpiInstallation, job: Job) -> None:
    ended = job(embedded, 40, "verify.cpp", "5", "1", "400")
    assert ended.code == 0, ended.errors
    assert ended.output.startswith("0 failures")


def test_one_wrong_element_is_noticed(embedded: MpiInstallation, job: Job) -> None:
    ended = job(embedded, 3, "verify.cpp", "7", "3", "100", "--corrupt")
    assert ended.code == 1
    assert "element" in ended.errors


@pytest.mark.parametrize("ranks", [1, 2])
def test_one_rank_one_host_and_no_topology_pass_through(embedded: MpiInstallation, job: Job, ranks: int) -> None:
    for settings in ({"SCOPE_TOPOLOGY_HOSTS": "a,a"[: 2 * ranks - 1]}, {"SCOPE_TOPOLOGY": ""}):
        ended = job(embedded, ranks, "verify.cpp", "3", "3", "1000", **settings)
        assert (ended.code, ended.decisions) == (0, []), ended.errors
        assert "scope-collectives" not in ended.errors


@pytest.mark.parametrize(
    ("topology", "settings", "said"),
    [
        (TOPOLOGY.replace('"d", "e"', '"d", "a"'), {}, 'host "a" ... "one" ... "two"'),
        (TOPOLOGY + "color = 3\n", {}, "color: "),
        (TOPOLOGY, {"SCOPE_TOPOLOGY_HOSTS": ""}, "the file is for other hosts"),
        (TOPOLOGY, {"SCOPE_TOPOLOGY_HOSTS": "a"}, "SCOPE_TOPOLOGY_HOSTS ... 1 hosts"),
        (TOPOLOGY, {"SCOPE_TOPOLOGY": "/nowhere.toml"}, "/nowhere.toml: "),
        (
            TOPOLOGY,
            {"SCOPE_COLLECTIVES": "broadcast=fast"},
            "broadcast=fast: ... library, openmpi4, openmpi5, mpich, flat_binomial, ",
        ),
        (
            TOPOLOGY,
            {"SCOPE_COLLECTIVES": "reduce=mpich"},
            "reduce=mpich: ... library, openmpi4, openmpi5, flat",
        ),
        (TOPOLOGY, {"SCOPE_COLLECTIVES": "bcast=library"}, "bcast=library: ... broadcast"),
        (TOPOLOGY, {"SCOPE_COLLECTIVES_SEGMENT": "0"}, "SCOPE_COLLECTIVES_SEGMENT ... 0"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_the_program_goes_on(
    embedded: MpiInstallation, job: Job, topology: str, settings: dict[str, str], said: str
) -> None:
    ended = job(embedded, 2, "verify.cpp", "3", "1", "100", topology=topology, **settings)
    assert (ended.code, ended.decisions) == (0, [])
    lines = [line for line in ended.errors.splitlines() if line.startswith("scope-collectives: ")]
    assert len(lines) == 1, ended.errors
    assert mentions(lines[0], said)
    assert "own collectives" in lines[0], "that are used then"


def test_a_program_with_communicators_of_its_own(
    embedded: MpiInstallation, embedded_build: NativeBuild, job: Job, tmp_path: Path
) -> None:
    # The native program compares every payload, too, and never uses the world's communicator.
    names = ("broadcast", "reduce", "allreduce", "barrier", "gather", "scatter", "allgather", "alltoall")
    (tmp_path / "plan.txt").write_text("".join(f"mpi.{name}\n" for name in names))
    words = ["--action=test", f"--plan={tmp_path / 'plan.txt'}", f"--output={tmp_path / 'samples.jsonl'}"]
    ended = job(embedded, 4, "", *words, program=Path(embedded_build.program))
    assert ended.code == 0, ended.errors
    assert {decision["operation"] for decision in ended.decisions} == set(names)


def test_decisions_tell_every_estimate(embedded: MpiInstallation, job: Job) -> None:
    ended = job(embedded, 5, "verify.cpp", "2", "5", "40000")
    decided = [decision for decision in ended.decisions if decision["operation"] == "broadcast"]
    assert decided
    for decision in decided:
        estimates = decision["estimated_s"]
        assert set(estimates) == {"library", *(forced["broadcast"] for forced in FORCED)}
        fastest = min(estimates.values())
        assert estimates[decision["algorithm"]] == fastest or decision["algorithm"] == "library"
        own = estimates["library"]
        assert decision["algorithm"] != "library" or fastest >= 0.9 * own or own - fastest <= 1.001e-4
    assert hosts_of(5) == "a,d,b,e,c"
