"""`scope build`: the native program for one MPI, or the collectives library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scope.machine.machine import MpiInstallation


def command(
    mpi: Annotated[
        str | None, typer.Option(help="openmpi, mpich, embedded, a folder or an mpicxx; else the first one found.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="An object instead of text.")] = False,
    collectives: Annotated[
        bool, typer.Option("--collectives", help="The topology-aware collectives instead of the native program.")
    ] = False,
) -> None:
    """Compile the native program for an MPI, unless this very build is in the cache already.

    Builds for several MPIs, compilers and versions stand side by side; $SCOPE_CACHE chooses where.
    """
    import time

    from scope.build import blas, installations, scalapack
    from scope.cli.run import built

    if collectives:
        _collectives(installations.find(mpi), json)
        return
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
    print(f"scalapack {scalapack.described(build.scalapack) if build.scalapack else 'none'}")
    print(f"compiler  {build.compiler}, {build.flags}")
    print(f"took      {seconds:.1f} s")


def _collectives(mpi: MpiInstallation, json: bool) -> None:
    """Build the collectives library and print where it is and how it is used."""
    from scope.build import collectives

    made = collectives.build(mpi)
    if json:
        import json as writer

        print(writer.dumps({"library": str(made.library), "estimator": str(made.estimator)}, indent=1))
        return
    print(f"library    {made.library}")
    print(f"estimator  {made.estimator}")
    print(f"mpi        {mpi.name} {mpi.version} ({mpi.origin}), {mpi.compiler}")
    print("to use it")
    for line in collectives.usage(made, mpi):
        print(f"    {line}")
