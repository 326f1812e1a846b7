"""ReproMPI's repetitions, summaries and clocks, as it printed them on two cores."""

from __future__ import annotations

from tests.imports.reading import data, read
from tests.messages import mentions


def test_every_repetition() -> None:
    found = read("reprompi", data("reprompi-repetitions.txt"))
    first, second = found.figures("mpi.broadcast", "time_s")
    assert first.values[:3] == (4.697e-6, 0.27e-6, 0.31e-6)
    assert len(first.values) == 10
    assert (first.statistic, first.definition, first.ranks) == ("each", "max_rank", 2)
    assert second.parameters == {"message_bytes": 1024}
    assert len(second.values) == 4  # the excerpt ends there
    assert not found.unread


def test_times_on_the_synchronized_clock() -> None:
    found = read("reprompi", data("reprompi-global.txt"))
    [first, *_] = found.figures("mpi.alltoall", "time_s")
    assert (first.values, first.definition, first.ranks) == (
        (19.605e-6, 7.536e-6, 5.423e-6, 5.824e-6),
        "global",
        3,
    )


def test_summaries() -> None:
    found = read("reprompi", data("reprompi-summary.txt"))
    [first, *_] = found.figures("mpi.broadcast", "time_s")
    assert (first.values, first.statistic, first.repetitions) == ((6326.665e-6,), "median", 10)
    assert first.beside == {"mean": 4466.5042e-6, "minimum": 0.24e-6, "maximum": 8004.142e-6}
    # A bitwise or is no sum.
    [other, *_] = found.figures("mpi.reprompi_allreduce", "time_s")
    assert (other.parameters["operation"], other.values) == ("MPI_BOR", (0.2555e-6,))


def test_clocks_of_every_process_give_each_definition() -> None:
    found = read("reprompi", data("reprompi-clocks.txt"))
    times = {one.definition: one.values for one in found.figures("mpi.broadcast", "time_s")}
    assert times["max_rank"][0] == 5.699e-6  # 0.0277074230 - 0.0277017240, of process 0
    assert times["mean_rank"][0] == 5.4235e-6  # and 0.0240597530 - 0.0240546050, of process 1
    assert times["global"][0] == 5.699e-6  # 0.0277074230 - 0.0277017240
    assert len(times["global"]) == 5


def test_repetitions_that_began_late_are_left_out() -> None:
    text = data("reprompi-window.txt")
    assert len(read("reprompi", text).reading.figures[0].values) == 6
    late = "MPI_Bcast          1            8          1"
    found = read("reprompi", text.replace("MPI_Bcast          1            8          0", late))
    assert found.reading.figures[0].values[:2] == (1.012e-6, 0.141e-6)
    (difference,) = found.reading.differences
    assert mentions(difference, "ReproMPI: ... late")
    assert not found.unread


def test_a_line_that_was_cut_is_no_repetition() -> None:
    text = data("reprompi-window.txt")
    found = read("reprompi", text[: text.index("0.0000001910") + 9])
    assert len(found.reading.figures[0].values) == 5
    assert len(found.unread) == 1
