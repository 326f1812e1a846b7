"""Call paths and sampled computation of a program whose functions are known (paths.cpp)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.profiles.merged import merge
from hpcscope.programs.profiles.records import Functions, Merged, PathNode
from tests.monitor.conftest import HERE, Ended, Run
from tests.patience import PATIENCE_S

STEPS = 10
WORDS = (str(STEPS), "2", "counted")
"""Steps, and samples of each ice::step; ocean::step has three times as many."""
OPTIONS = "depth=12 sample=200"
RANKS = 2


@pytest.fixture(scope="module")
def program(embedded: MpiInstallation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Optimised and without frame pointers."""
    program = tmp_path_factory.mktemp("paths") / "paths"
    flags = ["-std=c++20", "-O2", "-g", "-fomit-frame-pointer", "-DOMPI_SKIP_MPICXX", "-ldl"]
    flags += [f"-Wl,--export-dynamic-symbol=timer_{name}" for name in ("create", "settime", "delete")]
    subprocess.run([embedded.compiler, *flags, HERE / "paths.cpp", "-o", program], check=True, timeout=PATIENCE_S)
    return program


@pytest.fixture(scope="module")
def ended(run: Run, embedded: MpiInstallation, program: Path) -> Ended:
    found = run(embedded, RANKS, *WORDS, program=program, SCOPE_MONITOR_OPTIONS=OPTIONS)
    assert found.code == 0, found.errors
    return found


def merged(ended: Ended, *wrappers: str) -> Merged:
    return merge(ended.profiles[0].path.parent, wrappers)


def functions(ended: Ended) -> Functions:
    found = merged(ended).functions
    assert found is not None
    return found


def paths(found: Functions) -> Iterator[tuple[str, PathNode]]:
    """Yield the nodes with their paths: `main < ocean::step < MPI_Allreduce`."""
    named: list[str] = []
    for one in found.tree:
        named.append(one.name if one.parent is None else f"{named[one.parent]} < {one.name}")
        yield named[-1], one


def test_messages_belong_to_who_wanted_them(ended: Ended) -> None:
    """The wrapper is folded away, recursion is one function, instances of a template are two."""
    called = {path: (one.calls, one.bytes) for path, one in paths(functions(ended)) if one.mpi}
    each = RANKS * STEPS
    assert called == {
        "main < ocean::step < MPI_Allreduce": (each, 8 * each),
        "main < ice::step < MPI_Allreduce": (each, 8 * each),
        "main < descend < MPI_Barrier": (each, 0),
        **{
            f"main < exchange<{kind}> < {routine}": (each, size)
            for kind, sent in (("int", 400 * each), ("double", 800 * each))
            for routine, size in (("MPI_Comm_rank", 0), ("MPI_Comm_size", 0), ("MPI_Sendrecv", sent))
        },
    }
    found = merged(ended)
    assert {one.site for one in found.calls} == set(range(len(found.sites))), "samples are no sites of calls"
    places = [one.frames for one in found.sites]
    assert any(one[0].startswith("ocean::step (paths.cpp:") for one in places)
    assert not any("mpi_wrap_sum" in frame for one in places for frame in one)


def test_functions_can_be_named_that_only_pass_on(ended: Ended) -> None:
    found = merged(ended, "DESC*").functions
    assert found is not None
    barriers = [path for path, one in paths(found) if one.name == "MPI_Barrier"]
    assert barriers == ["main < MPI_Barrier"]


def test_times_are_those_of_the_processes(ended: Ended) -> None:
    whole = merged(ended)
    found = functions(ended)
    assert sum(one.time_s for one in found.tree if one.mpi) == pytest.approx(whole.mpi_s, rel=1e-3)
    assert sum(one.mpi_s for one in found.functions) == pytest.approx(whole.mpi_s, rel=1e-3)
    by_rank = [sum(one.mpi_by_rank[rank] for one in found.functions) for rank in range(RANKS)]
    assert by_rank == pytest.approx([one.mpi_s for one in whole.processes], rel=1e-3)


def computed(found: Functions) -> dict[str, float]:
    """Return the sampled time of each path that is no call of MPI."""
    return {path: one.time_s for path, one in paths(found) if not one.mpi}


def test_computation_is_sampled_where_it_is(ended: Ended) -> None:
    found = functions(ended)
    own = computed(found)
    below = {
        name: sum(time_s for path, time_s in own.items() if path.startswith(f"main < {name}"))
        for name in ("ocean::step", "ice::step", "exchange", "descend")
    }
    in_ice = RANKS * STEPS * 2
    samples = {name: round(time_s * found.sample_hz) for name, time_s in below.items()}
    assert samples == {"ocean::step": 3 * in_ice, "ice::step": in_ice, "exchange": 0, "descend": 0}
    recorded = sum(int(row["samples"]) for one in ended.profiles for row in one.tables["samples"])
    assert recorded == found.samples - found.samples_in_mpi == 4 * in_ice
    assert sum(own.values()) == pytest.approx(recorded / found.sample_hz)


def test_processor_time_runs_the_timer(run: Run, embedded: MpiInstallation, program: Path) -> None:
    """Of 0.4 s of the processor, whoever else wants it; which addresses are hit, the machine decides."""
    found = functions(run(embedded, 1, "1", "100", program=program, SCOPE_MONITOR_OPTIONS=OPTIONS))
    assert found.sample_hz == 200
    own = computed(found)
    for routine in ("ocean::step", "ice::step"):
        assert sum(time_s for path, time_s in own.items() if path.startswith(f"main < {routine}")) > 0, own


def test_a_stripped_program_has_the_same_functions_without_names(
    run: Run, embedded: MpiInstallation, program: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, program], check=True, timeout=PATIENCE_S)
    ended = run(embedded, 1, str(STEPS), "0", program=bare, SCOPE_MONITOR_OPTIONS="depth=12")
    called = sorted((one.name, one.calls, path.count(" < ")) for path, one in paths(functions(ended)) if one.mpi)
    # The wrapper has no name by which to know it: it stays.
    assert called == sorted(
        [
            *[("MPI_Allreduce", STEPS, 3)] * 2,
            ("MPI_Barrier", STEPS, 2),
            *[(f"MPI_{name}", STEPS, 2) for name in ("Comm_rank", "Comm_size", "Sendrecv")] * 2,
        ]
    )


def test_a_signal_that_the_program_uses_stays_its_own(run: Run, embedded: MpiInstallation, program: Path) -> None:
    ended = run(embedded, 1, "1", "20", "own", program=program, SCOPE_MONITOR_OPTIONS=OPTIONS)
    assert (ended.code, ended.output) == (0, "1 signal\n")
    assert "SIGPROF" in ended.errors
    assert len(ended.profiles[0].tables["samples"]) == 0


def test_the_tree_begins_with_the_regions_of_the_program(run: Run, embedded: MpiInstallation) -> None:
    ended = run(embedded, RANKS, "regions", SCOPE_MONITOR_OPTIONS="depth=4")
    assert ended.code == 0, ended.errors
    found = functions(ended)
    barriers = {path.partition(" < ")[0]: one.calls for path, one in paths(found) if one.name == "MPI_Barrier"}
    assert barriers == {"outside of regions": RANKS, "region 7": 4 * RANKS, "region 9": 2 * RANKS}
