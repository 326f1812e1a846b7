"""The native program for SimGrid, with the benchmarks that are simulated here, compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.build import installations, native
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from tests import small_program
from tests.installed_mpi import built, compile_quickly

KEPT = (
    *("mpi/barrier", "mpi/latency", "mpi/collective_movement", "mpi/collective_reduction", "mpi/intensity"),
    *("mpi/neighbor_exchange", "mpi/overlap", "mpi/pairs", "operation/broadcast", "algorithm/relaxation"),
)


@pytest.fixture(scope="session")
def simgrid() -> MpiInstallation:
    """SimGrid, or none on this machine."""
    try:
        return installations.find("simgrid")
    except Exception as reason:  # whatever keeps it from being found
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the native program that is simulated."""
    return small_program.sources(tmp_path_factory.mktemp("simulated"), *KEPT)


@pytest.fixture(scope="session")
def simulated(simgrid: MpiInstallation, sources: Path) -> NativeBuild:
    """The native program built for SimGrid."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "source_directory", lambda: sources)
        return built(simgrid)


@pytest.fixture
def quickly(simgrid: MpiInstallation, sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what a test simulates in this process have the very program of the other tests."""
    compile_quickly(simgrid, monkeypatch)
    monkeypatch.setattr(native, "source_directory", lambda: sources)
