"""Fixtures of the installed MPIs."""

from tests.installed_mpi import build, embedded, embedded_build, mpi  # noqa: F401
