"""A repository keeps any run: here one of few launches, which is packed and read in a fraction of the time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import golden_run as golden


@pytest.fixture(scope="session")
def golden_run(golden_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden run's launches of at most six ranks, analysed; read only."""
    from hpcscope.engine.analysis import analyze  # slow to import: most tests do without

    run = Path(shutil.copytree(golden_raw, tmp_path_factory.mktemp("short") / "golden"))
    analyze(golden.shorten(run, most_ranks=6))
    return run
