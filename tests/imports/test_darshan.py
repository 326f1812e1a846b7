"""Darshan 3.5.0: darshan-parser's records, totals and estimates of one log of two processes."""

from __future__ import annotations

import pytest

from tests.imports.reading import Read, data, read

NAME = "storage.darshan"


def of(found: Read, module: str) -> dict[str, float]:
    """Return the figures of a module by metric."""
    return {one.metric: one.values[0] for one in found.reading.figures if one.parameters == {"module": module}}


def test_records_are_summed_as_the_program_does() -> None:
    records = read("darshan", data("darshan-3.5-records.txt"))
    totals = read("darshan", data("darshan-3.5-totals.txt"))
    posix = of(records, "POSIX")
    assert posix == {
        "opens": 10,
        "reads": 2,
        "writes": 25,
        "read_bytes": 8192,
        "written_bytes": 589864,
        "read_s": 0.000002,
        "write_s": 0.000348,  # of records that are rounded to 1 us; the program's own sum is 0.000349
        "metadata_s": 0.000396,
    }
    for module in ("POSIX", "MPIIO", "STDIO"):
        known = of(totals, module)
        assert of(records, module) == pytest.approx({one: known[one] for one in of(records, module)}, abs=2e-6)
    assert of(records, "job") == {"run_s": 0.007}
    assert (records.reading.program, records.reading.started_unix_s) == ("Darshan 3.5.0", 1795444476)
    assert {one.ranks for one in records.reading.figures} == {2}
    assert not records.unread
    assert not totals.unread


def test_records_and_totals_in_one_output_are_not_counted_twice() -> None:
    both = data("darshan-3.5-records.txt") + "\n".join(data("darshan-3.5-totals.txt").splitlines()[13:])
    assert of(read("darshan", both), "POSIX")["written_bytes"] == 589864


def test_estimates() -> None:
    found = of(read("darshan", data("darshan-3.5-totals.txt")), "MPIIO")
    assert found["bandwidth_bytes_per_s"] == 74.544201 * 2**20
    assert found["time_s"] == 0.006707
    assert found["collective_writes"] == 8
