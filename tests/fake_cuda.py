"""A CUDA driver, and an NVRTC, whose device is a processor."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("driver") / "fake_cuda.so"
    source = Path(__file__).with_name("fake_cuda.cpp")
    subprocess.run(["c++", "-std=c++20", "-O1", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return str(library)
