"""Reading the file of one process: what it says, what is missing, what is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.errors import ScopeError
from hpcscope.programs.profiles import profile
from tests.messages import mentions
from tests.profiles import synthetic


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A profile with two calls, a partner, and call sites of which the second is in use."""
    one = synthetic.Process(rank=2, ranks=4).call("MPI_Send", 0.5, 10, 1024).call("MPI_Barrier", 0.25, 5, 0)
    one.partner(3, sent=(10, 10240))
    one.rows["sites"] = [{"used": 0}, {"used": 1, "depth": 1, "frames": [0x401234, *[0] * 7]}]
    return changed(tmp_path / "node1.7.profile", synthetic.contents(one))


def changed(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_everything_in_it_is_read(path: Path) -> None:
    one = profile.read(path)
    assert (one.rank, one.ranks, one.host, one.state) == (2, 4, "node1", "finalized")
    assert one.header.arguments == ("app", "-in", "x")
    assert one.tick_s == pytest.approx(1e-9)
    assert one.wall_s == pytest.approx(10)
    calls = {one.routine(int(row["routine"])): row for row in one.tables["calls"]}
    assert set(calls) == {"MPI_Send", "MPI_Barrier"}
    assert (calls["MPI_Send"]["calls"], calls["MPI_Send"]["bytes"], calls["MPI_Send"]["size_class"]) == (
        10,
        10240,
        11,
    )
    assert calls["MPI_Barrier"]["histogram"].sum() == 5
    assert one.tables["partners"]["sent_messages"].tolist() == [10]
    assert one.tables["events"].size == 0
    assert not one.warnings


def test_call_sites_keep_their_numbers(path: Path) -> None:
    assert [int(row["used"]) for row in profile.read(path).tables["sites"]] == [0, 1]


def test_a_killed_process_ends_with_its_last_sign_of_life(tmp_path: Path) -> None:
    killed = synthetic.Process(state=0, facts={"in_routine": synthetic.number("MPI_Recv")})
    killed.facts["in_since_tick"] = synthetic.tick(11.5)
    one = profile.read(changed(tmp_path / "a.profile", synthetic.contents(killed)))
    assert one.state == "running"
    assert one.wall_s == pytest.approx(11.5)


def test_the_rate_of_the_clock_is_refined_over_a_long_run(tmp_path: Path) -> None:
    # 0.1 % off as calibrated; a calendar that was set meanwhile is not believed.
    one = synthetic.Process(header={"tick_rate_hz": "1.001e9"})
    assert profile.read(changed(tmp_path / "a.profile", synthetic.contents(one))).tick_s == pytest.approx(1e-9)
    jumped = synthetic.Process(facts={"last_unix_ns": synthetic.FIRST_UNIX_NS + 3600 * 10**9})
    assert profile.read(changed(tmp_path / "b.profile", synthetic.contents(jumped))).tick_s == pytest.approx(1e-9)


def test_columns_of_another_version_are_kept_or_zero(path: Path) -> None:
    data = path.read_bytes().replace(b"min_ticks:u8 ", b"new_thing:u8 ")
    calls = profile.read(changed(path, data)).tables["calls"]
    assert calls["new_thing"].min() > 0
    assert calls["min_ticks"].tolist() == [0, 0]
    assert calls["max_ticks"].min() > 0


def test_a_cut_file_gives_what_is_left(path: Path) -> None:
    offsets = dict(synthetic.layout())
    data = path.read_bytes()[: offsets["calls"] + 3 * synthetic.STRIDES["calls"] + 100]
    one = profile.read(changed(path, data))
    assert len(one.tables["calls"]) == 2
    assert len(one.tables["partners"]) == 0
    assert mentions(one.warnings[0], "table calls ... 3 of ... 512 rows")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "'scope-profile'"),
        (b"\x7fELF and more", "'scope-profile'"),
        (b"scope-profile 2\n", r"version 2: .*\b1$"),
        (b"scope-profile 1\nrank 0\n", "header .*'ranks'"),
        (b"scope-profile 1\nrank zero\n", "header"),
    ],
)
def test_a_file_that_is_none_is_said_to_be_none(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(ScopeError, match=said):
        profile.read(changed(tmp_path / "a.profile", data))


def test_a_file_that_ends_before_its_tables_and_a_missing_one_are_refused(path: Path) -> None:
    with pytest.raises(ScopeError, match=r"\b65536\b"):
        profile.read(changed(path, path.read_bytes()[:65536]))
    with pytest.raises(ScopeError, match="No such file"):
        profile.read(path.with_name("absent.profile"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"calls:u8 ticks:u8", b"calls:u8 ticks:q9"),
        (b"stride 512 columns used:u4 routine", b"stride 012 columns used:u4 routine"),
        (b"byte_order little", b"byte_order middle"),
        (b"tick_rate_hz 1e+09", b"tick_rate_hz -1e009"[:18]),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(path: Path, before: bytes, after: bytes) -> None:
    data = path.read_bytes()
    assert before in data
    with pytest.raises(ScopeError, match=r"node1\.7\.profile"):
        profile.read(changed(path, data.replace(before, after, 1)))
