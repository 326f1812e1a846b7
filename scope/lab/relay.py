"""The relay, compiled by any C++ compiler: a lab needs no MPI."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from scope.build.single_source import compiled
from scope.errors import UsageError


def program() -> str:
    """Return the path of the relay; UsageError without a compiler."""
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
    if compiler is None:
        raise UsageError("c++: not found; latency, buses and lossy links need a program that must be compiled")
    return str(compiled(Path(__file__).with_name("relay.cpp"), compiler.split()))
