"""Fixtures of the installed MPIs."""

from tests.installed_mpi import build, embedded, embedded_build, few, few_sources, mpi  # noqa: F401
