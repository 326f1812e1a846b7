"""The relay, compiled by any C++ compiler: a lab needs no MPI."""

from __future__ import annotations

from pathlib import Path

from hpcscope.build.compiler import system_compiler
from hpcscope.build.single_source import compiled


def program() -> str:
    """Return the path of the relay; UsageError without a compiler."""
    compiler = system_compiler("latency, buses and lossy links need a program that must be compiled")
    return str(compiled(Path(__file__).with_name("relay.cpp"), compiler))
