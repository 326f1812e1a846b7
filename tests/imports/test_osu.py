"""OSU Micro-Benchmarks: versions 3.4, 5.3 and 7.4 as they printed on two cores, exact to the last digit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hpcscope.cli import dispatch
from tests.imports.reading import data, read
from tests.messages import mentions


def test_version_3() -> None:
    found = read("osu", data("osu-3.4-latency.txt"))
    assert found.values("mpi.latency", "latency_s") == [1.62e-6, 1.89e-6, 1.88e-6, 94.09e-6, 1.68e-6, 1.65e-6]
    first = found.reading.figures[0]
    assert (first.parameters, first.ranks, first.statistic, first.repetitions) == (
        {"message_bytes": 0},
        2,
        "mean",
        None,
    )
    assert found.reading.program == "OSU Micro-Benchmarks 3.4"
    assert not found.unread


def test_collectives_of_version_3_are_no_cases_of_scope() -> None:
    """Its loop has no barrier, and its time is rank 0's."""
    found = read("osu", data("osu-3.4-alltoall.txt"))
    [first, *_] = found.figures("mpi.osu_all_to_all_personalized_exchange_latency", "time_s")
    assert (first.values, first.ranks, first.parameters) == ((359.94e-6,), None, {"message_bytes": 1})


def test_bandwidth_is_in_millions_of_bytes_and_its_window_assumed() -> None:
    found = read("osu", data("osu-5.3-bw.txt"))
    assert found.values("mpi.bandwidth", "bandwidth_bytes_per_s") == [130e3, 250e3, 520e3, 1070e3, 2130e3]
    assert found.reading.figures[0].parameters == {"window": 64, "message_bytes": 1}
    assert any(mentions(one, "osu_bw ... 64") for one in found.reading.missing)


def test_overlap_of_a_non_blocking_collective() -> None:
    found = read("osu", data("osu-5.3-ibcast.txt"))
    name = "mpi.osu_non_blocking_broadcast_latency"
    [first, *_] = found.figures("mpi.broadcast", "time_s")
    assert (first.values, first.definition) == ((284.98e-6,), "mean_rank")
    assert first.parameters == {"call": "nonblocking", "message_bytes": 1}
    assert found.values(name, "overlap_share") == [0.9897, 0.2094, 0.0, 0.0]
    assert found.values(name, "overall_s")[0] == 314.12e-6
    assert found.values(name, "wait_s")[0] == 2.65e-6
    assert not found.unread


def test_an_overlap_of_nothing_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = data("osu-5.3-ibcast.txt").splitlines(keepends=True)
    (tmp_path / "output.txt").write_text("".join(line for line in lines if line[:2] not in ("1 ", "2 ")))
    assert dispatch("import", [str(tmp_path / "output.txt"), "--ranks", "4", "-o", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert "overlap (observed), longer is better" in shown
    assert "defect" not in shown


def test_a_failed_validation_fails_its_case_and_the_noise_behind_it_is_unread() -> None:
    found = read("osu", data("osu-7.4-allreduce-failed.txt"))
    times = found.figures("mpi.allreduce", "time_s")
    assert [one.values[0] for one in times] == [5.99e-6, 5.84e-6, 10.09e-6, 5.81e-6, 5.79e-6]
    assert [one.failure for one in times] == ["", "", "", "", "validation failed"]
    assert {one.repetitions for one in times} == {20}
    assert found.values("mpi.osu_allreduce_latency", "slowest_rank_s") == [
        6.04e-6,
        5.89e-6,
        17.85e-6,
        5.85e-6,
        5.82e-6,
    ]
    (difference,) = found.reading.differences
    assert mentions(difference, "MPI_CHAR ... MPI_DOUBLE")
    assert found.unread[0].startswith("Primary job  terminated normally")


def test_message_rate_has_the_ranks_of_its_pairs() -> None:
    found = read("osu", data("osu-7.4-mbw-mr.txt"))
    [first, *_] = found.figures("mpi.message_rate", "message_rate_per_s")
    assert (first.values, first.ranks, first.parameters["window"]) == ((669799.55,), 4, 64)
    assert found.values("mpi.message_rate", "bandwidth_bytes_per_s")[1] == 14.24e6


def test_message_rate_over_window_sizes() -> None:
    found = read("osu", data("osu-7.4-mbw-mr-windows.txt"))
    rows = found.figures("mpi.message_rate", "bandwidth_bytes_per_s")
    assert [one.parameters["window"] for one in rows[:8]] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert (rows[9].values, rows[9].parameters["message_bytes"], rows[9].ranks) == ((1.10e6,), 2, 4)
    assert found.values("mpi.message_rate", "message_rate_per_s")[0] == 115135.75
    assert not found.unread


def test_a_head_without_a_mark_and_an_init_without_a_title() -> None:
    found = read("osu", data("osu-5.3-ibarrier-init.txt"))
    [barrier] = found.figures("mpi.barrier", "time_s")
    assert (barrier.values, barrier.parameters) == ((8.69e-6,), {"call": "nonblocking"})
    assert found.values("mpi.osu_init", "time_s") == [0.291]
    assert read("osu", "nprocs: 2, min: 279, max: 303, avg: 291\n").values("mpi.osu_init", "time_s") == [0.291]
    assert not found.unread


def test_heads_of_percentiles_that_are_not_printed() -> None:
    title = "# OSU MPI Multi Latency Test v7.4\n# Datatype: MPI_CHAR.\n"
    head = "# Size       Avg Latency(us)  P50 Tail Lat(us)  P90 Tail Lat(us)\n"
    found = read("osu", f"{title}{head}4                       8.93\n8                       5.96      6.1\n")
    assert found.values("mpi.osu_multi_latency", "time_s") == [8.93e-6]
    assert len(found.unread) == 1


def test_heads_with_one_blank_between_them() -> None:
    text = data("osu-7.4-mbw-mr.txt").replace("Messages/s", "Messages/s P50 Tail BW(MB/s)")
    found = read("osu", re.sub(r"(?m)^(\d.*)$", r"\1      4.00", text))
    assert found.values("mpi.message_rate", "message_rate_per_s")[0] == 669799.55
    assert not found.unread


def test_percentiles_of_repetitions_stand_beside_the_mean() -> None:
    found = read("osu", data("osu-7.4-latency-percentiles.txt"))
    [first, *_] = found.figures("mpi.latency", "latency_s")
    assert (first.values, first.beside) == ((1.67e-6,), {"p99": 1.81e-6})
    assert any("P50 tail lat" in one for one in found.reading.differences), "what is left out"


def test_one_sided_programs_keep_their_synchronization() -> None:
    found = read("osu", data("osu-7.4-get-latency.txt"))
    [first, *_] = found.figures("mpi.osu_get_latency", "time_s")
    assert first.parameters == {
        "message_bytes": 1,
        "window": "MPI_Win_create",
        "synchronization": "MPI_Win_lock/unlock",
    }
    assert (first.values, first.ranks) == ((2.57e-6,), 2)


def test_labels_that_mpiexec_puts_into_a_line() -> None:
    found = read("osu", data("osu-7.4-latency-labelled.txt"))
    assert found.values("mpi.latency", "latency_s")[:2] == [0.17e-6, 0.15e-6]
    assert not found.unread


def test_several_programs_in_a_file() -> None:
    found = read("osu", data("osu-7.4-several.txt"))
    [barrier] = found.figures("mpi.barrier", "time_s")
    assert (barrier.values, barrier.definition) == ((189.61e-6,), "streaming")
    assert found.values("mpi.osu_init", "slowest_rank_s") == [0.395]
    # osu_get_mbw of 7.4 prints a column that has no head.
    assert [one.split()[0] for one in found.unread] == ["1", "2", "4", "8"]


def test_threads() -> None:
    found = read("osu", data("osu-7.4-latency-mt.txt"))
    [first, *_] = found.figures("mpi.osu_multi_threaded_latency", "time_s")
    assert (first.parameters["sender_threads"], first.parameters["receiver_threads"]) == ("2", "2")
    assert not found.unread


@pytest.mark.parametrize("cut", [1, 3, 12, 30])
def test_a_line_that_was_cut_is_no_figure(cut: int) -> None:
    text = data("osu-5.3-bw.txt").rstrip("\n")
    found = read("osu", text[:-cut])
    assert found.values("mpi.bandwidth", "bandwidth_bytes_per_s") == [130e3, 250e3, 520e3, 1070e3]
    assert len(found.unread) == (1 if cut < 30 else 0)


def test_decimal_commas_and_noise_between_lines() -> None:
    text = data("osu-5.3-bw.txt").replace("0.13", "0,13").replace("# Size", "Loading gcc/12\n# Size")
    found = read("osu", text)
    assert found.values("mpi.bandwidth", "bandwidth_bytes_per_s") == [130e3, 250e3, 520e3, 1070e3, 2130e3]
    assert found.unread == ["Loading gcc/12"]


def test_all_columns_of_version_7_with_validation_and_full_statistics() -> None:
    """`-f -c -z`, with the buffers of a device: the columns as a public table of them has them, made-up values."""
    heads = ["Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Iterations"]
    heads += [f"P{percent} Tail Lat(us)" for percent in (50, 90, 99)] + ["Validation"]
    cells = ["31.25", "30.50", "32.00", "1000", "31.00", "33.00", "40.50", "Pass"]
    title = "# OSU MPI-CUDA Allreduce Latency Test v7.3\n# Datatype: MPI_INT.\n"
    found = read("osu", f"{title}# Size       {'   '.join(heads)}\n4       {'   '.join(cells)}\n")
    name = "mpi.osu_allreduce_latency"
    metrics = {"time_s": 31.25e-6, "fastest_rank_s": 30.5e-6, "slowest_rank_s": 32e-6}
    assert {one.metric: one.values[0] for one in found.reading.figures} == metrics
    (mean,) = found.figures(name, "time_s")
    assert (mean.repetitions, mean.failure, mean.parameters["sender"]) == (1000, "", "device")
    assert sum("tail lat" in one for one in found.reading.differences) == 3
    assert found.unread == []
