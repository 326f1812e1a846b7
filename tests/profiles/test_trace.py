"""The trace window: messages found among the calls, waiting told exactly, and the file for browsers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hpcscope.programs.profiles import folder, trace
from hpcscope.programs.profiles.merged import merge
from hpcscope.programs.profiles.monitored_run import TRACED_CALLS, Options
from hpcscope.programs.profiles.trace import Trace
from tests.profiles import synthetic
from tests.profiles.synthetic import Process, number

MONITOR_SOURCE = Path(__file__).parents[2] / "monitor" / "src"


def gathered(tmp_path: Path, processes: list[Process]) -> Trace:
    return trace.gather(folder.job(synthetic.write(tmp_path, processes)).profiles)


def ends(found: Trace, column: str) -> list[tuple[int, int]]:
    """Return a column of the calls at both ends of each message."""
    values = found.calls[column]
    return list(zip(values[found.sends].tolist(), values[found.receives].tolist(), strict=True))


def two() -> list[Process]:
    return synthetic.processes(2)


def test_messages_are_matched_in_order_by_tag_and_communicator(tmp_path: Path) -> None:
    a, b = two()
    for index in range(3):
        a.event("MPI_Send", index, index + 0.1, partner=1, direction=1, tag=7, bytes=100 + index)
        b.event("MPI_Recv", index, index + 0.2, partner=0, direction=2, tag=7, bytes=100 + index)
    a.event("MPI_Send", 0.5, 0.6, partner=1, direction=1, tag=8, bytes=1)
    a.event("MPI_Send", 0.7, 0.8, partner=1, direction=1, tag=7, bytes=2, communicator=99)
    b.event("MPI_Recv", 0.7, 0.9, partner=0, direction=2, tag=7, bytes=2, communicator=99)
    found = gathered(tmp_path, [a, b])
    assert sorted(ends(found, "bytes")) == [(2, 2), (100, 100), (101, 101), (102, 102)]
    assert found.unmatched == 1


def test_a_receive_of_what_was_sent_before_the_window_is_left_out(tmp_path: Path) -> None:
    a, b = two()
    b.event("MPI_Recv", 0.1, 0.2, partner=0, direction=2, bytes=5)
    a.event("MPI_Send", 0.3, 0.4, partner=1, direction=1, bytes=6)
    b.event("MPI_Recv", 0.3, 0.5, partner=0, direction=2, bytes=6)
    found = gathered(tmp_path, [a, b])
    assert ends(found, "bytes") == [(6, 6)]
    assert found.unmatched == 1


def test_nonblocking_messages_begin_where_posted_and_end_where_completed(tmp_path: Path) -> None:
    a, b = two()
    a.event("MPI_Isend", 1.0, 1.01, partner=1, direction=1, bytes=5)
    a.event("MPI_Wait", 1.5, 1.6, partner=1, direction=1, bytes=5, operation=number("MPI_Isend"))
    b.event("MPI_Irecv", 0.1, 0.11, partner=0, direction=2)
    b.event("MPI_Wait", 0.6, 1.4, partner=0, direction=2, bytes=5, operation=number("MPI_Irecv"))
    found = gathered(tmp_path, [a, b])
    ((send, receive),) = ends(found, "routine")
    assert (found.routines[send], found.routines[receive]) == ("MPI_Isend", "MPI_Wait")
    assert found.late_sender_s == pytest.approx([0.4])
    assert found.late_receiver_s == [0]
    assert found.unmatched == 0


def test_waiting_is_added_up_by_who_was_late(tmp_path: Path) -> None:
    a, b = two()
    a.event("MPI_Send", 1.0, 1.1, partner=1, direction=1)
    b.event("MPI_Recv", 0.4, 1.1, partner=0, direction=2)
    b.event("MPI_Ssend", 2.0, 2.6, partner=0, direction=1)
    a.event("MPI_Recv", 2.5, 2.6, partner=1, direction=2)
    late = merge(synthetic.write(tmp_path, [a, b])).late
    assert late is not None
    assert (late.messages, late.late_senders, late.late_receivers) == (2, 1, 1)
    assert [one.late_sender_s for one in late.ranks] == pytest.approx([0.6, 0])
    assert [one.late_receiver_s for one in late.ranks] == pytest.approx([0.5, 0])
    assert late.ranks[1].waited_s == pytest.approx(1.1)


def test_hosts_are_held_together_by_their_calendars(tmp_path: Path) -> None:
    a, b = two()
    # The other host booted later: its counter is elsewhere, its calendar a second on.
    b.host = "node2"
    b.facts |= {
        "first_unix_ns": synthetic.FIRST_UNIX_NS + 10**9,
        "last_unix_ns": synthetic.FIRST_UNIX_NS + 11 * 10**9,
    }
    a.event("MPI_Send", 1.5, 1.6, partner=1, direction=1)
    b.event("MPI_Recv", 0.2, 0.7, partner=0, direction=2)
    found = gathered(tmp_path, [a, b])
    ((_, begin_s),) = ends(found, "begin_s")
    assert begin_s == pytest.approx(1.2)
    assert found.late_sender_s == pytest.approx([0.3])


def test_the_file_for_browsers(tmp_path: Path) -> None:
    a, b = two()
    a.event("MPI_Allreduce", 0.5, 0.9).event("MPI_Send", 0.6, 0.7, partner=1, direction=1, depth=1, bytes=64)
    b.event("MPI_Recv", 0.55, 0.75, partner=0, direction=2, bytes=64)
    lines = json.loads(trace.chrome(gathered(tmp_path, [a, b]), {0: "node1", 1: "node1"}))["traceEvents"]
    slices = {line["name"]: line for line in lines if line["ph"] == "X"}
    outer, inner = slices["MPI_Allreduce"], slices["MPI_Send"]
    assert outer["ts"] < inner["ts"]
    assert inner["ts"] + inner["dur"] < outer["ts"] + outer["dur"]
    assert inner["args"] == {"bytes": 64, "partner": 1, "tag": 0}
    start, end = (next(line for line in lines if line["ph"] == phase) for phase in ("s", "f"))
    assert start["id"] == end["id"]
    assert (start["pid"], end["pid"]) == (0, 1)
    receive = slices["MPI_Recv"]
    assert receive["ts"] <= end["ts"] <= receive["ts"] + receive["dur"]
    names = [line["args"]["name"] for line in lines if line["name"] == "process_name"]
    assert names == ["rank 0 on node1", "rank 1 on node1"]


def test_a_trace_says_which_window_it_holds(tmp_path: Path) -> None:
    whole = two()
    for one in whole:
        one.header["trace"] = "1:2"
        one.event("MPI_Send", 1.1, 1.2, partner=1 - one.rank, direction=1)
    found = merge(synthetic.write(tmp_path / "whole", whole)).window
    assert found is not None
    assert (found.start_s, found.asked_s, found.kept_s, found.full) == (1.0, 2.0, 2.0, 0)
    cut = two()
    for one in cut:
        one.header["trace"] = "1:2"
    cut[0].event("MPI_Send", 1.1, 1.25, partner=1, direction=1)
    cut[0].facts["lost_events"] = 40
    found = merge(synthetic.write(tmp_path / "cut", cut)).window
    assert found is not None
    assert (found.kept_s, found.full, found.lost_calls) == (pytest.approx(0.25), 1, 40)
    assert merge(synthetic.write(tmp_path / "none", two())).window is None


def test_a_trace_says_before_the_start_how_much_it_can_hold() -> None:
    assert Options(trace="5:0").trace_room() == ""
    room = Options(trace="10:0.5").trace_room()
    assert "500 ms" in room
    assert str(65_536 * 2) in room, "calls per second that fit"
    rows = re.search(r"int trace_rows = (\d+);", (MONITOR_SOURCE / "options.hpp").read_text())
    assert rows is not None
    assert int(rows[1]) == TRACED_CALLS
