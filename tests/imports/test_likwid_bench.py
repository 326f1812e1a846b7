"""likwid-bench 5.2 as it printed on two cores: a whole test, and one that was cut."""

from __future__ import annotations

from tests.imports.reading import data, read

NAME = "node.likwid_bench"


def test_rates() -> None:
    found = read("likwid-bench", data("likwid-bench-5.2.txt"))
    bandwidth = found.figures(NAME, "bandwidth_bytes_per_s")
    assert [one.values[0] for one in bandwidth] == [29809.84e6]
    assert bandwidth[0].parameters == {"test": "triad", "threads": 2, "size_bytes": 9999872}
    assert bandwidth[0].repetitions == 16384
    assert found.values(NAME, "flops_per_s") == [1863.12e6, 3885.01e6]
    assert found.values(NAME, "cycles_per_line") == [22.294274]
    assert not found.unread


def test_what_is_known_of_a_test_that_was_cut() -> None:
    found = read("likwid-bench", data("likwid-bench-5.2.txt"))
    last = found.reading.figures[-1]
    assert last.parameters == {"test": "peakflops", "threads": 1, "size_bytes": 8000}
