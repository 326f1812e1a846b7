"""The active messages: the libfabric provider that MPI libraries load."""

import re
from pathlib import Path

from hpcscope.build import cmake, libraries
from hpcscope.build.compiler import system_compiler
from hpcscope.errors import UsageError
from hpcscope.machine.machine import MpiInstallation

NAME = "scope-active-messages"
PROVIDER = "scope-fi"
PROVIDER_HEADER = "rdma/providers/fi_prov.h"
PROVIDER_NAME = "scope"
"""The name of the provider for FI_PROVIDER and `fi_info -p`."""
_DEVICE = re.compile(r"--with-device=ch4:([\w,]+)")
"""Matches the device in what MPICH's launcher prints about its build."""


def provider_for(mpi: MpiInstallation) -> Path:
    """Return the provider for programs of `mpi`, compiled now if this exact build is not in the cache.

    Raises ScopeError with the first error and the log's path if it does not compile, UsageError if the compiler,
    CMake, Ninja or libfabric is missing.
    """
    device = _DEVICE.search(libraries.ask([mpi.launcher, "-info"]))
    if device and "ofi" not in device[1].split(","):
        raise UsageError(
            f"the active messages need libfabric, but {mpi.name} {mpi.version} was built without it (device "
            f"ch4:{device[1]}); name another MPI with --mpi"
        )
    asked = project()
    if not asked.targets:
        raise UsageError(
            f"the compiler cannot find {PROVIDER_HEADER}: install libfabric's headers (libfabric-dev)"
        )
    library = f"lib{PROVIDER}.so"
    return cmake.compiled(asked, (library,)) / library


def source_directory() -> Path:
    """Return the folder of the sources."""
    return cmake.sources_of("active-messages", NAME)


def project() -> cmake.Project:
    """Return what is compiled: nothing without the headers of libfabric."""
    compiler = system_compiler(f"{NAME} must be compiled")
    headers = libraries.header_folder(compiler[-1], "libfabric", PROVIDER_HEADER)
    targets = (PROVIDER,) if headers else ()
    # An empty value keeps CMake from its own search, of which the fingerprint would not know.
    facts = (f"libfabric headers: {bool(headers)}",)
    return cmake.Project(
        NAME, source_directory(), None, targets, facts=facts, definitions=(f"-DFABRIC_HEADERS={headers}",)
    )
