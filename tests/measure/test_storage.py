"""Files of all ranks under every MPI: all data right, wrong and stale bytes noticed, nothing left behind."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

import psutil
import pytest

from hpcscope.build import registry
from hpcscope.launch import leftovers
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command
from hpcscope.machine.machine import NativeBuild
from tests.installed_mpi import under_every_mpi
from tests.measure.conftest import Ended, Measure
from tests.messages import mentions
from tests.patience import PATIENCE_S, until

SMALL = "file_bytes=200000 transfer_bytes=16384"
VIEWS = "storage.noncontiguous n=60"
CASES = [
    f"storage.write {SMALL}",
    f"storage.write {SMALL} file=per_process sync=none stonewall_s=1",
    f"storage.write {SMALL} layout=strided block_bytes=32768 order=random",
    f"storage.overwrite {SMALL}",
    f"storage.rewrite {SMALL}",
    f"storage.rewrite {SMALL} buffer_bytes=16384 order=random file=per_process sync=none",
    f"storage.read {SMALL} cache=cached order=random",
    f"storage.read {SMALL} cache=other_rank file=per_process",
    "storage.read file_bytes=30001 transfer_bytes=1001 layout=strided block_bytes=3003",
    "storage.metadata files=5",
    "storage.metadata files=5 folder=own file_bytes=5000 cache=other_rank",
    "storage.checkpoint checkpoint_bytes=100000 transfer_bytes=16384",
    "storage.checkpoint checkpoint_bytes=100000 transfer_bytes=16384 overlap=thread file=per_process sync=none",
]
WITH_MPI_IO = [
    f"storage.write {SMALL} interface=mpiio",
    f"storage.write {SMALL} interface=mpiio access=collective pointer=individual collective_buffering=on",
    f"storage.write {SMALL} interface=mpiio pointer=shared layout=strided block_bytes=16384",
    f"storage.overwrite {SMALL} interface=mpiio access=nonblocking in_flight=3 file=per_process",
    f"storage.rewrite {SMALL} interface=mpiio access=nonblocking in_flight=3 file=per_process",
    f"storage.rewrite {SMALL} interface=mpiio access=collective",
    f"storage.read {SMALL} interface=mpiio access=collective pointer=shared layout=strided block_bytes=16384",
    "storage.read file_bytes=30001 transfer_bytes=3003 layout=strided block_bytes=3003"
    " interface=mpiio access=collective aggregators=1",
    "storage.checkpoint checkpoint_bytes=100000 transfer_bytes=16384 interface=mpiio overlap=nonblocking",
    f"{VIEWS} operation=write",
    f"{VIEWS} operation=read",
    f"{VIEWS} operation=write method=packed halo=0",
    f"{VIEWS} operation=read method=packed access=independent grid_rows=1",
    f"{VIEWS} operation=write method=rows access=independent",
    f"{VIEWS} operation=read method=view access=independent data_sieving=on",
]
NONBLOCKING_READ = f"storage.read {SMALL} interface=mpiio access=nonblocking pointer=individual"


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "storage"
    folder.mkdir()
    monkeypatch.setenv("SCOPE_STORAGE", str(folder))
    return folder


@pytest.fixture(scope="module")
def wrong_disk(tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("disk") / "wrong_disk.so"
    source = Path(__file__).with_name("wrong_disk.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", str(source), "-o", str(library)], check=True)
    return str(library)


def expect_all_right(ended: Ended) -> None:
    assert ended.code == 0, [case.reason for case in ended.cases] or ended.errors
    for case in ended.cases:
        assert case.status == "ok", (case.benchmark, case.parameters, case.reason)
        assert case.verification is not None
        assert case.verification.checks > 0


@under_every_mpi("test_other_mpis.py writes and reads files by both interfaces")
def test_all_data_are_right_under_every_mpi(measure: Measure, build: NativeBuild, storage: Path) -> None:
    ended = measure(2, [*CASES, *WITH_MPI_IO, NONBLOCKING_READ], native=build)
    expect_all_right(ended)
    assert list(storage.iterdir()) == []
    for case in ended.cases:
        mpiio = case.benchmark == "storage.noncontiguous" or case.parameters.get("interface") == "mpiio"
        implementation = "ROMIO" if build.mpi.name == "mpich" else "OMPIO"
        assert case.settings.get("mpi_io") == (implementation if mpiio else None)


def test_ranks_that_share_nothing_evenly(measure: Measure) -> None:
    alone = [case for case in (*CASES, *WITH_MPI_IO) if "other_rank" not in case]
    expect_all_right(measure(1, alone))
    expect_all_right(measure(3, [*CASES, f"{VIEWS} operation=write", f"{VIEWS} operation=read method=packed"]))


def test_phases_are_observed_on_every_rank(measure: Measure) -> None:
    write, read = measure(2, [f"storage.write {SMALL} stonewall_s=1", f"storage.read {SMALL} cache=cached"]).cases
    observed = write.series[0].observed
    assert set(observed) == {"open_s", "transfer_s", "sync_s", "close_s", "stonewall_bandwidth_bytes_per_s"}
    for rank, times_s in enumerate(write.series[0].elapsed_s):
        for repetition, time_s in enumerate(times_s):
            phases = [observed[name][rank][repetition] for name in ("open_s", "transfer_s", "sync_s", "close_s")]
            assert min(phases) > 0
            assert sum(phases) <= time_s + 1e-6, "one after the other, inside the whole"
    assert write.work is not None
    assert write.work.bytes == 2 * 12 * 16384
    assert all(share == 1 for rank in read.series[0].observed["resident_share"] for share in rank)


def test_time_decides_how_much_is_written(measure: Measure) -> None:
    unbounded, bounded, read = measure(
        2,
        [
            "storage.write file_bytes=1073741824 transfer_bytes=16 sync=none fill_s=1",
            f"storage.write {SMALL} layout=strided block_bytes=32768 fill_s={PATIENCE_S}",
            f"storage.read {SMALL} cache=cached file=per_process fill_s={PATIENCE_S}",
        ],
    ).cases
    assert unbounded.work is not None
    assert 0 < unbounded.work.bytes < 2 << 30
    assert unbounded.work.bytes % 32 == 0
    for case in (bounded, read):
        assert case.work is not None
        assert case.work.bytes == 2 * (200000 // (32768 if case is bounded else 16384)) * (
            32768 if case is bounded else 16384
        )
    assert all(case.verification is not None and case.verification.passed for case in (unbounded, bounded, read))


def test_more_data_than_buffers(measure: Measure) -> None:
    """Longer streams than the buffers, which are then written and compared piece by piece."""
    large = "file_bytes=70000000 transfer_bytes=1000000"
    plan = [f"storage.write {large} sync=none", f"storage.read {large} cache=cached order=random"]
    expect_all_right(measure(1, plan))


@pytest.mark.parametrize("fault", ["wrong-result", "corrupt-payload"])
def test_every_wrong_result_is_noticed(fault: str, measure: Measure) -> None:
    plan = list({case.split()[0]: case for case in (*CASES, *WITH_MPI_IO)}.values())
    ended = measure(2, plan, SCOPE_FAULT=" ".join(f"{fault}:{case.split()[0]}" for case in plan))
    assert len(ended.cases) == 7
    assert [case.parameters for case in ended.cases if case.status != "failed"] == []


NAMED = r"rank \d+.*: .*repetition \d+: .*\d"


# A shared pointer of this MPI is a file of its own, whose calls count as well.
ON_DISK = [case for case in (*CASES, *WITH_MPI_IO) if "files=5" not in case and "pointer=shared" not in case]


@pytest.mark.parametrize("fault", ["flip:1", "flip:2", "keep:1"])
def test_one_wrong_byte_and_lost_data_fail_their_case(fault: str, measure: Measure, wrong_disk: str) -> None:
    plan = [*ON_DISK, "storage.metadata files=5 file_bytes=5000"]
    if fault.startswith(
        "flip"
    ):  # a library may read more than a view, and the wrong byte be one that nobody wants
        plan = [case for case in plan if not ("operation=read" in case and "packed" not in case)]
    ended = measure(2, plan, LD_PRELOAD=wrong_disk, WRONG_DISK=fault)
    assert len(ended.cases) == len(plan), ended.errors
    assert [(case.benchmark, case.parameters) for case in ended.cases if case.status != "failed"] == []
    for case in ended.cases:
        assert re.search(NAMED, case.reason), case.reason


def test_stale_data_are_named(measure: Measure, wrong_disk: str) -> None:
    plan = [f"storage.overwrite {SMALL}", f"storage.read {SMALL} cache=other_rank"]
    # 12 transfers of each rank are written, then again; from there on nothing is.
    ended = measure(2, plan, LD_PRELOAD=wrong_disk, WRONG_DISK="unwritten:13")
    assert [case.status for case in ended.cases] == ["failed", "failed"]
    for case in ended.cases:
        assert "1 repetition earlier" in case.reason


@pytest.mark.parametrize("interface", ["posix", "mpiio"])
def test_rewriting_reads_each_block_and_writes_it_back(interface: str, measure: Measure, wrong_disk: str) -> None:
    blocks = "file_bytes=32768 transfer_bytes=16384"
    for benchmark, timed in (("overwrite", ["write 0", "write 16384"]), ("rewrite", REWRITING)):
        plan = [f"storage.{benchmark} {blocks} interface={interface}"]
        ended = measure(1, plan, LD_PRELOAD=wrong_disk, WRONG_DISK="list:1")
        expect_all_right(ended)
        calls = re.findall(r"^disk: (.*)$", ended.errors, re.MULTILINE)
        written, read_back = ["write 0", "write 16384"], ["read 0", "read 16384"]
        assert calls[: len(timed) + 4] == [*written, *timed, *read_back]


REWRITING = ["read 0", "write 0", "read 16384", "write 16384"]


def test_a_disk_that_gets_full_fails_its_case_alone(measure: Measure, wrong_disk: str, storage: Path) -> None:
    # Requests of this MPI are served by threads of the C library, whose calls cannot be replaced.
    plan = [case for case in ON_DISK if "nonblocking" not in case]
    plan += ["storage.metadata files=5 file_bytes=5000", "storage.metadata files=5", "mpi.barrier"]
    ended = measure(2, plan, LD_PRELOAD=wrong_disk, WRONG_DISK="full:1")
    *full, without_data, other = ended.cases
    assert [(case.benchmark, case.parameters) for case in full if case.status != "failed"] == []
    assert (without_data.status, other.status) == ("ok", "ok")
    assert all("No space left" in case.reason or "MPI_File" in case.reason for case in full)
    assert list(storage.iterdir()) == []


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("file_bytes=10 transfer_bytes=100", "file_bytes .*transfer_bytes"),
        ("file_bytes=17592186044416", r"\b35184372088832 B.* \d+ B"),
        ("file=per_process layout=strided", "layout=strided needs file=shared"),
        ("layout=strided block_bytes=1000 transfer_bytes=300", "block_bytes .*transfer_bytes"),
        ("access=collective", "access=collective .*interface=posix"),
        ("aggregators=1", "aggregators .*MPI-IO"),
        ("cache=direct interface=mpiio", "cache=direct needs interface=posix"),
        ("cache=direct transfer_bytes=1000", "transfer_bytes .*4096 B"),
        ("interface=mpiio pointer=shared", "layout=strided"),
    ],
)
def test_what_cannot_be_is_said(case: str, reason: str, measure: Measure, storage: Path) -> None:
    ended = measure(2, [f"storage.write {case}"])
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["unavailable"]
    assert re.search(reason, ended.cases[0].reason), ended.cases[0].reason
    assert list(storage.iterdir()) == []


def test_memory_is_left_by_no_cache(measure: Measure) -> None:
    if not Path("/dev/shm").is_dir():
        pytest.skip("no tmpfs here")
    dropped, cached = measure(
        1, [f"storage.read {SMALL}", f"storage.read {SMALL} cache=cached"], SCOPE_STORAGE="/dev/shm"
    ).cases
    assert dropped.status == "unavailable"
    assert mentions(dropped.reason, "/dev/shm, cache=dropped: ... tmpfs")
    assert cached.status == "ok"


def test_a_folder_that_is_not_there_is_named(measure: Measure, tmp_path: Path) -> None:
    (case,) = measure(2, [f"storage.write {SMALL}"], SCOPE_STORAGE=str(tmp_path / "gone")).cases
    assert case.status == "unavailable"
    assert mentions(case.reason, "gone: ... No such file")


@pytest.fixture
def others(storage: Path) -> list[Path]:
    """What others have in the folder: a run of another mark, a link with ours, a file with ours."""
    elsewhere = storage.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    foreign = storage / "scope-storage-other-abcdef"
    foreign.mkdir()
    link = storage / "scope-storage-mark-link"
    link.symlink_to(elsewhere)
    file = storage / "scope-storage-mark-file"
    file.touch()
    return [foreign, link, file, elsewhere / "precious"]


def test_what_a_killed_launch_left_is_removed_and_nothing_else(
    embedded_build: NativeBuild, storage: Path, others: list[Path], tmp_path: Path
) -> None:
    plan = tmp_path / "launch" / "plan.txt"
    plan.parent.mkdir()
    plan.write_text(f"storage.write {SMALL}\n")
    program = MpiProgram(embedded_build.program, ("--action=test", f"--plan={plan}"), 2)
    command = start_command(program, Site(embedded_build.mpi, embedded_build.mpi.launcher))
    # Its own shared memory and session stay where they can be removed with this folder.
    with tempfile.TemporaryDirectory(dir="/tmp") as session:
        variables = {
            **os.environ,
            **command.environment,
            "SCOPE_STORAGE_MARK": "mark",
            "SCOPE_FAULT": "sleep:storage.write",
            "PRTE_MCA_prte_local_tmpdir_base": session,
        }
        started = psutil.Popen(command.arguments, env=variables, stdout=subprocess.DEVNULL)
        try:
            until(lambda: any(path.is_dir() for path in storage.glob("scope-storage-mark-??????")), "a folder")
        finally:
            processes = [started, *started.children(recursive=True)]
            for process in processes:
                process.kill()
            psutil.wait_procs(processes, timeout=PATIENCE_S)
    assert any(path.is_dir() for path in storage.glob("scope-storage-mark-??????")), "nothing was left"
    leftovers.list_storage(plan.parent, str(storage), "mark")
    assert leftovers.removed(plan.parent)
    assert [path for path in others if not path.exists()] == []
    assert sorted(storage.iterdir()) == sorted(others[:3])


def test_every_storage_benchmark_needs_a_file_system(embedded_build: NativeBuild) -> None:
    listed = [each for each in registry.load(embedded_build.program) if each.level == "storage"]
    assert len(listed) == 7
    assert all("file_system" in each.requires for each in listed)
