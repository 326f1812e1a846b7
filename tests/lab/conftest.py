"""The small lab, brought up once, and fixtures of the installed MPIs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hpcscope.lab import description, emulation, faults
from hpcscope.lab.entry import Emulation
from tests.installed_mpi import build, embedded, embedded_build, ending_mpi, mpi  # noqa: F401
from tests.lab.small_lab import SMALL, refuse_without_namespaces


@pytest.fixture(scope="session")
def brought_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulation]:
    """The lab as it was brought up."""
    refuse_without_namespaces()
    file = tmp_path_factory.mktemp("lab") / "small.toml"
    file.write_text(SMALL)
    with emulation.temporary(*description.read(str(file))) as lab:
        yield lab


@pytest.fixture
def small(brought_up: Emulation) -> Emulation:
    """The lab of all tests here that need no other, as it is now: tests before this one replaced its faults."""
    return now(brought_up)


@pytest.fixture
def healthy(small: Emulation) -> Iterator[Emulation]:
    """The lab, mended after the test."""
    yield small
    faults.clear(now(small))


def now(lab: Emulation) -> Emulation:
    """Return the lab with its present faults."""
    known = emulation.find(lab.state.name)
    assert known is not None
    return known
