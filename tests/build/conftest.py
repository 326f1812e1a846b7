"""Fixtures of the installed MPIs."""

from tests.installed_mpi import embedded, embedded_build, few, few_sources, mpi  # noqa: F401
