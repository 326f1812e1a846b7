from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scope.cli.analyze import analyze
from tests import golden_run as golden


@pytest.fixture(scope="session")
def golden_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden run as it is before any analysis; read only."""
    return golden.write(tmp_path_factory.mktemp("golden") / "raw")


@pytest.fixture(scope="session")
def golden_run(golden_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden run with everything that is derived from it; read only."""
    run = Path(shutil.copytree(golden_raw, tmp_path_factory.mktemp("derived") / "golden"))
    analyze(run)
    return run


@pytest.fixture
def golden_copy(golden_raw: Path, tmp_path: Path) -> Path:
    """A raw golden run of one's own, to change or break."""
    return Path(shutil.copytree(golden_raw, tmp_path / "golden"))
