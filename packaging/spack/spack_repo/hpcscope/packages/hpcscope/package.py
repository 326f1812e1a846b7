"""Scope for Spack; from a copy of its sources, as docs/how-to/packages.md says."""

import os

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class Hpcscope(PythonPackage):
    """Measures a cluster layer by layer and says where performance is lost, and why."""

    license("Apache-2.0")

    version("1.0.0a1")

    variant("arrow", default=False, description="Exports in Arrow and Parquet")
    variant("figure", default=False, description="Figures for papers")
    variant("postgresql", default=False, description="An index of a shared repository in PostgreSQL")

    # Nothing is compiled here: the native program is on first use, with the MPI's own compiler.
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-hatchling", type="build")
    depends_on("cmake@3.25:", type="run")
    depends_on("ninja", type="run")
    depends_on("mpi", type="run")
    depends_on("blas", type="run")
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-numpy@2:", type=("build", "run"))
    depends_on("py-psutil@7:", type=("build", "run"))
    depends_on("py-pydantic@2.9:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-scipy@1.15:", type=("build", "run"))
    depends_on("py-tomli-w", type=("build", "run"))
    depends_on("py-typer@0.15:", type=("build", "run"))
    depends_on("py-pyarrow", type="run", when="+arrow")
    depends_on("py-matplotlib@3.10:", type="run", when="+figure")
    depends_on("py-psycopg@3", type="run", when="+postgresql")

    @run_after("install")
    def install_manual(self):
        """Write the manual page and the completions of shells."""
        installed = join_path(self.prefix, self.spec["python"].package.purelib)
        others = os.environ.get("PYTHONPATH", "")
        found = {"PYTHONPATH": f"{installed}:{others}"}
        python("-m", "hpcscope", "manual", "--install", self.prefix, extra_env=found)
