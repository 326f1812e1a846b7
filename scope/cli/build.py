"""`scope build`: the native program for one MPI, or the topology-aware collectives."""

from __future__ import annotations

from typing import Annotated

import typer

from scope.cli.options import Json, Mpi


def command(
    mpi: Mpi = None,
    json: Json = False,
    collectives: Annotated[
        bool, typer.Option("--collectives", help="The topology-aware collectives instead of the native program.")
    ] = False,
    active_messages: Annotated[
        bool, typer.Option("--active-messages", help="The libfabric provider that carries MPI messages.")
    ] = False,
) -> None:
    """Compile the native program for an MPI, unless this very build is in the cache.

    The cache ($SCOPE_CACHE) keeps builds for several MPIs, compilers and versions side by side.
    """
    from scope.build import blas, scalapack
    from scope.engine import builds

    if collectives:
        _collectives(mpi, json)
        return
    if active_messages:
        _active_messages(mpi, json)
        return
    timed = builds.build(mpi)
    build = timed.build
    if json:
        print(build.model_dump_json(indent=1))
        return
    print(f"program   {build.program}")
    print(f"mpi       {build.mpi.name} {build.mpi.version} ({build.mpi.origin}), {build.mpi.compiler}")
    print(f"launcher  {build.mpi.launcher or 'none beside the compiler; scope run needs --mpiexec'}")
    print(f"blas      {blas.described(build.blas) if build.blas else 'none'}")
    print(f"scalapack {scalapack.described(build.scalapack) if build.scalapack else 'none'}")
    print(f"compiler  {build.compiler}, {build.labelled_flags}")
    print(f"took      {timed.seconds:.1f} s")


def _active_messages(mpi: str | None, json: bool) -> None:
    """Build the provider and print where it is and how an MPI program takes it."""
    from scope.cli.output import print_json
    from scope.engine import builds

    made = builds.build_provider(mpi)
    if json:
        print_json({"provider": str(made.library), "variables": made.variables})
        return
    print(f"provider  {made.library}")
    print(f"mpi       {made.mpi.name} {made.mpi.version} ({made.mpi.origin}), {made.mpi.compiler}")
    print("usage")
    for name, value in made.variables.items():
        print(f"    export {name}={value}")
    print(f"    {made.start}")


def _collectives(mpi: str | None, json: bool) -> None:
    """Build the collectives and print where they are and how they are used."""
    from scope.build import collectives
    from scope.cli.output import print_json
    from scope.engine import builds

    made, installation = builds.build_collectives(mpi)
    if json:
        print_json({"library": str(made.library), "estimator": str(made.estimator)})
        return
    print(f"library    {made.library}")
    print(f"estimator  {made.estimator}")
    print(
        f"mpi        {installation.name} {installation.version} ({installation.origin}), {installation.compiler}"
    )
    print("usage")
    for line in collectives.usage(made, installation):
        print(f"    {line}")
