"""Intel MPI Benchmarks: versions 4.0, 2018 and 2021 as they printed on two cores, exact to the last digit."""

from __future__ import annotations

import time

import pytest

from tests.imports.reading import data, read


def test_version_4_times_collectives_back_to_back() -> None:
    found = read("imb", data("imb-4.0-mpi1.txt"))
    assert found.values("mpi.latency", "latency_s")[-1] == 5800.54e-6
    [barrier] = found.figures("mpi.barrier", "time_s")
    assert (barrier.values, barrier.definition, barrier.repetitions, barrier.ranks) == (
        (11599.37e-6,),
        "streaming",
        10,
        2,
    )
    # The root moves on from one broadcast to the next.
    assert not found.figures("mpi.broadcast", "time_s")
    assert found.values("mpi.imb_bcast", "time_s") == [600.76e-6, 5800.13e-6]
    assert found.values("mpi.imb_bcast", "slowest_rank_s") == [1201.46e-6, 6000.10e-6]
    exchange = found.figures("mpi.neighbor_exchange", "time_s")
    assert [one.values[0] for one in exchange[:3]] == [5997.60e-6, 6400.62e-6, 5200.44e-6]
    assert exchange[1].parameters == {"dimensions": 1, "call": "nonblocking", "message_bytes": 1}
    assert (exchange[1].definition, exchange[1].ranks) == ("streaming", 2)
    assert any("MPI_Recv" in one for one in found.reading.differences)
    assert found.reading.program == "Intel MPI Benchmarks 4.0.0"
    assert time.localtime(found.reading.started_unix_s)[:5] == (2026, 11, 23, 14, 39)
    assert not found.unread


def test_version_2018() -> None:
    found = read("imb", data("imb-2018-mpi1.txt"))
    latency = found.figures("mpi.latency", "latency_s")
    assert [one.values[0] for one in latency] == [2.06e-6, 2.05e-6, 2.11e-6, 2.13e-6, 2.11e-6, 2.14e-6]
    assert latency[5].parameters == {"message_bytes": 16}
    allreduce = found.figures("mpi.allreduce", "time_s")
    assert [one.values[0] for one in allreduce] == [0.04e-6, 2.55e-6, 2.51e-6, 2.55e-6]
    assert {one.definition for one in allreduce} == {"mean_rank"}
    assert found.values("mpi.imb_allreduce", "fastest_rank_s")[1] == 0.25e-6
    assert found.values("mpi.shift", "time_s")[5] == 2.29e-6
    assert found.values("mpi.bandwidth", "bandwidth_bytes_per_s")[1:3] == [5.13e6, 11.17e6]
    assert found.values("mpi.bandwidth", "message_rate_per_s")[:2] == [4552536, 5132029]
    assert found.values("mpi.imb_biband", "bandwidth_bytes_per_s")[1] == 6.56e6
    assert not found.unread


def test_checked_runs_and_lines_of_the_program_between_rows() -> None:
    found = read("imb", data("imb-2018-check.txt"))
    broadcast = found.figures("mpi.broadcast", "time_s")
    assert [one.values[0] for one in broadcast] == [0.13e-6, 398.01e-6, 198.51e-6, 401.22e-6, 599.43e-6, 399.51e-6]
    assert not any(one.failure for one in broadcast)
    assert not found.unread


def test_defects_fail_their_case() -> None:
    found = read(
        "imb",
        data("imb-2018-check.txt").replace("999.88         0.00         0.00", "999.88         0.00         2.00"),
    )
    assert [one.failure for one in found.figures("mpi.latency", "latency_s")] == ["", "", "2 defects", "", "", ""]


def test_rows_of_groups_keep_a_benchmark_of_their_own() -> None:
    found = read("imb", data("imb-2021-multi.txt"))
    rows = found.figures("mpi.imb_multi_allreduce", "time_s")
    assert [one.values[0] for one in rows] == [0.09e-6, 0.11e-6, 106.24e-6, 114.94e-6, 125.69e-6, 109.87e-6]
    assert rows[3].parameters == {"groups": 2, "group": 1, "message_bytes": 4}
    assert rows[3].ranks == 4
    assert not found.unread


def test_one_sided_and_their_modes() -> None:
    found = read("imb", data("imb-2021-rma.txt"))
    rows = found.figures("mpi.imb_rma_unidir_put", "time_s")
    assert [one.parameters["mode"] for one in rows] == ["non-aggregate"] * 5 + ["aggregate"] * 4
    assert rows[4].values == (0.24e-6,)
    assert found.values("mpi.imb_rma_truly_passive_put", "overlapped_s")[1] == 214.09e-6
    assert not found.unread


def test_a_stencil_names_its_grid_and_what_cannot_run_is_unread() -> None:
    found = read("imb", data("imb-2021-p2p.txt"))
    assert len(found.values("mpi.imb_p2p_corandom", "time_s")) == 5
    rows = found.figures("mpi.imb_p2p_stencil2d", "time_s")
    assert [one.values[0] for one in rows] == [3161.66e-6, 4265.15e-6, 3148.01e-6, 3534.45e-6, 2728.84e-6]
    assert (rows[1].parameters, rows[1].ranks) == ({"grid": "2 x 2", "message_bytes": 1}, 4)
    assert found.unread == ["# !! Benchmark Stencil3D is invalid for 4 processes !!"]


def test_ranks_that_are_mapped() -> None:
    found = read("imb", data("imb-2021-p2p.txt"))
    [first, *_] = found.figures("mpi.imb_p2p_pingpong", "time_s")
    assert (first.values, first.ranks) == ((3994.00e-6,), 2)


def test_a_section_that_is_not_known_ends_the_one_before() -> None:
    found = read("imb", data("imb-2021-p2p.txt").replace("Stencil2D (2 x 2)", "Stencil2D [2 x 2]"))
    assert len(found.values("mpi.imb_p2p_corandom", "time_s")) == 5
    assert len(found.unread) == 8


def test_overlap() -> None:
    found = read("imb", data("imb-2021-nbc.txt"))
    assert found.values("mpi.imb_nbc_ibcast", "overlap_share") == [0.0, 0.3883, 0.0, 0.1152, 0.185]
    assert found.values("mpi.imb_nbc_ibarrier", "overlapped_s") == [7.55e-6]


def test_files_are_storage() -> None:
    found = read("imb", data("imb-2021-io.txt"))
    assert found.values("storage.imb_io_s_write_indv", "time_s")[4] == 1054.98e-6
    assert found.reading.program == "Intel MPI Benchmarks 2021.11"


def test_a_size_that_the_program_gave_up_is_unread() -> None:
    found = read("imb", data("imb-2018-ext.txt"))
    assert found.values("mpi.imb_ext_window", "time_s") == [78989.06e-6]
    assert [one.split(";")[0].split() for one in found.unread] == [["4", "time-out."]]


@pytest.mark.parametrize(
    ("option", "mapped"), [("", True), ("-root_shift on", False), ("-sync 0", False), ("-off_cache -1", False)]
)
def test_options_that_change_what_is_measured(option: str, mapped: bool) -> None:
    text = data("imb-2018-check.txt").replace(
        "# Benchmarking PingPong", f"# IMB-MPI1 {option}\n# Benchmarking PingPong"
    )
    assert bool(read("imb", text).figures("mpi.broadcast", "time_s")) is mapped


def test_a_file_without_its_beginning_and_its_end() -> None:
    whole = data("imb-2018-mpi1.txt")
    begin = whole.index("# Benchmarking PingPong")
    found = read("imb", whole[begin : whole.index("2.14         7.49") + 3])
    assert len(found.figures("mpi.latency", "latency_s")) == 0  # the part is not known
    assert found.values("mpi.imb_pingpong", "time_s") == [2.06e-6, 2.05e-6, 2.11e-6, 2.13e-6, 2.11e-6]
    assert len(found.unread) == 1
