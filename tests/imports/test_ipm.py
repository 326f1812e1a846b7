"""IPM 2.0.6: the banner and the XML of the same kind of run on two cores."""

from __future__ import annotations

import time

import pytest

from tests.imports.reading import Read, data, read

NAME = "application.ipm"
OLD = """##IPMv0.982####################################################################
#
# command : a.out  (completed)
# host    : login-1/x86_64_Linux          mpi_tasks : 4 on 1 nodes
# start   : 04/30/10/13:09:19              wallclock : 2.002069 sec
# stop    : 04/30/10/13:09:21              %comm     : 10.02
# gbytes  : 8.27026e-02 total              gflop/sec : 0.00000e+00 total
#
##############################################################################
# region  :        [ntasks] =      4
#
#                           [total]         <avg>           min           max
# wallclock                  8.00207      2.002069      2.001069      2.002069
# mpi                        0.80120       0.20030       0.10000       0.30000
#
#                            [time]       [calls]        <%mpi>      <%wall>
# MPI_Allreduce             0.801199          1200         99.99        10.01
# MPI_Comm_rank          1.65077e-07             4          0.00         0.00
###############################################################################
"""


def of(found: Read, routine: str) -> dict[str, float]:
    """Return the figures of a routine by metric."""
    rows = (one for one in found.reading.figures if one.parameters["routine"] == routine)
    return {one.metric: one.values[0] for one in rows}


def test_the_banner() -> None:
    found = read("ipm", data("ipm-2.0-banner.txt"))
    assert of(found, "program") == {"mpi_share": 0.2634, "wall_s": 0.38}
    assert of(found, "MPI_Allreduce") == {"time_s": 0.10, "calls": 2160}
    assert (found.reading.program, found.reading.hosts) == ("IPM 2.0.6", ["vm"])
    assert found.reading.figures[0].ranks == 2
    # The benchmark's last line stands before the banner.
    assert found.unread == ["256                       0.26"]


def test_the_banner_of_version_0_98() -> None:
    """As its user guide shows it; the figures are made up."""
    found = read("ipm", OLD)
    assert of(found, "program") == {"mpi_share": 0.1002, "wall_s": 2.002069}
    assert of(found, "MPI_Comm_rank") == {"time_s": 1.65077e-07, "calls": 4}
    assert (found.reading.program, found.reading.hosts, found.reading.figures[0].ranks) == (
        "IPM 0.982",
        ["login-1"],
        4,
    )
    assert time.localtime(found.reading.started_unix_s)[:5] == (2010, 4, 30, 13, 9)
    assert not found.unread


def test_regions_are_cases_of_their_own() -> None:
    text = data("ipm-2.0-banner.txt")
    rows = text[text.index("# MPI_Barrier") : text.index("# MPI_Reduce")]
    found = read("ipm", text + f"# region    :'solve'\n{rows}")
    regions = [one.parameters["region"] for one in found.figures(NAME, "calls")]
    assert regions[-2:] == ["solve", "solve"]
    assert regions[0] == "whole program"


def test_tasks_are_summed() -> None:
    found = read("ipm", data("ipm-2.0.xml"))
    assert of(found, "MPI_Allreduce") == {
        "time_s": pytest.approx(2.9182e-04 + 1.1155e-01, rel=1e-12),
        "calls": 2160,
        "sent_bytes": 122640,
        "least_s": 2.9182e-04,
        "most_s": 1.1155e-01,
    }
    assert of(found, "program")["wall_s"] == 3.91050e-01
    assert of(found, "program")["mpi_share"] == pytest.approx((1.19984e-01 + 1.12210e-01) / (0.391050 + 0.390730))
    assert found.reading.started_unix_s == 1795444417.673857
    assert not found.unread


def test_a_task_that_was_cut_is_left_out() -> None:
    text = data("ipm-2.0.xml")
    found = read("ipm", text[: text.rindex("MPI_Allreduce")])
    assert of(found, "MPI_Allreduce")["time_s"] == 2.9182e-04
    (difference,) = found.reading.differences
    assert "1 of 2 ranks" in difference
