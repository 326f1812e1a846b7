"""Findings about what a program with a fault of known place really did, as the monitor has counted it.

How long it took here is left out: every call gets a written price, so that only counts and sizes decide. What only
the clock can tell is in written profiles (`test_findings.py`) and in `benchmarks/timed_faults.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.profile import ProfileFacts, find_all
from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.profiles.records import Merged
from tests.installed_mpi import embedded  # noqa: F401
from tests.profiles.faulty import RANKS, Faulty

ROUNDS = 3
CALL_S, BYTE_S = 1e-4, 1e-7
OF_FILES = {"many-small-transfers", "many-opens", "one-rank-files", "unaligned-files"}


@pytest.fixture(scope="module")
def faulty(embedded: MpiInstallation, tmp_path_factory: pytest.TempPathFactory) -> Faulty:  # noqa: F811
    return Faulty.compiled(embedded, tmp_path_factory.mktemp("faults"))


def priced(merged: Merged) -> Merged:
    """The profile as if a call took `CALL_S`, a byte `BYTE_S`, and computation as long as all of them."""
    files = [
        one.model_copy(
            update={
                "open_s": CALL_S * one.opens,
                "read_s": CALL_S * one.reads + BYTE_S * one.read_bytes,
                "write_s": CALL_S * one.writes + BYTE_S * one.written_bytes,
                "sync_s": CALL_S * one.syncs,
                "other_s": CALL_S * one.others,
            }
        )
        for one in merged.files
    ]
    calls = [one.model_copy(update={"time_s": CALL_S * one.calls + BYTE_S * one.bytes}) for one in merged.calls]
    calls_s, files_s = sum(one.time_s for one in calls), sum(one.time_s for one in files)
    wall_s = 2 * (calls_s + files_s)
    moved = max(1, sum(one.file_bytes for one in merged.processes))
    processes = [
        one.model_copy(update={"wall_s": wall_s / RANKS, "file_s": files_s * one.file_bytes / moved})
        for one in merged.processes
    ]
    return merged.model_copy(
        update={"files": files, "calls": calls, "processes": processes, "wall_s": wall_s / RANKS}
    )


def found(merged: Merged) -> dict[str, Finding]:
    return {one.code: one for one in find_all(ProfileFacts(priced(merged)))}


def test_many_small_messages(faulty: Faulty) -> None:
    one = found(faulty.profile("small", ROUNDS))["small-receives"]
    evidence = {each.what: each.value for each in one.evidence}
    assert evidence["mean message size"] == 1024
    assert "faulty.cpp" in str(one.where["site"])


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("files", ""),
        ("pieces", "many-small-transfers"),
        ("opens", "many-opens"),
        ("alone", "one-rank-files"),
        ("unaligned", "unaligned-files"),
    ],
)
def test_what_is_wrong_with_files_is_found_and_nothing_else(
    faulty: Faulty, tmp_path: Path, fault: str, code: str
) -> None:
    codes = found(faulty.profile(fault, ROUNDS, str(tmp_path)))
    assert OF_FILES & set(codes) == {code} - {""}
    if code:
        at = str(codes[code].where.get("file", tmp_path / "data0"))
        assert at.startswith(str(tmp_path / "data")), at
