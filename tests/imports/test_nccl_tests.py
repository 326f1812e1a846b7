"""nccl-tests 2.19: printed by its own functions from times that were made up, for lack of a GPU."""

from __future__ import annotations

from tests.imports.reading import data, read

NAME = "network.nccl_all_reduce"


def test_the_table() -> None:
    found = read("nccl-tests", data("nccl-tests-2.19.txt"))
    times = found.figures(NAME, "time_s")
    assert [one.values[0] for one in times[:4]] == [12.0e-6, 11.76e-6, 12.0e-6, 11.76e-6]
    assert times[1].parameters == {
        "type": "float",
        "redop": "sum",
        "root": "-1",
        "buffers": "in_place",
        "message_bytes": 8,
    }
    assert (times[1].ranks, times[1].repetitions) == (4, 20)
    assert found.values(NAME, "bus_bytes_per_s")[-2:] == [121.08e9, 123.55e9]
    assert found.values(NAME, "algorithm_bytes_per_s")[-2:] == [80.72e9, 82.37e9]
    assert (found.reading.program, found.reading.hosts) == ("nccl-tests 2.19.6", ["node1"])
    assert not found.unread


def test_wrong_elements_fail_their_case() -> None:
    found = read("nccl-tests", data("nccl-tests-2.19.txt"))
    wrong, right = found.figures(NAME, "time_s")[-2:]
    assert "3 wrong" in wrong.failure
    assert right.failure == ""


def test_times_of_iterations() -> None:
    found = read("nccl-tests", data("nccl-tests-2.19-iterations.txt"))
    last = found.figures(NAME, "time_s")[-1]
    assert last.beside == {"minimum": 25.98e-6, "maximum": 30.92e-6, "p99": 30.92e-6}
    assert not found.unread


def test_the_document() -> None:
    found = read("nccl-tests", data("nccl-tests-2.19.json"))
    assert found.values(NAME, "time_s")[0] == 12.218453e-6
    first, *_ = found.figures(NAME, "iteration_s")
    assert (first.statistic, first.values[:2]) == ("each", (12.218453e-6, 12.340638e-6))
    assert "3 wrong" in found.figures(NAME, "time_s")[2].failure
    assert found.reading.figures[0].ranks == 4


def test_version_2_9_prints_neither_the_operation_nor_the_root() -> None:
    """Its formats are those of `src/common.cu` and `src/all_gather.cu` of 2.9.0."""
    text = (
        "# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 \n#\n"
        "# Using devices\n#   Rank  0 Pid   4242 on      node1 device  0 [0x07] Tesla V100\n"
        "#   Rank  1 Pid   4242 on      node1 device  1 [0x08] Tesla V100\n#\n"
        "#                                              out-of-place                       in-place          \n"
        "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "#        (B)    (elements)             (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
        "        1024           128   float    25.98   80.72   40.36  0e+00    25.46   82.37   41.19    N/A\n"
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 40.1 \n#\n"
    )
    found = read("nccl-tests", text)
    assert found.values("network.nccl_unknown", "bus_bytes_per_s") == [40.36e9, 41.19e9]
    assert found.reading.figures[0].ranks == 2
    (missing,) = found.reading.missing
    assert "operation" in missing
    assert not found.unread


def test_what_was_cut_is_no_figure() -> None:
    table = data("nccl-tests-2.19.txt")
    assert len(read("nccl-tests", table[: table.index("123.55")]).figures(NAME, "time_s")) == 6
    document = data("nccl-tests-2.19.json")
    assert not read("nccl-tests", document[:2000]).reading.figures
