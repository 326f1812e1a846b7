"""A CUDA driver, and an NVRTC, whose device is a processor."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Compile it once for all workers of a session."""
    own = tmp_path_factory.getbasetemp()
    library = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "fake_cuda.so"
    if not library.exists():
        made = tmp_path_factory.mktemp("driver") / library.name
        source = Path(__file__).with_name("fake_cuda.cpp")
        subprocess.run(["c++", "-std=c++20", "-O1", "-shared", "-fPIC", str(source), "-o", str(made)], check=True)
        made.replace(library)
    return str(library)
