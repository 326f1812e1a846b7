"""SKaMPI 6.0 as it printed on two cores."""

from __future__ import annotations

from tests.imports.reading import data, read


def test_results() -> None:
    found = read("skampi", data("skampi-6.0-collectives.txt"))
    by_size = found.figures("mpi.skampi_mpi_allreduce_length", "time_s")
    assert [one.values[0] for one in by_size] == [0.6e-6] * 4
    assert by_size[3].parameters == {"count": "64", "message_bytes": 256}
    assert (by_size[3].ranks, by_size[3].repetitions, by_size[3].definition) == (2, 8, "max_rank")
    assert found.reading.program == "SKaMPI 6.0.0"
    assert found.reading.started_unix_s is not None
    assert not found.unread


def test_ranks_come_from_the_loop_or_the_times_of_processes() -> None:
    found = read("skampi", data("skampi-6.0-collectives.txt"))
    assert [one.ranks for one in found.figures("mpi.skampi_mpi_bcast_nodes_short", "time_s")] == [1, 2]
    eight = data("skampi-6.0-collectives.txt").replace(
        "0.5       0.5\n# end", "0.5       0.5" + "       0.5" * 6 + "\n# end"
    )
    [barrier] = read("skampi", eight).figures("mpi.skampi_mpi_barrier", "time_s")
    assert barrier.ranks is None


def test_ping_pong_is_no_case_of_scope() -> None:
    """Its time is that of a round trip, on the slower of both clocks."""
    found = read("skampi", data("skampi-6.0-ping-pong.txt"))
    assert [one.values[0] for one in found.reading.figures] == [1.3e-6, 0.9e-6, 1.1e-6, 1.2e-6]


def test_a_line_that_was_cut_is_no_figure() -> None:
    text = data("skampi-6.0-ping-pong.txt")
    found = read("skampi", text[: text.index("count= 64") + 20])
    assert len(found.reading.figures) == 3
    assert found.unread == ["count= 64       64  "]
