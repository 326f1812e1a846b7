"""`scope build`: the native program for one MPI, or one of the libraries for other programs."""

import time
from pathlib import Path
from typing import Annotated

import typer

from hpcscope.cli.options import Json
from hpcscope.cli.output import print_json
from hpcscope.cli.settings import Given, takes
from hpcscope.errors import UsageError
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.table import chosen


@takes(given=chosen(Experiment, "mpi"))
def command(
    *,
    given: Given,
    json: Json = False,
    collectives: Annotated[
        bool, typer.Option("--collectives", help="Build the topology-aware collectives instead.")
    ] = False,
    active_messages: Annotated[
        bool, typer.Option("--active-messages", help="Build the libfabric provider that carries MPI messages.")
    ] = False,
    timer: Annotated[
        bool, typer.Option("--timer", help="Build scope-timer, a clock for programs in C, C++ and Fortran.")
    ] = False,
    prefix: Annotated[
        Path | None, typer.Option("--prefix", help="With --timer: installation prefix, such as ~/.local.")
    ] = None,
) -> None:
    """Compile the native program for an MPI, unless this build is in the cache.

    The cache ($SCOPE_CACHE) keeps builds for several MPIs, compilers and versions side by side. `--mpi simgrid`
    compiles for simulated ranks (scope simulate).
    """
    from hpcscope.build import blas, installations, native, scalapack

    mpi = given.get("mpi")
    if collectives:
        _collectives(mpi, json)
        return
    if active_messages:
        _active_messages(mpi, json)
        return
    if prefix is not None and not timer:
        raise UsageError("--prefix: only valid with --timer; other programs stay in the cache")
    if timer:
        _timer(prefix, json)
        return
    started_s = time.monotonic()
    build = native.build(installations.find(mpi), compile_own=True)
    if json:
        print(build.model_dump_json(indent=1))
        return
    print(f"program   {build.program} ({build.source})")
    print(f"mpi       {build.mpi.name} {build.mpi.version} ({build.mpi.origin}), {build.mpi.compiler}")
    print(f"launcher  {build.mpi.launcher or 'none next to the compiler; `scope run` needs --mpiexec'}")
    print(f"blas      {blas.described(build.blas) if build.blas else 'none'}")
    print(f"scalapack {scalapack.described(build.scalapack) if build.scalapack else 'none'}")
    print(f"compiler  {build.compiler}, {build.labelled_flags}")
    print(f"took      {time.monotonic() - started_s:.1f} s")


def _timer(asked: Path | None, json: bool) -> None:
    """Build the clock, install it if asked for, and print how programs use it."""
    from hpcscope.build import timer
    from hpcscope.rundirectory import expanded

    if asked is None:
        prefix = timer.build()
    else:
        prefix = expanded("--prefix", str(asked)).absolute()
        timer.install(prefix)
    packages = timer.packages(prefix)
    if json:
        print_json({"prefix": str(prefix), "pkg_config": str(packages)})
        return
    print(f"prefix    {prefix}")
    print("usage")
    print(f"    export PKG_CONFIG_PATH={packages}")
    print(f"    export LD_LIBRARY_PATH={packages.parent}")
    print("    cc program.c $(pkg-config --cflags --libs scope-timer)")
    print("    c++ -std=c++17 program.cpp $(pkg-config --cflags scope-timer) -ldl")
    sources = prefix / timer.INCLUDES / "scope_timer.f90"
    print(f"    gfortran {sources} program.f90 $(pkg-config --libs scope-timer)")
    print(f"    man -M {prefix}/share/man 3 scope_timer")


def _active_messages(mpi: str | None, json: bool) -> None:
    """Build the provider and print where it is and how an MPI program uses it."""
    from hpcscope.engine import builds

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
    from hpcscope.build import collectives, installations

    installation = installations.find(mpi)
    made = collectives.build(installation)
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
