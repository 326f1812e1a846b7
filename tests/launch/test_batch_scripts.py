"""Job scripts as `scope run --submit` writes them, and as they run."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from hpcscope.launch import scheduler, schedulers
from hpcscope.launch.jobs import batch_job
from hpcscope.launch.scheduler import Request
from hpcscope.rundirectory import RunDirectory
from tests.cli.scope_command import answered, scope
from tests.launch import directives
from tests.launch.played import play
from tests.messages import mentions
from tests.patience import PATIENCE_S

EVERYWHERE = ("#SBATCH ", "#PBS ", "#BSUB ", "#$ ")


@pytest.fixture(autouse=True)
def _no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("SLURM_", "PBS_", "LSB_", "SGE_", "SCOPE_JOB")):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("system", schedulers.all_schedulers().values(), ids=lambda system: str(system.name))
def test_a_script_begins_a_run_and_takes_it_up_when_it_was_begun(
    system: scheduler.Scheduler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run the script itself, with a program in Python's place that prints what it was given."""
    spoken = tmp_path / "spoken"
    spoken.write_text(f'#!/bin/bash\necho "$PWD|$*|${{{scheduler.END}:-none}}"\n')
    spoken.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(spoken))
    folder = tmp_path / "a folder"
    (folder / "run").mkdir(parents=True)
    request = Request("x", folder, folder / "output.txt", time_limit_s=600)
    text = schedulers.script(system, request, folder / "run", ["run", "x.toml", "--output", "a run"])
    directives = [line for line in text.splitlines() if line.startswith(EVERYWHERE)]
    assert text.splitlines()[1 : 1 + len(directives)] == directives
    (tmp_path / "script").write_text(text)
    play(tmp_path, monkeypatch, date="1800000000")

    def said() -> list[str]:
        answer = subprocess.run(
            ["bash", tmp_path / "script"], capture_output=True, text=True, check=True, timeout=PATIENCE_S
        )
        return answer.stdout.strip().split("|")

    where, words, end = said()
    assert (where, words) == (str(folder), "-m hpcscope run x.toml --output a run")
    if system.tells_end:
        assert end == "none"
    else:
        assert int(end) == 1_800_000_600
    (folder / "run" / "run.json").touch()
    assert said()[1] == f"-m hpcscope run --resume {folder / 'run'}"


def test_a_dry_submission_writes_the_script_and_submits_nothing(tmp_path: Path) -> None:
    words = ["--case", "node.timer", "--nodelist", "a[1-2],b", "--time-limit", "600", "-o", "run"]
    answer = scope(tmp_path, "run", "--submit", "--dry-run", "--scheduler", "lsf", *words)
    assert answer.code == 0, answer
    script = tmp_path / "run" / "job" / "script.sh"
    assert answer.output == script.read_text()
    assert f"bsub < {script}" in answer.errors
    asked = directives.lsf(line for line in answer.output.splitlines() if line.startswith("#BSUB "))
    wanted = {"n": "3", "R": "span[ptile=1]", "m": "a1 a2 b", "x": "", "W": "10"}
    assert asked == {**asked, **wanted}
    experiment = batch_job.experiment_of(RunDirectory(tmp_path / "run"), {"launcher.partition": "long"})
    assert experiment.case[0].benchmark == "node.timer"
    assert (experiment.launcher.nodelist, experiment.launcher.partition) == (("a[1-2]", "b"), "long")


def test_the_line_to_submit_a_script_is_one_that_a_shell_reads(tmp_path: Path) -> None:
    words = ["run", "--submit", "--dry-run", "--case", "node.timer", "-o", "a b; c"]
    told = answered(tmp_path, *words).errors.strip().rpartition("yourself: ")[2]
    assert shlex.split(told) == ["sbatch", str(tmp_path / "a b; c" / "job" / "script.sh")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--dry-run"], "--dry-run: ... --submit"),
        (["--quick", "--launches", "3"], "--quick: ... --launches"),
        (["--submit", "--partition", "a b"], "--partition a b: "),
        (["--submit", "--nodes", "0"], "--nodes 0: "),
        (["--submit", "--time-limit", "5"], "--time-limit 5: ... 1m ... 30d"),
        (["--submit", "--nodelist", "a;b"], "--nodelist a;b: "),
        (["--submit", "--scheduler", "slrm"], "slurm?"),
    ],
)
def test_wrong_wishes_are_one_line_and_leave_nothing(words: list[str], said: str, tmp_path: Path) -> None:
    answer = answered(tmp_path, "run", *words, "-o", "run")
    assert mentions(answer.refusal(), said)
    assert not (tmp_path / "run").exists()


def test_a_folder_with_a_line_break_is_refused(tmp_path: Path) -> None:
    answer = answered(
        tmp_path, "run", "--submit", "--dry-run", "--case", "node.timer", "-o", "run\n#SBATCH --wrap=id"
    )
    assert "--output 'run\\n#SBATCH --wrap=id': " in answer.refusal()
    assert list(tmp_path.iterdir()) == []
    odd = tmp_path / "a\nb"
    odd.mkdir()
    answer = answered(odd, "run", "--submit", "--dry-run", "--case", "node.timer", "-o", "run")
    assert "a\\nb" in answer.refusal()
