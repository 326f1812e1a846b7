"""Which fabric libraries the native program can use: those whose header and library the compiler finds.

The program is compiled against them and opens them when a case asks for one; nothing is linked.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hpcscope.build import libraries

KNOWN = (("libfabric", "rdma/fabric.h", "libfabric.so"), ("ucx", "ucp/api/ucp.h", "libucp.so"))
"""Name (also of the pkg-config package), header and library."""


@dataclass(frozen=True)
class Fabric:
    """One fabric library on this host."""

    name: str
    include: str
    """Folder of its headers."""
    library: str
    """Path of the library, links resolved."""
    version: str
    """Version according to pkg-config; empty without it."""


@cache
def find(compiler: str) -> tuple[Fabric, ...]:
    """Return the fabric libraries that `compiler` (the MPI wrapper) can compile against, with their paths."""
    with ThreadPoolExecutor() as pool:  # each waits for the programs that it runs
        found = pool.map(lambda known: _find(compiler, *known), KNOWN)
    return tuple(fabric for fabric in found if fabric is not None)


def definitions(found: Sequence[Fabric]) -> list[str]:
    """Return the definitions that tell CMake of each known library or of its absence."""
    here = {fabric.name: fabric for fabric in found}
    told: list[str] = []
    for name, _, _ in KNOWN:
        fabric = here.get(name, Fabric(name, "", "", ""))
        facts = {"INCLUDE": fabric.include, "LIBRARY": fabric.library, "VERSION": fabric.version}
        told += [f"-DSCOPE_{name.upper()}_{fact}={value}" for fact, value in facts.items()]
    return told


def _find(compiler: str, name: str, header: str, library: str) -> Fabric | None:
    named = [path for path in libraries.of_pkg_config(name) if Path(path).name == library]
    path = named[0] if named else libraries.of_compiler(compiler, library)
    include = libraries.header_folder(compiler, name, header) if path else ""
    if not include:
        return None
    version = libraries.ask(["pkg-config", "--modversion", name])
    return Fabric(name, include, str(Path(path).resolve()), version)
