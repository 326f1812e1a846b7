"""Features: from profiles whose figures are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.errors import ScopeError
from hpcscope.programs.campaign import features
from tests.profiles.synthetic import Process, number, processes, tick, write

LEAK = 3e6


def two(folder: Path) -> Path:
    first, second = processes(2, wall_s=10.0)
    first.call("MPI_Send", 1.0, calls=100, size=1000).call("MPI_Wait", 0.5, calls=10)
    first.add("waits", operation=number("MPI_Irecv"), requests=10, ticks=400_000_000, size_class=4)
    first.call("MPI_Irecv", 0.1, calls=10).call("MPI_Comm_rank", 0.1, calls=7)
    first.partner(1, sent=(100, 100_000))
    second.call("MPI_Recv", 2.0, calls=100, size=1000).call("MPI_Allreduce", 1.0, calls=5)
    second.user_s = 6.0
    for process in (first, second):
        held = 0.0
        for step in range(100):
            # What is allocated at the begin is no growth; afterwards the second process leaks.
            held = 50e6 * min(1, (step + 1) / 20) + (LEAK * step / 10 if process is second else 0)
            begin, end = tick(step / 10), tick((step + 1) / 10)
            process.add("timeline", begin_tick=begin, end_tick=end, resident_bytes=round(held))
    return write(folder, [first, second])


def test_times_are_means_over_the_ranks_and_add_up(tmp_path: Path) -> None:
    found = features.of_folder(two(tmp_path))
    figures = found.figures
    assert figures["wall_s"] == pytest.approx(10)
    assert figures["mpi_s"] == pytest.approx((1.7 + 3.0) / 2)
    assert figures["compute_s"] + figures["mpi_s"] == pytest.approx(figures["wall_s"])
    assert figures["send_s"] == pytest.approx(0.5)
    assert figures["receive_s"] == pytest.approx((0.1 + 0.4 + 2.0) / 2), "a wait counts for what it waited for"
    assert figures["collective_s"] == pytest.approx(0.5)
    assert figures["other_mpi_s"] == pytest.approx((0.1 + 0.1) / 2), "the rest of the wait, and Comm_rank"
    assert figures["cpu_s"] == pytest.approx((10 + 6) / 2)
    assert figures["communications"] == pytest.approx((110 + 105) / 2)
    assert figures["sent_bytes"] == pytest.approx(50_000)
    assert figures["compute_imbalance"] == pytest.approx(8.3 / 7.65 - 1)
    assert set(figures) - {"memory_slope_worst_rank"} <= set(features.NAMES)


def test_routines_are_protocols(tmp_path: Path) -> None:
    routines = features.of_folder(two(tmp_path)).routines
    assert next(iter(routines)) == "MPI_Recv", "the longest first"
    assert routines["MPI_Recv"].seconds == pytest.approx(1.0)
    assert routines["MPI_Recv"].calls == 50
    assert routines["MPI_Recv"].bytes == 50_000


def test_memory_grows_only_where_it_does(tmp_path: Path) -> None:
    figures = features.of_folder(two(tmp_path)).figures
    assert figures["memory_slope_worst_rank"] == 1
    assert figures["memory_slope_worst_bytes_per_s"] == pytest.approx(LEAK, rel=0.01)
    assert figures["memory_slope_bytes_per_s"] == pytest.approx(LEAK / 2, rel=0.01)
    short = Process(ranks=1, wall_s=0.3).add("timeline", begin_tick=tick(0), end_tick=tick(0.1), resident_bytes=1)
    assert "memory_slope_bytes_per_s" not in features.of_folder(write(tmp_path / "short", [short])).figures


def test_no_profile_is_told(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    with pytest.raises(ScopeError, match=str(tmp_path)):
        features.of_folder(tmp_path)
