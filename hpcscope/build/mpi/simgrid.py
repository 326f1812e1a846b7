"""SMPI, the MPI of SimGrid, whose ranks are simulated in one process. See https://simgrid.org/doc/latest/app_smpi.html."""

from hpcscope.build.mpi.implementation import MpiImplementation

SIMGRID = MpiImplementation(
    name="simgrid",
    title="SimGrid",
    family=None,
    version_macros=(("SIMGRID_VERSION_MAJOR", "SIMGRID_VERSION_MINOR"),),
    banner=r"SimGrid version ([\d.]+)",
    banner_differs=True,
    compiler="smpicxx",
    compiler_version=("-show", "-compiler-version"),  # without -show, smpicxx links an empty program
    launchers=("smpirun",),
    simulates=True,
)
