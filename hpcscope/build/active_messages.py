"""The active messages: the libfabric provider that MPI libraries load, and the program that tests and measures."""

import re
from dataclasses import dataclass
from pathlib import Path

from hpcscope.build import cmake, libraries
from hpcscope.build.compiler import system_compiler
from hpcscope.errors import UsageError
from hpcscope.machine.machine import MpiInstallation

NAME = "scope-active-messages"
PROGRAM = "scope-exchange"
PROVIDER = "scope-fi"
PROVIDER_HEADER = "rdma/providers/fi_prov.h"
PROVIDER_NAME = "scope"
"""As FI_PROVIDER and `fi_info -p` spell it."""
_DEVICE = re.compile(r"--with-device=ch4:([\w,]+)")
"""In what the launcher of MPICH says of its build."""


@dataclass(frozen=True)
class ActiveMessagesBuild:
    """What was compiled."""

    program: Path
    provider: Path | None
    """The libfabric provider; None without the headers of libfabric."""


def build() -> ActiveMessagesBuild:
    """Return program and provider, compiled now if these very ones are not in the cache.

    Raises ScopeError with the first error and the log's path when they do not compile, UsageError when the
    compiler, CMake or Ninja is missing.
    """
    library = f"lib{PROVIDER}.so"
    asked = project()
    with_provider = PROVIDER in asked.targets
    directory = cmake.compiled(asked, (PROGRAM, library) if with_provider else (PROGRAM,))
    return ActiveMessagesBuild(directory / PROGRAM, directory / library if with_provider else None)


def provider_for(mpi: MpiInstallation) -> Path:
    """Return the provider for programs of `mpi`, as `build` does; UsageError where libfabric is missing."""
    device = _DEVICE.search(libraries.ask([mpi.launcher, "-info"]))
    if device and "ofi" not in device[1].split(","):
        raise UsageError(
            f"{mpi.name} {mpi.version} was built without libfabric (device ch4:{device[1]}), which the active "
            "messages need; name another MPI with --mpi"
        )
    provider = build().provider
    if provider is None:
        raise UsageError(
            f"the compiler finds no {PROVIDER_HEADER}: install the headers of libfabric (libfabric-dev)"
        )
    return provider


def source_directory() -> Path:
    """Return the folder of the sources."""
    return cmake.sources_of("active-messages", NAME)


def _headers() -> str:
    compiler = system_compiler(f"{NAME} must be compiled")
    return libraries.header_folder(compiler[-1], "libfabric", PROVIDER_HEADER)


def project() -> cmake.Project:
    """Return what is compiled: with the provider where the headers of libfabric are."""
    headers = _headers()
    targets = (PROGRAM, PROVIDER) if headers else (PROGRAM,)
    # An empty value keeps CMake from searching by itself, which the fingerprint could not know.
    facts = (f"libfabric headers: {bool(headers)}",)
    return cmake.Project(
        NAME, source_directory(), None, targets, facts=facts, definitions=(f"-DFABRIC_HEADERS={headers}",)
    )
