"""Real MPI programs under the monitor: counts that are known, packed and spread, a leak of known size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hpcscope.build import installations, single_source
from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.campaign import programs
from hpcscope.programs.campaign.record import RunRecord, read
from hpcscope.programs.profiles import monitored_run
from hpcscope.programs.profiles.merged import merge
from tests.cli.scope_command import answered, scope
from tests.messages import mentions

LEAK = 40e6
"""Bytes per second, of rank 1."""


@pytest.fixture(scope="module")
def mpi() -> MpiInstallation:
    return installations.find("embedded")


SHARED_MEMORY = ["--map-by", ":OVERSUBSCRIBE", "--mca", "pml", "ob1", "--mca", "btl", "self,sm"]
"""Options of mpiexec: without the fabrics, which take a second to find that there are none."""


def soaked(folder: Path, mpi: MpiInstallation, runs: int, leak: float, seconds: float) -> dict[str, Any]:
    program = single_source.compiled(Path(__file__).with_name("leak.cpp"), [mpi.compiler], [mpi.version])
    words = ["soak", "--runs", str(runs), "--interval", "0.01", "--check", "grep -q done", "-o", "out", "--json"]
    launcher = [str(mpi.launcher), "-n", "2", *SHARED_MEMORY]
    ended = answered(folder, *words, "--", *launcher, str(program), str(leak), str(seconds))
    assert ended.code == 0, ended.errors
    whole: dict[str, Any] = json.loads(ended.output)
    return whole


@pytest.fixture(autouse=True)
def _as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")


def test_the_ranks_of_a_command_are_those_of_its_profiles(tmp_path: Path, mpi: MpiInstallation) -> None:
    whole = soaked(tmp_path, mpi, 1, 0, 0)
    (configuration,) = whole["analysis"]["configurations"]
    assert configuration["point"]["ranks"] == 2


TIMED = pytest.mark.slow(
    "judges memory over time on a machine that may be busy; tests/campaign/test_features.py finds this growth in "
    "written profiles, tests/campaign/test_soak.py the finding in written runs"
)
RUNS = 9
"""More than an interval needs: a process that was kept from the processor leaves no time series."""


@TIMED
def test_a_leak_of_known_size_is_found_with_its_rank(tmp_path: Path, mpi: MpiInstallation) -> None:
    whole = soaked(tmp_path, mpi, RUNS, LEAK, 0.3)
    growth = whole["analysis"]["endurance"]["growth"]
    assert growth["worst_rank"] == 1
    assert growth["worst_bytes_per_s"]["value"] == pytest.approx(LEAK, rel=0.25)
    assert growth["bytes_per_s"]["low"] > 0
    assert "memory-growth" in [finding["code"] for finding in whole["findings"]]


@TIMED
def test_a_healthy_program_does_not_grow(tmp_path: Path, mpi: MpiInstallation) -> None:
    whole = soaked(tmp_path, mpi, RUNS, 0, 0.3)
    assert whole["analysis"]["endurance"]["growth"]["resident_bytes"] > 20e6
    assert "memory-growth" not in [finding["code"] for finding in whole["findings"]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, mpi: MpiInstallation) -> tuple[Path, list[RunRecord]]:
    folder = tmp_path_factory.mktemp("lu")
    program, *options = programs.command("application.npb_lu", "class=S", mpi)
    (folder / "study.toml").write_text(
        f"""
program = ["{program}", "{options[0]}", "{options[1]}"]
check = "grep -q 'class=S: .* 11 values checked'"
ranks = [1, 2, 4]
transport = "tcp"
repetitions = 1
launcher.oversubscribe = true
"""
    )
    ended = answered(folder, "campaign", "study.toml", "-o", "out", "--mpi", "embedded")
    assert ended.code == 0, ended.errors
    return folder / "out", read(folder / "out" / "runs.jsonl")


def test_calls_and_bytes_are_those_of_the_program(runs: tuple[Path, list[RunRecord]]) -> None:
    """LU sends each plane's last row and column on, in two sweeps of an iteration (NAS-95-020, section 3.4.2)."""
    _, records = runs
    iterations, inner, quantities = 1 + 50, 10, 5  # the first touches all data before the time is taken
    for record in records:
        ranks = record.ranks
        cuts = {1: 0, 2: 1, 4: 4}[ranks]
        """Borders between two processes that stand in one row or in a square."""
        received = record.routines.get("MPI_Recv")
        if cuts == 0:
            assert received is None
            continue
        assert received is not None
        assert received.calls * ranks == iterations * 2 * inner * cuts
        assert received.bytes / received.calls == inner / (ranks // 2) * quantities * 8
        assert record.features["compute_s"] + record.features["mpi_s"] == pytest.approx(record.features["wall_s"])
        assert record.oversubscribed == (ranks > 2)


def test_every_run_is_a_monitored_run(runs: tuple[Path, list[RunRecord]]) -> None:
    folder, records = runs
    largest = max(records, key=lambda record: record.ranks)
    own = folder / "runs" / f"{largest.number:05d}"
    assert len(list((own / "profiles").glob("*.profile"))) == largest.ranks
    assert monitored_run.read(own).code == 0
    together = merge(own)
    assert together.ranks == largest.ranks
    mean_s = sum(process.mpi_s for process in together.processes) / largest.ranks
    assert largest.features["mpi_s"] == pytest.approx(mean_s)


def test_a_full_node_is_held_against_one_process(tmp_path: Path, mpi: MpiInstallation) -> None:
    program = programs.command("application.npb_ep", "class=S", mpi)
    options = [
        "--repetitions",
        "2",
        "--ranks",
        "2",
        "--transport",
        "tcp",
        "--mpi",
        "embedded",
        "-o",
        "out",
        "--json",
    ]
    ended = scope(tmp_path, "placement", *options, "--", *program)
    assert ended.code == 0, ended.errors
    whole = json.loads(ended.output)
    compared = {one["fixed"]: one for one in whole["analysis"]["comparisons"]}
    assert "nodes" in compared, "also where a host has two sockets"
    for one in compared.values():
        parts = one["by_computation"]["value"] + one["by_communication"]["value"]
        assert parts == pytest.approx(one["slowdown"]["value"])
        assert one["slowdown"]["low"] is None, "two runs give no interval"


def test_a_soak_over_active_messages(
    tmp_path: Path, mpi: MpiInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = single_source.compiled(Path(__file__).with_name("leak.cpp"), [mpi.compiler], [mpi.version])
    words = [
        "soak",
        "--runs",
        "1",
        "--transport",
        "active-messages",
        "--check",
        "grep -q done",
        "--mpi",
        "embedded",
    ]
    own = ["--ranks", "2", "--oversubscribe", "--", str(program), "0", "0.1"]
    ended = answered(tmp_path, *words, "-o", "out", *own)
    assert ended.code == 0, ended.errors
    (record,) = read(tmp_path / "out" / "runs.jsonl")
    assert (record.transport, record.ranks) == ("active-messages", 2)
    assert "messages over active messages" in (tmp_path / "out" / "report.html").read_text()
    # A command that starts its own ranks takes them, too: the provider refuses a setting that it does not know.
    monkeypatch.setenv("FI_SCOPE_WIRE", "bluetooth")
    launcher = [mpi.launcher, "-n", "2", "--map-by", ":OVERSUBSCRIBE", "-x", "FI_SCOPE_WIRE"]
    refused = answered(tmp_path, *words, "-o", "refused", "--", *launcher, str(program), "0", "0.1")
    assert refused.code == 1
    (failed,) = read(tmp_path / "refused" / "runs.jsonl")
    assert failed.transport == "active-messages"
    said = "".join(path.read_text() for path in (tmp_path / "refused").rglob("*.txt"))
    assert mentions(said, "FI_SCOPE_WIRE=bluetooth: ... automatic, xdp, packet, none")
