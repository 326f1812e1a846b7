"""The native program for SimGrid, compiled once for all tests of this folder."""

from __future__ import annotations

import pytest

from scope.build import installations
from scope.machine.machine import MpiInstallation, NativeBuild
from tests.installed_mpi import built, compile_quickly


@pytest.fixture(scope="session")
def simgrid() -> MpiInstallation:
    """SimGrid, or none on this machine."""
    try:
        return installations.find("simgrid")
    except Exception as reason:  # whatever keeps it from being found
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def simulated(simgrid: MpiInstallation) -> NativeBuild:
    """The native program built for SimGrid."""
    return built(simgrid)


@pytest.fixture
def quickly(simgrid: MpiInstallation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what a test simulates have the very program of the other tests."""
    compile_quickly(simgrid, monkeypatch)
