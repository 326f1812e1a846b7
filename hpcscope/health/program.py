"""The native program of `measure/health`: compiled by any C++ compiler, without MPI, for bare hosts."""

from __future__ import annotations

from pathlib import Path

from hpcscope.build.cmake import sources_of
from hpcscope.build.compiler import system_compiler
from hpcscope.build.single_source import FLAGS, compiled
from hpcscope.errors import ScopeError

PARTS = ("measure/src/processors/caches.cpp", "measure/src/text/words.cpp", "json/json.cpp")
"""Sources that it shares with `scope-measure`."""
HEADERS = (
    *("measure/health/checks.hpp", "measure/health/host.hpp", "measure/src/processors/multiply_add.hpp"),
    *(
        "measure/src/processors/caches.hpp",
        "measure/src/unavailable.hpp",
        "measure/src/memory/large_pages.hpp",
        "measure/src/text/words.hpp",
    ),
    "json/json.hpp",
)


def program() -> Path:
    """Return the path of the program; UsageError without a compiler.

    It is linked statically, so that hosts with another C library run it, too; where the system has no static C
    library, only the C++ library is part of it.
    """
    compiler = system_compiler("scope health compiles a small program that it copies to every host")
    root = sources_of("measure", "scope health").parent
    include = ["-I", str(root / "measure/src"), "-I", str(root), "-pthread", "-s"]
    sources = [str(root / part) for part in PARTS]
    facts = [(root / part).read_text() for part in (*PARTS, *HEADERS)]

    def made(*linking: str) -> Path:
        return compiled(root / "measure/health/main.cpp", compiler, facts, (*FLAGS, *linking, *include, *sources))

    try:
        return made("-static")
    except ScopeError:
        return made("-static-libstdc++", "-static-libgcc")
