"""Fixtures of the installed MPIs."""

from tests.installed_mpi import build, embedded, embedded_build, ending_mpi, mpi  # noqa: F401
