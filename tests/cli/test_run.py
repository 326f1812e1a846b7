"""`scope run`, for real: what it leaves behind, how it refuses, how it survives interruption and a full disk."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hpcscope.launch import processes
from hpcscope.machine.discover import this_host
from tests import declared
from tests.cli.scope_command import BRIEF, SCOPE, answered, cases, planned, rewrite_times, samples, scope, start
from tests.messages import mentions
from tests.patience import PATIENCE_S, until

LATENCY = "mpi.latency message_bytes=0,1Ki"
LONG = [
    "--case",
    "mpi.latency message_bytes=0,1,2,4,8,16,32,64",
    "--case",
    "mpi.barrier ranks=2",
    "--launches",
    "4",
]


def status(run: Path) -> str:
    return str(json.loads((run / "run.json").read_text())["status"])


def test_a_run_leaves_everything_behind(tmp_path: Path) -> None:
    answer = scope(tmp_path, "run", "--case", LATENCY, "--case", "node.timer", "--launches", "2", *BRIEF)
    assert answer.code == 0, answer.errors
    run = tmp_path / "runs" / "latest"
    assert run.is_symlink()
    assert not run.readlink().is_absolute()
    for name in (
        "experiment.toml",
        "machine.json",
        "benchmarks.json",
        "statistics.json",
        "models.json",
        "findings.json",
    ):
        assert (run / name).stat().st_size > 0
    assert cases(run) == planned(run)
    assert len(cases(run)) == 2 * (2 + 1)
    assert status(run) == "finished"
    record = json.loads((run / "run.json").read_text())
    assert record["command"][1:3] == ["run", "--case"]
    assert record["finished_unix_s"] > record["started_unix_s"]
    machine = json.loads((run / "machine.json").read_text())
    assert machine["hosts"][0]["name"] == os.uname().nodename
    assert machine["build"]["mpi"]["name"] == "openmpi"
    assert "report.html" in answer.output
    attempt = run / "launches" / "0001-1"
    assert {path.name for path in attempt.iterdir()} == {"plan.txt", "progress", "stdout.txt", "stderr.txt"}


def test_the_resolved_experiment_repeats_the_run(tmp_path: Path) -> None:
    assert answered(tmp_path, "run", "--case", LATENCY, "--launches", "2", *BRIEF, "-o", "first").code == 0
    assert answered(tmp_path, "run", "first/experiment.toml", "-o", "second").code == 0
    assert (tmp_path / "first/plan.txt").read_text() == (tmp_path / "second/plan.txt").read_text()


def test_wrong_data_is_exit_code_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOPE_FAULT", "corrupt-payload:mpi.latency")
    answer = answered(tmp_path, "run", "--case", LATENCY, "--launches", "1", *BRIEF)
    assert answer.code == 1
    found = {
        line["parameters"]["message_bytes"]: line for line in samples(tmp_path / "runs/latest") if "status" in line
    }
    assert {size: line["status"] for size, line in found.items()} == {0: "ok", 1024: "failed"}
    assert found[1024]["reason"].startswith("rank 1 on ")
    (said,) = [line for line in answer.errors.splitlines() if "failed" in line]
    assert "1 KiB" in said
    assert (tmp_path / "runs/latest/report.html").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mpi.latncy"], "only = mpi.latncy: ... mpi.latency?"),
        (["--case", "mpi.latncy"], "benchmark = mpi.latncy: ... mpi.latency?"),
        (["--case", "mpi.latency message_bytes=-1"], "message_bytes = -1: ... 0 ... 68719476736"),
        (["--case", "mpi.latency message_bytes=1000Gi"], "message_bytes = 1000Gi: ... 0 ... 68719476736"),
        (["--case", "mpi.latency mesage_bytes=1"], "mesage_bytes = 1: ... message_bytes?"),
        (["--case", "mpi.barrier ranks=4096"], "ranks = 4096: ... --oversubscribe"),
        (["--case", "mpi.latency message_bytes"], "'message_bytes' ... key=value"),
        (["--module", "base"], "--module ... baseline, standard, advanced ... baseline?"),
        (["--launches", "0"], "--launches 0: ... 1 ... 1000"),
        (["--limit", "-1"], "--limit -1: ... 0s"),
        (["--mpi", "lam"], "--mpi lam: ... openmpi"),
        (["--mpiexec", "/nowhere/mpiexec"], "launcher.mpiexec = /nowhere/mpiexec: "),
        (["--remote-shell", "/nowhere/ssh"], "launcher.remote_shell = /nowhere/ssh: "),
        (["--hosts", "a:0"], "--hosts a:0: ... name:slots"),
        (["--hosts", "a;b", "--mpi", "lam"], "--hosts a;b: "),
        (["--hosts", "nosuch-host.invalid"], "launcher.hosts = nosuch-host.invalid: "),
        (["--hostfile", "gone"], "gone: "),
        (["gone.toml"], "gone.toml: "),
        (["--resume", "gone"], "gone: "),
        (["--resume", "gone", "--launches", "3"], "--resume gone: ... launches"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path: Path, words: list[str], said: str) -> None:
    mpi = [] if "--mpi" in words or "--resume" in words else ["--mpi", "embedded"]
    refusal = answered(tmp_path, "run", *words, *mpi).refusal()
    assert mentions(refusal, f"scope run: ... {said}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lunches = 3", "e.toml: lunches = 3: ... launches?"),
        ("[[case]]\nbenchmark = 'mpi.latency'\nmessage_bytes = [-5]", "e.toml: case[0] ... message_bytes = -5: "),
        ("[[case]]\nbenchmark = 'mpi.barrier'\nranks = [4096]", "e.toml: case[0] ... ranks = 4096: "),
        ("launches = ", "e.toml: not TOML"),
    ],
)
def test_a_bad_experiment_is_one_line_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "e.toml").write_text(text)
    assert mentions(answered(tmp_path, "run", "e.toml", "--mpi", "embedded").refusal(), said)
    assert [path.name for path in tmp_path.iterdir()] == ["e.toml"]


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious").write_text("mine")
    refusal = answered(tmp_path, "run", "mpi.barrier", *BRIEF, "-o", "run").refusal()
    assert "--output run: " in refusal
    assert (tmp_path / "run" / "precious").read_text() == "mine"


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(
            signal.SIGTERM, marks=pytest.mark.slow("the same handler; there, SIGINT, and other commands")
        ),
    ],
)
def test_an_interrupted_run_is_resumed_to_the_same_cases(tmp_path: Path, number: signal.Signals) -> None:
    running = start(tmp_path, "run", *LONG, *BRIEF, "-o", "runs/long")
    run, latest = tmp_path / "runs/long", tmp_path / "runs/latest"
    until(lambda: len([line for line in samples(run) if line["record"] == "case"]) >= 4, "a fourth case")
    running.send_signal(number)
    _, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130, errors
    assert "scope run --resume runs/long" in errors
    assert "Traceback" not in errors
    assert status(run) == "interrupted"
    done = cases(run)
    assert 4 <= len(done) < len(planned(run))
    assert leftovers(run) == []
    assert not latest.is_symlink()

    answer = answered(tmp_path, "run", "--resume", "runs/long")
    assert answer.code == 0, answer.errors
    assert cases(run) == planned(run)
    assert status(run) == "finished"
    assert latest.resolve() == run
    assert set(done) <= set(cases(run))


def test_a_run_whose_supervisor_was_killed_is_resumed_when_its_ranks_are_gone(tmp_path: Path) -> None:
    endless = "sampling.budget_s=100.0 sampling.minimum_repetitions=10000000 sampling.maximum_repetitions=10000000"
    settings = [word.removeprefix("sampling.").replace("=", " = ") for word in endless.split()]
    (tmp_path / "e.toml").write_text("[sampling]\n" + "\n".join(settings) + "\n")
    running = start(tmp_path, "run", "e.toml", *LONG, "--mpi", "embedded", "-o", "run")
    run = tmp_path / "run"
    until(lambda: any(line["record"] == "launch" for line in samples(run)), "a launch")
    running.kill()
    running.communicate(timeout=PATIENCE_S)
    ranks = leftovers(run)
    assert ranks
    assert mentions(answered(tmp_path, "run", "--resume", "run").refusal(), f"{tmp_path / 'run'}: ... using it")
    for pid in ranks:
        with suppress(ProcessLookupError):  # its launcher, killed before, may have ended it
            os.kill(pid, signal.SIGKILL)
    until(lambda: leftovers(run) == [], "the end of the killed ranks")
    plan = (run / "plan.txt").read_text()
    assert endless in plan
    (run / "plan.txt").write_text(plan.replace(endless, "sampling.budget_s=0.05"))
    assert answered(tmp_path, "run", "--resume", "run").code == 0
    assert cases(run) == planned(run)


def test_a_cut_last_line_is_kept_aside_and_its_case_measured_again(tmp_path: Path) -> None:
    assert answered(tmp_path, "run", "--case", LATENCY, "--launches", "1", *BRIEF, "-o", "run").code == 0
    run = tmp_path / "run"
    lines = (run / "samples.jsonl").read_bytes().splitlines(keepends=True)
    half = lines[-2][: len(lines[-2]) // 2]
    (run / "samples.jsonl").write_bytes(b"".join(lines[:-2]) + half)
    answer = answered(tmp_path, "run", "--resume", "run")
    assert answer.code == 0, answer.errors
    assert (run / "samples.cut.jsonl").read_bytes() == half + b"\n"
    assert cases(run) == planned(run)


def test_a_finished_run_is_resumed_to_itself(tmp_path: Path) -> None:
    assert answered(tmp_path, "run", "--case", LATENCY, "--launches", "1", *BRIEF, "-o", "run").code == 0
    before = (tmp_path / "run/samples.jsonl").read_bytes()
    assert answered(tmp_path, "run", "--resume", "run").code == 0
    assert (tmp_path / "run/samples.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("run.json", '"format": 2', '"format": 3', "run.json: ... format = 3: ... 2"),
        ("plan.txt", "format=2", "format=7", "plan.txt:1: ... format = 7: ... 2"),
        ("machine.json", '"fingerprint": "', '"fingerprint": "0', "machine.json: ... build.fingerprint"),
        ("experiment.toml", "launches =", "lunches =", "experiment.toml: lunches ... launches?"),
    ],
)
def test_a_run_of_another_format_or_program_is_not_resumed(
    finished: Path, name: str, old: str, new: str, said: str
) -> None:
    text = (finished / name).read_text()
    assert old in text
    (finished / name).write_text(text.replace(old, new, 1))
    try:
        refusal = answered(finished.parent, "run", "--resume", finished.name).refusal()
    finally:
        (finished / name).write_text(text)
    assert mentions(refusal, said)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    assert answered(folder, "run", "--case", "node.timer", "--launches", "1", *BRIEF, "-o", "run").code == 0
    (folder / "run" / "checksums.sha256").unlink()  # which would tell of every change that a test makes
    return folder / "run"


AS_MANY_SAMPLES = """[sampling]
budget_s = 600.0
precision = 1e-9
minimum_repetitions = 200
maximum_repetitions = 200
"""
"""However fast the machine is: about 60 KB in a launch of LONG."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    # The declarations of the benchmarks, the other files before the samples, and some of the samples fit.
    room = len(json.dumps(declared.described(), indent=1)) // 1024 + 80
    words = ["mount", "-t", "tmpfs", "-o", f"size={room}k", "tmpfs", str(disk)]
    mounted = subprocess.run(words, capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_one_line_and_the_run_goes_on_when_there_is_room(small_disk: Path) -> None:
    (small_disk / "e.toml").write_text(AS_MANY_SAMPLES)
    answer = answered(small_disk, "run", "e.toml", *LONG, "--mpi", "embedded", "--seed", "3", "-o", "run")
    assert answer.code == 1
    last = answer.errors.strip().splitlines()[-1]
    assert last.startswith("scope run: ")
    assert str(small_disk / "run/samples.jsonl") in last
    assert "No space left on device" in last
    assert "scope run --resume run" in answer.errors
    assert "Traceback" not in answer.errors
    before = cases(small_disk / "run")
    assert before

    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    resumed = answered(small_disk, "run", "--resume", "run")
    assert resumed.code == 0, resumed.errors
    assert cases(small_disk / "run") == planned(small_disk / "run")
    assert set(before) <= set(cases(small_disk / "run"))


@pytest.mark.slow("a rare limit; there, a full disk ends a run in one line, and it goes on")
def test_samples_that_reach_a_limit_on_file_sizes_end_the_run_in_one_line(tmp_path: Path) -> None:
    """MPI itself needs larger files than such a run has samples: the ranks get their limit after MPI_Init."""
    run = tmp_path / "run"
    running = start(tmp_path, "run", *LONG, *BRIEF, "--budget", "1", "--launches", "1", "-o", "run")
    until(lambda: any(line["record"] == "case" for line in samples(run)), "a case")
    room = (run / "samples.jsonl").stat().st_size + 512
    ranks = processes.with_argument(f"--progress={(run / 'launches/0001-1/progress').absolute()}")
    for rank in ranks:
        resource.prlimit(rank.pid, resource.RLIMIT_FSIZE, (room, room))
    _, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 1, errors
    said = f"scope run: {run / 'samples.jsonl'}: ... File too large"
    assert any(mentions(line, said) for line in errors.splitlines())
    assert "scope run --resume run" in errors
    before = cases(run)

    resumed = answered(tmp_path, "run", "--resume", "run")
    assert resumed.code == 0, resumed.errors
    assert cases(run) == planned(run)
    assert set(before) <= set(cases(run))


def test_too_few_open_files_are_named_once(tmp_path: Path) -> None:
    assert answered(tmp_path, "build", "--mpi", "embedded").code == 0  # a compiler needs more
    limited = subprocess.run(
        ["bash", "-c", 'ulimit -n 24; exec "$@"', "bash", str(SCOPE), "run", *LONG, *BRIEF, "-o", "run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert limited.returncode == 1, limited.stderr
    said = "scope run: no rank began: open files of a process: expected 48 or more, found 24; run `ulimit -n 48`"
    assert limited.stderr.count("no rank began") == 1
    assert limited.stderr.splitlines()[-1].startswith(said)
    assert len(list((tmp_path / "run" / "launches").iterdir())) == 1, "tried once"


@pytest.mark.slow("a rare limit; there, launchers that lose their ranks are told in one line")
def test_a_limit_on_file_sizes_below_the_need_of_mpi_is_named(tmp_path: Path) -> None:
    assert answered(tmp_path, "build", "--mpi", "embedded").code == 0  # a compiler needs larger files
    words = ["run", *LONG, *BRIEF, "--launches", "1", "-o", "run"]
    limited = subprocess.run(
        ["bash", "-c", 'ulimit -f 1024; exec "$@"', "bash", str(SCOPE), *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert limited.returncode == 1, limited.stderr
    last = limited.stderr.strip().splitlines()[-1]
    assert mentions(last, "scope run: ... 1 MiB ... ulimit -f")
    assert cases(tmp_path / "run") == []

    resumed = answered(tmp_path, "run", "--resume", "run")
    assert resumed.code == 0, resumed.errors
    assert cases(tmp_path / "run") == planned(tmp_path / "run")


def test_a_file_that_reaches_a_limit_on_file_sizes_fails_its_case_alone(tmp_path: Path) -> None:
    assert answered(tmp_path, "build", "--mpi", "embedded").code == 0  # a compiler needs larger files
    # The two ranks write 32 MiB into one file. The first stays below the limit.
    words = ["run", "--case", "storage.write", "--case", "mpi.barrier", *BRIEF, "--launches", "1", "-o", "run"]
    limited = subprocess.run(
        ["bash", "-c", 'ulimit -f 20480; exec "$@"', "bash", str(SCOPE), *words, "--storage", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert limited.returncode == 1, limited.stderr
    found = {line["benchmark"]: line["reason"] for line in samples(tmp_path / "run") if line["record"] == "case"}
    assert found["storage.write"].startswith("rank 1")
    assert found["storage.write"].endswith("write: File too large")
    assert found["mpi.barrier"] == ""
    assert "write: File too large" in " ".join(limited.stdout.split())


def test_more_ranks_than_cores_run_when_asked_so(tmp_path: Path) -> None:
    ranks = 2 * this_host().processor.usable_cores
    case = f"mpi.barrier ranks={ranks}"
    answer = answered(tmp_path, "run", "--case", case, "--launches", "1", "--oversubscribe", *BRIEF, "-o", "run")
    assert answer.code == 0, answer.errors
    opening = next(line for line in samples(tmp_path / "run") if line["record"] == "launch")
    assert (opening["ranks"], opening["placement"]) == (ranks, "none")


def leftovers(run: Path) -> list[int]:
    """Return processes of this run that are still there."""
    return [
        process.pid
        for attempt in (run / "launches").iterdir()
        for process in processes.with_argument(f"--progress={attempt.absolute() / 'progress'}")
    ]


def test_a_second_look_measures_inside_and_beside_the_gap_of_a_break(tmp_path: Path) -> None:
    sizes = [1, 16, 128, 512, 1024, 16384, 65536, 262144, 1048576]
    swept = f"mpi.latency message_bytes={','.join(map(str, sizes))}"
    answer = answered(tmp_path, "run", "--case", swept, "--launches", "2", "--output", "run", *BRIEF)
    assert answer.code == 0, answer.errors
    run = tmp_path / "run"
    rewrite_times(run, _with_a_break_after_1024_bytes)
    (run / "checksums.sha256").unlink()
    experiment = run / "experiment.toml"
    experiment.write_text(experiment.read_text().replace("refine = false", "refine = true"))
    answer = answered(tmp_path, "run", "--resume", "run")
    assert answer.code == 0, answer.errors
    assert cases(run) == planned(run)
    measured = {record["parameters"]["message_bytes"] for record in samples(run) if record["record"] == "case"}
    assert measured >= {*sizes, 256, 2048, 4096, 8192, 32768}


def _with_a_break_after_1024_bytes(record: dict[str, Any]) -> float:
    size = record["parameters"]["message_bytes"]
    return 1e-6 + 1e-9 * size if size <= 1024 else 1e-5 + 2e-9 * size
