"""The settings that advice names exist in the installed libraries, and are told as what they are: trials."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hpcscope.catalog.catalog import Catalog
from hpcscope.findings.results import Run
from hpcscope.findings.settings import MCA, advised, algorithms, another_algorithm, spelt
from hpcscope.machine.machine import MpiInstallation
from tests.declared import catalog
from tests.installed_mpi import mpi  # noqa: F401
from tests.patience import PATIENCE_S


def routines(declared: Catalog) -> list[str]:
    """The blocking collectives that benchmarks represent."""
    found = {declared.routine(benchmark.name) for benchmark in declared if benchmark.level == "mpi"}
    return sorted(found - {"", "MPI_Send", "MPI_Put", "MPI_Reduce_local"})


def known_to(library: MpiInstallation) -> bytes:
    """What a library says of its settings: `ompi_info` of Open MPI, the names inside MPICH itself."""
    programs = Path(library.compiler).parent
    if library.name == "openmpi":
        words = [programs / "ompi_info", "--param", "coll", "tuned", "--level", "9", "--parsable"]
        return subprocess.run(words, capture_output=True, timeout=PATIENCE_S, check=True).stdout
    linked = subprocess.run(
        [library.compiler, "-show"], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    folders = [Path(word[2:]) for word in linked.stdout.split() if word.startswith("-L")]
    candidates = [file for folder in folders for file in sorted(folder.glob("libmpi*.so*")) if file.is_file()]
    return b"".join(file.read_bytes() for file in candidates)


@pytest.mark.mpi
def test_every_variable_and_algorithm_that_advice_names_exists(mpi: MpiInstallation) -> None:  # noqa: F811
    said = known_to(mpi)
    named = {routine: algorithms(mpi.name, routine) for routine in routines(catalog())}
    assert {"MPI_Scan", "MPI_Allreduce", "MPI_Bcast", "MPI_Barrier"} <= {
        one for one, found in named.items() if found
    }
    for change in (change for changes in named.values() for change in changes):
        *_, (name, value) = change.items()
        assert name.removeprefix(MCA).encode() in said
        asked = f"{name.removeprefix(MCA)}:enumerator:value:{value}:" if mpi.name == "openmpi" else value
        assert asked.encode() in said, asked


def test_a_change_is_told_as_a_person_writes_it_and_what_the_run_has_is_not_advised(healthy_run: Run) -> None:
    assert spelt({f"{MCA}smsc": "^cma"}) == "`--mca smsc ^cma`"
    assert spelt({"UCX_TLS": "posix,self"}) == "`UCX_TLS=posix,self`"
    case = healthy_run.raw_samples.cases[0].case
    how = advised(healthy_run, "memory copies", case)
    assert [one.case for one in how.trials] == [case.request]
    assert how.words.startswith("try `")
    assert "--try-advice" in how.words
    has = healthy_run.machine.model_copy(update={"environment": how.trials[0].environment})
    again = advised(healthy_run.replaced(machine=has), "memory copies", case)
    assert again.trials == []
    assert "`" not in again.words


def test_every_algorithm_of_a_routine_is_a_trial(healthy_run: Run) -> None:
    case = healthy_run.raw_samples.cases[0].case
    how = another_algorithm(healthy_run, "MPI_Bcast", case)
    assert len(how.trials) == len(algorithms(healthy_run.mpi, "MPI_Bcast")) > 1
    assert another_algorithm(healthy_run, "MPI_Send", case).trials == []
