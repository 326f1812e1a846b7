"""`scope monitor` and what becomes of a monitored run, with a real program under the embedded MPI."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hpcscope.cli import dispatch
from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.profiles import merged as profiles
from hpcscope.programs.profiles import profile
from hpcscope.programs.profiles.monitored_run import Options, run
from hpcscope.programs.profiles.records import Merged
from hpcscope.programs.profiles.traffic import matrix
from tests.cli.scope_command import SCOPE, Answer, answered, scope
from tests.installed_mpi import embedded  # noqa: F401
from tests.messages import mentions
from tests.patience import PATIENCE_S
from tests.profiles import synthetic
from tests.schemas.test_schemas import GENERATOR

RANKS = 3
ROUNDS = 20
Monitor = Callable[..., Answer]


@pytest.fixture(scope="module")
def monitor(embedded: MpiInstallation, tmp_path_factory: pytest.TempPathFactory) -> Monitor:  # noqa: F811
    """Run the ring under the monitor: the name of the run's folder, the program's argument, options of scope."""
    folder = tmp_path_factory.mktemp("monitor")
    source = Path(__file__).parents[1] / "profiles" / "ring.cpp"
    subprocess.run([embedded.compiler, "-g", "-o", folder / "ring", source], check=True, timeout=PATIENCE_S)
    launch = [embedded.launcher, "--allow-run-as-root", "--map-by", ":oversubscribe", "-n", str(RANKS)]

    def started(name: str, argument: str = "0", *options: str) -> Answer:
        words = [str(SCOPE), "monitor", "-o", name, *options, "--", *launch, "./ring", argument]
        done = subprocess.run(
            words, cwd=folder, input="something\n", capture_output=True, text=True, timeout=PATIENCE_S
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    started.folder = folder  # type: ignore[attr-defined]
    started.ring = " ".join(map(str, [*launch, folder / "ring", "0"]))  # type: ignore[attr-defined]
    return started


@pytest.fixture(scope="module")
def finished(monitor: Monitor) -> tuple[Path, Answer]:
    """A run that ended well, traced from its begin, and what the command said."""
    answer = monitor("finished", "0", "--trace", "0:60", "--depth", "2", "--against", "none")
    assert answer.code == 0, answer
    return monitor.folder / "finished", answer  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def merged(finished: tuple[Path, Answer]) -> Merged:
    return profiles.read(finished[0])


def test_the_program_reads_and_prints_as_ever(finished: tuple[Path, Answer]) -> None:
    answer = finished[1]
    assert answer.output == "read something\n"
    assert mentions(answer.errors, "ring: ... 3")
    assert "\x1b" not in answer.errors


def test_every_call_is_counted(merged: Merged) -> None:
    calls = {
        name: [one for one in merged.calls if one.routine == name] for name in {c.routine for c in merged.calls}
    }
    for routine, each, size in (
        ("MPI_Isend", ROUNDS, 4096),
        ("MPI_Irecv", ROUNDS, 0),
        ("MPI_Waitall", ROUNDS, 0),
        ("MPI_Allreduce", ROUNDS, 1024),
    ):
        assert sum(one.calls for one in calls[routine]) == RANKS * each, routine
        assert sum(one.bytes for one in calls[routine]) == RANKS * each * size, routine
    received = [one for one in merged.waits if one.operation == "MPI_Irecv"]
    assert sum(one.requests for one in received) == RANKS * ROUNDS
    assert sum(one.bytes for one in received) == RANKS * ROUNDS * 4096


def test_times_add_up_to_the_wall_clock(finished: tuple[Path, Answer], merged: Merged) -> None:
    whole_s = json.loads((finished[0] / "monitor.json").read_text())["wall_s"]
    for one in merged.processes:
        assert one.state == "finalized"
        assert one.compute_s + one.mpi_s == pytest.approx(one.wall_s)
        assert sum(one.kinds_s.values()) == pytest.approx(one.mpi_s, rel=0.01)
        assert 0 < one.wall_s + one.init_s < whole_s


def test_who_sent_to_whom_and_who_came_last(merged: Merged) -> None:
    sent = matrix(merged.traffic, RANKS, "bytes")
    assert sent.tolist() == [[0, ROUNDS * 4096, 0], [0, 0, ROUNDS * 4096], [ROUNDS * 4096, 0, 0]]
    assert merged.traffic.unreceived == 0
    (reduction,) = merged.collectives
    assert (reduction.routine, reduction.calls) == ("MPI_Allreduce", ROUNDS)
    # Which rank came last is for the tests of profiles: a busy machine may delay any.
    assert 0 < reduction.last_s <= reduction.next_s <= reduction.time_s


def test_calls_have_their_place_in_the_program(merged: Merged) -> None:
    (reduction,) = [one for one in merged.calls if one.routine == "MPI_Allreduce"]
    assert reduction.site is not None
    assert merged.sites[reduction.site].frames[0].startswith("main (ring.cpp:")


def test_the_trace_has_every_message(finished: tuple[Path, Answer], merged: Merged) -> None:
    assert merged.late is not None
    assert (merged.late.messages, merged.late.unmatched) == (RANKS * ROUNDS, 0)
    lines = json.loads((finished[0] / "trace.json").read_text())["traceEvents"]
    assert sum(line["ph"] == "s" for line in lines) == RANKS * ROUNDS
    assert sum(line["ph"] == "X" and line["name"] == "MPI_Allreduce" for line in lines) == RANKS * ROUNDS


@pytest.mark.parametrize("name", ["monitor", "profile", "findings"])
def test_its_files_are_as_the_schemas_say(finished: tuple[Path, Answer], name: str) -> None:
    validator = Draft202012Validator(GENERATOR.schema(name))
    document = json.loads((finished[0] / f"{name}.json").read_text())
    validator.validate(document)
    assert not validator.is_valid(document | {"surprise": 1})


def test_it_is_shown_reported_derived_anew_and_exported(
    finished: tuple[Path, Answer], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = finished[0]
    assert dispatch("show", [str(folder)]) == 0
    assert "MPI_Allreduce" in capsys.readouterr().out
    assert dispatch("show", [str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ranks"] == RANKS
    page = tmp_path / "page.html"
    assert dispatch("report", [str(folder), "-o", str(page)]) == 0
    assert "ring.cpp" in page.read_text()
    again = Path(shutil.copytree(folder, tmp_path / "again"))
    for derived in ("profile.json", "findings.json", "report.html", "trace.json"):
        (again / derived).unlink()
    assert dispatch("analyze", [str(again)]) == 0
    assert (again / "profile.json").read_text() == (folder / "profile.json").read_text()
    capsys.readouterr()
    assert dispatch("export", ["extrap", str(folder)]) == 0
    assert all("callpath" in json.loads(line) for line in capsys.readouterr().out.splitlines())


def test_a_killed_process_is_named_and_its_end_passed_on(monitor: Monitor) -> None:
    answer = monitor("killed", "killed", "--json", "--against", "none")
    assert answer.code not in (0, 1, 2)
    found = Merged.model_validate_json(answer.output.splitlines()[-1])
    assert found.processes[1].state == "running"
    assert len(found.processes) == RANKS
    assert re.search(r"^ +rank 1 .* running", answer.errors, re.MULTILINE), "where it had not ended"


def test_an_abort_is_named_with_its_code(monitor: Monitor) -> None:
    answer = monitor("aborted", "aborted", "--json", "--against", "none")
    assert answer.code == 17
    found = Merged.model_validate_json(answer.output.splitlines()[-1])
    assert (found.processes[1].state, found.processes[1].abort_code) == ("aborted", 17)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "./absent"], "./absent"),
        (["--depth", "33", "--", "true"], "--depth 33: "),
        (["--sample", "2000", "--", "true"], "--sample 2000: "),
        (["--trace", "now", "--", "true"], "--trace now: "),
        (["--interval", "0", "--", "true"], "--interval 0: "),
        (["--against", ".", "--", "true"], "statistics.json"),
    ],
)
def test_what_cannot_be_monitored_is_refused(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dispatch("monitor", words) == 2
    errors = capsys.readouterr().err
    assert mentions(errors, said)
    assert errors.count("\n") == 1
    assert not [path for path in tmp_path.rglob("*") if path.name != "runs"]


def test_a_program_without_mpi_is_said_to_have_none(tmp_path: Path) -> None:
    words = ["monitor", "-o", "run", "--mpi", "embedded", "--", "sh", "-c"]
    answer = scope(tmp_path, *words, "echo out; exit 5")
    assert (answer.code, answer.output) == (5, "out\n")
    assert "MPI_Init" in answer.errors


def test_the_exit_code_is_the_program_s_where_the_disk_is_full(monitor: Monitor, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(disk)], capture_output=True
    ).returncode:
        pytest.skip("a small file system needs the right to mount")
    try:
        # The program fills the disk and ends with a code of its own.
        script = f"echo word | {monitor.ring}; cat /dev/zero >{disk}/rest 2>/dev/null; exit 7"  # type: ignore[attr-defined]
        words = ["--mpi", "embedded", "-o", str(disk / "run"), "--", "sh", "-c", script]
        ended = scope(tmp_path, "monitor", *words)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert (ended.code, ended.output) == (7, "read word\n"), ended
    assert "No space left on device" in ended.errors
    assert "Traceback" not in ended.errors


def test_a_flipped_bit_in_a_profile_is_named_and_the_others_are_used(
    finished: tuple[Path, Answer], tmp_path: Path
) -> None:
    folder = shutil.copytree(finished[0], tmp_path / "run")
    damaged = sorted((folder / "profiles").glob("*.profile"))[1]
    with damaged.open("r+b") as file:
        file.seek(profile.HEADER_BYTES + 3)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))
    ended = answered(tmp_path, "analyze", "run")
    assert (ended.code, "Traceback" in ended.errors) == (0, False), ended
    merged = profiles.read(folder)
    assert len(merged.processes) == RANKS - 1
    assert any(damaged.name in text for text in merged.warnings)


def test_a_program_that_runs_keeps_its_folder(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    words = [SCOPE, "monitor", "--mpi", "embedded", "-o", "runs/a", "--", "sh", "-c", "echo begun; read word"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stdout.readline() == b"begun\n"
        assert mentions(answered(tmp_path, "runs", "remove", "a", "--yes").errors, "runs/a: ... using it")
        running.stdin.write(b"word\n")
    assert (tmp_path / "runs" / "a" / "monitor.json").exists()


def test_a_signal_that_ends_the_command_is_passed_on(tmp_path: Path) -> None:
    ended = run(["sh", "-c", "kill -9 $$"], tmp_path, Options(mpi="embedded"))
    assert (ended.exit_code, ended.signal, ended.code) == (None, 9, 137)


def test_a_command_is_ended_when_its_time_is_over(tmp_path: Path) -> None:
    ended = run(["sleep", "60"], tmp_path, Options(mpi="embedded"), timeout_s=0.2)
    assert ended.signal == 15


def test_a_damaged_run_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = synthetic.monitored(tmp_path / "run", synthetic.processes(2))
    assert dispatch("show", [str(folder)]) == 2
    assert "scope analyze" in capsys.readouterr().err
    assert dispatch("show", [str(folder), "mpi.*"]) == 2
    assert mentions(capsys.readouterr().err, f"mpi.*: ... {folder} ... monitored")
    for path in (folder / "profiles").iterdir():
        path.write_bytes(b"nothing")
    assert dispatch("analyze", [str(folder)]) == 1
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert str(folder / "profiles") in errors
