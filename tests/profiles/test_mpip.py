"""Reports of mpiP, taken in as profiles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpcscope.cli import dispatch
from hpcscope.errors import ScopeError
from hpcscope.programs.profiles import mpip
from hpcscope.programs.profiles.merged import PROFILE, read
from tests.messages import mentions

RULE = "-" * 75
REPORT = f"""\
@ mpiP
@ Command : ./app -n 50 "two words"
@ Version                  : 3.5.0
@ MPIP Build date          : Oct 20 2020, 18:22:06
@ Start time               : 2020 10 20 18:25:41
@ Collector Rank           : 0
@ MPI Task Assignment      : 0 node1
@ MPI Task Assignment      : 1 node2

{RULE}
@--- MPI Time (seconds) ---------------------------------------------------
{RULE}
Task    AppTime    MPITime     MPI%
   0       9.5      1.5     15.8
   1       9.6      2.5     26.0
   *       19.1     4.0     20.9
{RULE}
@--- Callsites: 2 ---------------------------------------------------------
{RULE}
 ID Lev File/Address             Line Parent_Funct                                 MPI_Call
  1   0 solver.c                  172 exchange                                     Allreduce
  1   1 main.c                    421 main
  2   0 0x401234                     [unknown]                                     Send
{RULE}
@--- Aggregate Time (top twenty, descending, milliseconds) ----------------
{RULE}
Call                 Site       Time    App%    MPI%      Count    COV
Allreduce               1       3000   15.71   75.00        600   0.47
{RULE}
@--- Callsite Time statistics (all, milliseconds): 6 ----------------------
{RULE}
Name              Site Rank  Count      Max     Mean      Min   App%   MPI%
Allreduce            1    0    300       20     3.00     0.50   9.47  60.00
Allreduce            1    1    300       40     7.00     0.40  21.87  84.00
Allreduce            1    *    600       40     5.00     0.40  15.71  75.00
Send                 2    0     80       10     7.50     6.00   6.32  40.00
Send                 2    1     80       10     5.00     4.00   4.17  16.00
Send                 2    *    160       10     6.25     4.00   5.24  25.00
{RULE}
@--- Callsite Message Sent statistics (all, sent bytes) -------------------
{RULE}
Name              Site Rank   Count       Max      Mean       Min       Sum
Allreduce            1    0     300         8         8         8      2400
Allreduce            1    1     300         8         8         8      2400
Send                 2    0      80      6000      6000      6000   4.8e+05
Send                 2    1      80      6000      6000      6000   4.8e+05
Send                 2    *     160      6000      6000      6000   9.6e+05
{RULE}
@--- End of Report --------------------------------------------------------
{RULE}
"""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "app.2.1.1.mpiP"
    path.write_text(REPORT)
    return path


def test_what_it_says_is_taken_in(report: Path) -> None:
    found = mpip.read(report)
    assert (found.source, found.ranks, found.hosts) == ("mpiP 3.5.0", 2, ["node1", "node2"])
    assert found.arguments == ["./app", "-n", "50", "two words"]
    assert [one.wall_s for one in found.processes] == [9.5, 9.6]
    assert [one.compute_s for one in found.processes] == pytest.approx([8.0, 7.1])
    assert found.processes[0].kinds_s == pytest.approx({"collective": 0.9, "send": 0.6})
    assert found.processes[1].sent_bytes == 480_000
    reduction, send = found.calls
    assert (reduction.routine, reduction.calls, reduction.processes, reduction.bytes) == (
        "MPI_Allreduce",
        600,
        2,
        4800,
    )
    assert reduction.time_s == pytest.approx(3.0)
    assert (reduction.most_rank, reduction.times.most_s) == (1, pytest.approx(0.04))
    assert (send.bytes, send.size_class) == (960_000, 13)
    assert [one.frames for one in found.sites] == [["exchange (solver.c:172)", "main (main.c:421)"], ["0x401234"]]


def test_what_it_does_not_say_stays_unknown(report: Path) -> None:
    found = mpip.read(report)
    assert found.processes[0].usage is None
    assert found.processes[0].off_processor_s is None
    assert not {"user_s", "off_processor_s", "received_bytes", "init_s"} & set(found.spreads)
    assert found.calls[0].times.median_s is None


def test_a_report_without_call_sites_has_the_processes(report: Path) -> None:
    report.write_text(REPORT[: REPORT.index("@--- Callsite Time")])
    found = mpip.read(report)
    assert (len(found.processes), found.calls) == (2, [])
    assert mentions(found.warnings[0], f"{report}: ... call sites")


def test_calls_below_the_threshold_are_named(report: Path) -> None:
    """With `-t`, mpiP prints of such a call site the sum over all ranks alone."""
    report.write_text(
        "".join(
            line
            for line in REPORT.splitlines(True)
            if not line.startswith(("Send                 2    0     80 ", "Send                 2    1     80 "))
        )
    )
    found = mpip.read(report)
    assert [one.routine for one in found.calls] == ["MPI_Allreduce"]
    assert mentions(found.warnings[0], "160 calls of MPI_Send at site 2 are left out")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "mpiP"),
        ("@ mpiP\n@ Command : x\n", "table of times"),
        (REPORT.replace("9.5 ", "much "), "much"),
    ],
)
def test_what_is_none_is_refused(report: Path, text: str, said: str) -> None:
    report.write_text(text)
    with pytest.raises(ScopeError, match=said):
        mpip.read(report)


@pytest.mark.parametrize("started", ["", "@ Start time : yesterday\n", "@ Start time : 9999999 10 20 18:25:41\n"])
def test_a_report_may_lack_its_start(
    started: str, report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = next(line for line in REPORT.splitlines(keepends=True) if line.startswith("@ Start time"))
    report.write_text(REPORT.replace(line, started))
    monkeypatch.chdir(tmp_path)
    assert dispatch("import", [str(report), "-o", "run"]) == 0, capsys.readouterr().err
    assert json.loads((tmp_path / "run" / "monitor.json").read_text())["started_unix_s"] is None
    assert "not recorded" in (tmp_path / "run" / "report.html").read_text()


def test_it_becomes_a_run_like_any_other(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dispatch("import", [str(report), "-o", "run"]) == 0
    assert "MPI_Allreduce" in capsys.readouterr().out
    assert "exchange (solver.c:172)" in (tmp_path / "run" / "report.html").read_text()
    before = read(tmp_path / "run")
    (tmp_path / "run" / PROFILE).unlink()
    assert dispatch("analyze", ["run"]) == 0
    assert read(tmp_path / "run") == before
    assert dispatch("export", ["csv", "run"]) == 0
    report.write_text("nothing")
    assert dispatch("import", [str(report), "-o", "other"]) == 1
    assert not (tmp_path / "other").exists()


def test_a_report_is_known_by_its_first_line(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    other = report.rename(tmp_path / "job-4711.out")
    assert dispatch("import", [str(other), "-o", "run"]) == 0, capsys.readouterr().err
    assert read(tmp_path / "run").source == "mpiP 3.5.0"
