"""The relay, compiled by whatever C++ compiler is here: a lab needs no MPI."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from scope.build.single_source import compiled
from scope.errors import UsageError


def program() -> str:
    """Return the relay's path; raises UsageError without a compiler."""
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
    if compiler is None:
        raise UsageError("c++: not found; latency, buses and lossy links are carried by a program to compile")
    return str(compiled(Path(__file__).with_name("relay.cpp"), compiler.split()))
