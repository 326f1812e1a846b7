"""Calls and bytes of files against numbers known in advance; nothing is lost, nothing behaves otherwise."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.profiles.files import LAYERS
from tests.monitor.conftest import HERE, Ended, Run, under_every_mpi
from tests.patience import PATIENCE_S

Files = dict[tuple[str, str], dict[str, int]]
Start = Callable[..., Ended]


@pytest.fixture(scope="module")
def start(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Run a mode of files.cpp in a folder of its own."""
    folder = tmp_path_factory.mktemp("programs")

    def started(installation: MpiInstallation, ranks: int, mode: str, place: Path, **environment: str) -> Ended:
        program = folder / f"files-{installation.compiler.replace('/', '-')}"
        if not program.exists():
            command = [installation.compiler, "-std=c++20", "-O1", "-pthread", str(HERE / "files.cpp")]
            subprocess.run([*command, "-o", str(program)], check=True, capture_output=True, timeout=PATIENCE_S)
        return run(installation, ranks, mode, str(place), program=program, **environment)

    return started


def files(ended: Ended, rank: int, place: Path) -> Files:
    """Return the counts of each file in `place` and layer; the empty name is that of all others."""
    found: Files = {}
    for row in ended.profiles[rank].tables["files"]:
        path = row["path"].decode()
        if path.startswith(f"{place}/") or not path:
            names = [name for name in row.dtype.names or () if row[name].ndim == 0 and name != "path"]
            layer = LAYERS[int(row["layer"])]
            found[path.removeprefix(f"{place}/"), layer] = {name: int(row[name]) for name in names}
    return found


def of(counts: dict[str, int], names: str) -> tuple[int, ...]:
    return tuple(counts[name] for name in names.split())


def sizes(histogram: Iterable[int]) -> dict[int, int]:
    return {size: int(number) for size, number in enumerate(histogram) if number}


TRANSFERS = "opens reads read_bytes writes written_bytes syncs others"


def test_calls_of_posix(start: Start, embedded: MpiInstallation, tmp_path: Path) -> None:
    ended = start(embedded, 2, "calls", tmp_path)
    assert ended.code == 0, ended.errors
    for rank in range(2):
        found = files(ended, rank, tmp_path)
        assert set(found) == {(f"calls{rank}", "posix"), (f"dup{rank}", "posix")}, "neither pipes nor devices"
        counts = found[f"calls{rank}", "posix"]
        assert of(counts, TRANSFERS) == (1, 3, 8192 + 4096, 6, 4 * 4096 + 200, 2, 4)
        # In order: four writes, both parts, the read from the start; behind the last: 100 at 10000, the end.
        assert of(counts, "consecutive forward unaligned extent") == (4, 2, 2, 16484)
        assert of(found[f"dup{rank}", "posix"], "writes written_bytes extent") == (2, 5, 5)
        rows = ended.profiles[rank].tables["files"]
        (row,) = (each for each in rows if each["path"].endswith(b"calls%d" % rank))
        assert sizes(row["write_sizes"]) == {7: 2, 13: 4}
        assert sizes(row["read_sizes"]) == {0: 1, 13: 1, 14: 1}
        ticks = [int(row[f"{name}_ticks"]) for name in ("open", "read", "write", "sync", "other")]
        assert all(each > 0 for each in ticks)
        assert sum(ticks) * ended.profiles[rank].tick_s < ended.profiles[rank].wall_s


def test_streams_of_c_and_of_cpp(start: Start, embedded: MpiInstallation, tmp_path: Path) -> None:
    ended = start(embedded, 1, "stream", tmp_path)
    assert ended.code == 0, ended.errors
    found = files(ended, 0, tmp_path)
    assert of(found["stream0", "stream"], TRANSFERS) == (1, 2, 1009, 3, 1014, 0, 2)
    assert found["iostream0", "stream"]["opens"] == 1
    assert found["iostream0", "posix"]["written_bytes"] == 100_000


@under_every_mpi
def test_mpi_io_and_what_it_calls_itself(start: Start, mpi: MpiInstallation, tmp_path: Path) -> None:
    ended = start(mpi, 2, "collective", tmp_path)
    assert ended.code == 0, ended.errors
    for rank in range(2):
        found = files(ended, rank, tmp_path)
        assert of(found["shared", "mpi-io"], TRANSFERS) == (1, 1, 4000, 2, 8080, 1, 1)
        assert found["shared", "mpi-io"]["collective"] == 1
        assert ("shared", "posix") not in found
    inside = [files(ended, rank, tmp_path)["shared", "inside mpi-io"] for rank in range(2)]
    assert sum(each["read_bytes"] for each in inside) == 8000
    assert sum(each["written_bytes"] for each in inside) == 2 * (8000 + 80)


@under_every_mpi
def test_gaps_in_files_and_in_memory(start: Start, mpi: MpiInstallation, tmp_path: Path) -> None:
    ended = start(mpi, 2, "gaps", tmp_path)
    assert ended.code == 0, ended.errors
    for rank in range(2):
        counts = files(ended, rank, tmp_path)["gaps", "mpi-io"]
        assert of(counts, TRANSFERS) == (1, 1, 100, 3, 3 * 800, 0, 3)
        assert of(counts, "collective file_gaps memory_gaps") == (2, 3, 1)


def test_threads_lose_nothing(start: Start, embedded: MpiInstallation, tmp_path: Path) -> None:
    ended = start(embedded, 2, "threads", tmp_path)
    assert ended.code == 0, ended.errors
    for rank in range(2):
        for name in ("odd", "even"):
            counts = files(ended, rank, tmp_path)[f"{name}{rank}", "posix"]
            assert of(counts, "opens writes written_bytes others") == (2, 4000, 32_000, 2)


@pytest.mark.parametrize("mode", ["kill", "abort"])
def test_nothing_is_lost_at_an_abnormal_end(
    start: Start, embedded: MpiInstallation, tmp_path: Path, mode: str
) -> None:
    ended = start(embedded, 2, mode, tmp_path)
    assert ended.code != 0
    for rank in range(2):
        assert of(files(ended, rank, tmp_path)[f"lost{rank}", "posix"], "opens writes written_bytes") == (
            1,
            100,
            1000,
        )


def test_errors_modes_signals_and_children_are_as_without_the_monitor(
    start: Start, embedded: MpiInstallation, tmp_path: Path
) -> None:
    ended = start(embedded, 2, "behavior", tmp_path)
    assert ended.code == 0, ended.errors
    for rank in range(2):
        found = files(ended, rank, tmp_path)
        assert of(found[f"mode{rank}", "posix"], "opens writes others") == (1, 1, 2)
        written = found[f"busy{rank}", "posix"]["written_bytes"]
        assert written >= 200_000
        assert written == found[f"busy{rank}", "posix"]["writes"], "the child's five bytes are its own"


def test_files_beyond_the_table_are_counted_together(
    start: Start, embedded: MpiInstallation, tmp_path: Path
) -> None:
    ended = start(embedded, 1, "many", tmp_path, SCOPE_MONITOR_OPTIONS="files=16")
    found = files(ended, 0, tmp_path)
    assert len(found) == 13, "16 rows, of which each of four layers keeps one for all others"
    assert sum(each["written_bytes"] for each in found.values()) == 600
    assert of(found["", "posix"], "opens writes written_bytes") == (188, 188, 564)


def test_files_are_left_alone_where_nobody_asks(start: Start, embedded: MpiInstallation, tmp_path: Path) -> None:
    ended = start(embedded, 1, "calls", tmp_path, SCOPE_MONITOR_OPTIONS="files=0")
    assert ended.code == 0, ended.errors
    assert files(ended, 0, tmp_path) == {}
