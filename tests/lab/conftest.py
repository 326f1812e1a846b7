"""The small lab, brought up once, and fixtures of the installed MPIs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scope.lab import description, emulation, faults
from scope.lab.entry import Emulation
from tests.installed_mpi import build, embedded, embedded_build, ending_mpi, mpi  # noqa: F401
from tests.lab.small_lab import SMALL, refuse_without_namespaces


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulation]:
    """The lab of all tests here that need no other."""
    refuse_without_namespaces()
    file = tmp_path_factory.mktemp("lab") / "small.toml"
    file.write_text(SMALL)
    with emulation.temporary(*description.read(str(file))) as lab:
        yield lab


@pytest.fixture
def healthy(small: Emulation) -> Iterator[Emulation]:
    """The lab, mended after the test."""
    yield small
    faults.clear(Emulation(small.folder, emulation.find(small.state.name).state))  # type: ignore[union-attr]
