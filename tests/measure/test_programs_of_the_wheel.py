"""Every MPI benchmark is right in the programs of `make wheel`, and `scope run` of a wheel compiles nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcscope.build import native, prebuilt
from hpcscope.catalog.declared import declared
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from tests.installed_mpi import NAMES, installed
from tests.measure.conftest import Measure
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
MADE = "SCOPE_TEST_WHEEL"
"""Names a wheel that is to be tested instead of a new one."""
pytestmark = pytest.mark.slow(
    "compiles all for three ABIs; test_prebuilt.py has which program is chosen, test_other_mpis.py the calls"
)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the wheel, as they are installed."""
    folder = tmp_path_factory.mktemp("wheel")
    made = os.environ.get(MADE)
    if made is None:
        if not shutil.which("auditwheel", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}"):
            pytest.skip("auditwheel is not installed (make wheel)")
        installed("mpich-wheel")
        words = [sys.executable, str(ROOT / "packaging/wheel.py"), "-o", str(folder / "dist")]
        subprocess.run(words, check=True, timeout=PATIENCE_S)
        (wheel,) = (folder / "dist").iterdir()
        made = str(wheel)
    assert "-py3-none-manylinux_" in made
    with zipfile.ZipFile(made) as archive:
        for member in archive.infolist():
            mode = member.external_attr >> 16 & 0o777
            Path(archive.extract(member, folder / "files")).chmod(mode or 0o755)
    return folder / "files"


def lines(ranks: int, ways: tuple[str, ...]) -> Iterator[str]:
    """Every MPI benchmark that so many ranks can run, also with these calls."""
    for benchmark in declared():
        if not benchmark.name.startswith("mpi.") or not benchmark.ranks.allows(ranks):
            continue
        yield benchmark.name
        for parameter in benchmark.parameters:
            if parameter.name == "call":
                yield from (f"{benchmark.name} call={way}" for way in ways if way in parameter.choices)


@pytest.mark.parametrize(("name", "standard"), [*((name, False) for name in NAMES), ("mpich-wheel", True)])
def test_every_mpi_benchmark_is_right(
    name: str, standard: bool, unpacked: Path, measure: Measure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path))
    mpi: MpiInstallation = installed(name)
    abis = [prebuilt.STANDARD] if standard else list(prebuilt.ABIS)
    ready = prebuilt.fitting(mpi, [unpacked / "hpcscope" / prebuilt.FOLDER / abi for abi in abis])
    assert ready is not None
    program = str(ready.placed({}) / native.PROGRAM)
    build: NativeBuild = ready.record.model_copy(update={"program": program, "mpi": mpi})
    older = name.endswith("-debian")
    for ranks in (1, 2, 4):
        # Persistent collectives of MPICH 4.0 give stale data (test_collectives.py), and end some ranks.
        plan = list(lines(ranks, ("nonblocking",) if name == "mpich-debian" else ("nonblocking", "persistent")))
        ended = measure(ranks, plan, native=build)
        assert [case.benchmark for case in ended.cases] == [line.split()[0] for line in plan], ended.errors
        for case in ended.cases:
            right = case.status == "ok" or (
                case.status == "unavailable" and (older or case.benchmark == "mpi.spawn")
            )
            assert right, f"{case.benchmark} {case.parameters}: {case.reason}"


def test_a_run_needs_no_compiler(unpacked: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "bash", "env", "cat", "uname", "hostname", "sed", "ssh"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    environment = {
        **os.environ,
        "PATH": str(tools),
        "PYTHONPATH": str(unpacked),
        "SCOPE_CACHE": str(tmp_path / "cache"),
    }
    for variable in ("CXX", "CXXFLAGS", "LDFLAGS", native.EXTRA_BENCHMARKS):
        environment.pop(variable, None)
    run = tmp_path / "run"
    case = ["--case", "mpi.latency message_bytes=8", "--launches", "1", "--budget", "0.05"]
    for words in (["run", *case, "--output", str(run)], ["show", str(run)]):
        ended = subprocess.run(
            [sys.executable, "-m", "hpcscope", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert ended.returncode == 0, ended.stderr
        assert "compiling" not in ended.stderr
    assert "came with Scope, for every MPI with the ABI libmpi.so.40" in ended.stdout
    assert json.loads((run / "machine.json").read_text())["build"]["prebuilt"] == "libmpi.so.40"
