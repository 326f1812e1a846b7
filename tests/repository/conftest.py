"""A repository keeps any run: here one of few launches, which is packed and read in a fraction of the time."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcscope.archive.repository import Repository
from tests import golden_run as golden
from tests.repository.server import Served, running
from tests.repository.test_repository import variant


@pytest.fixture(scope="session")
def golden_run(golden_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden run's launches of at most six ranks, analysed; read only."""
    from hpcscope.engine.analysis import analyze  # slow to import: most tests do without

    run = Path(shutil.copytree(golden_raw, tmp_path_factory.mktemp("short") / "golden"))
    analyze(golden.shorten(run, most_ranks=6))
    return run


@pytest.fixture(scope="module")
def served(golden_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of a repository with one run, which takes uploads."""
    folder = tmp_path_factory.mktemp("served")
    repository = Repository(folder / "repository", make=True)
    repository.add([variant(golden_run, folder, "kept")], cluster="giza")
    with running(folder, repository, "--uploads", "sent") as found:
        yield found
