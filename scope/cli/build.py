"""`scope build`: the native program for one MPI."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    mpi: Annotated[
        str | None, typer.Option(help="openmpi, mpich, embedded, a folder or an mpicxx; else the first one found.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="An object instead of text.")] = False,
) -> None:
    """Compile the native program for an MPI, unless this very build is in the cache already.

    Builds for several MPIs, compilers and versions stand side by side; $SCOPE_CACHE chooses where.
    """
    import time

    from scope.build import blas, installations
    from scope.cli.run import built

    started_s = time.monotonic()
    build = built(installations.find(mpi))
    seconds = time.monotonic() - started_s
    if json:
        print(build.model_dump_json(indent=1))
        return
    print(f"program   {build.program}")
    print(f"mpi       {build.mpi.name} {build.mpi.version} ({build.mpi.origin}), {build.mpi.compiler}")
    print(f"launcher  {build.mpi.launcher or 'none beside the compiler; scope run needs --mpiexec'}")
    print(f"blas      {blas.described(build.blas) if build.blas else 'none'}")
    print(f"compiler  {build.compiler}, {build.flags}")
    print(f"took      {seconds:.1f} s")
