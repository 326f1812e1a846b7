"""The native program of `measure/health`: compiled by any C++ compiler, without MPI, for hosts without Scope."""

from __future__ import annotations

from pathlib import Path

from hpcscope.build import prebuilt
from hpcscope.build.cmake import sources_of
from hpcscope.build.compiler import system_compiler
from hpcscope.build.single_source import FLAGS, compiled
from hpcscope.errors import ScopeError, UsageError

PARTS = ("measure/src/processors/caches.cpp", "measure/src/text/words.cpp", "json/json.cpp")
"""Sources that it shares with `scope-measure`."""
HEADERS = (
    *("measure/health/checks.hpp", "measure/health/host.hpp", "measure/health/link.hpp"),
    "measure/src/processors/multiply_add.hpp",
    "measure/src/sampling/median.hpp",
    *(
        "measure/src/processors/caches.hpp",
        "measure/src/unavailable.hpp",
        "measure/src/memory/large_pages.hpp",
        "measure/src/text/words.hpp",
    ),
    "json/json.hpp",
)


NAME = "health"
"""The program's name in a wheel of Scope."""


def program(compile_it: bool = True) -> Path:
    """Return the path of the program that came with Scope or is compiled here.

    It is linked statically, so that hosts with another C library can run it, too; if the system has no static C
    library, only the C++ library is linked in. Raises UsageError without a compiler, ScopeError if it must not be
    compiled.
    """
    if (ready := prebuilt.without_mpi(NAME)) is not None:
        return ready
    try:
        compiler = system_compiler("`scope health` compiles a small program that it copies to every host")
    except UsageError:
        if compile_it:
            raise
        compiler = ["c++"]  # of the login node, whose home this host shares
    root = sources_of("measure", "scope health").parent
    include = ["-I", str(root / "measure/src"), "-I", str(root), "-pthread", "-s"]
    sources = [str(root / part) for part in PARTS]
    facts = [(root / part).read_text() for part in (*PARTS, *HEADERS)]

    def made(*linking: str) -> Path:
        flags = (*FLAGS, *linking, *include, *sources)
        return compiled(root / "measure/health/main.cpp", compiler, facts, flags, compile_it)

    try:
        return made("-static")
    except ScopeError:
        return made("-static-libstdc++", "-static-libgcc")
