"""The text of batch scripts, and what each batch system's variables say of a job; no batch system is needed."""

from __future__ import annotations

import itertools
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from scope.errors import ScopeError, UsageError
from scope.launch import scheduler, schedulers
from scope.launch.jobs import batch_job
from scope.launch.launcher import HostSlots
from scope.launch.scheduler import Request
from scope.launch.schedulers import gridengine, lsf, pbs, slurm
from scope.launch.site import site_of
from scope.machine.machine import MpiInstallation
from scope.plan import experiment as asking
from scope.rundirectory import RunDirectory
from tests.cli.scope_command import scope
from tests.launch import directives
from tests.launch.played import play
from tests.patience import PATIENCE_S

FULL = Request(
    name="scope-x",
    folder=Path("/home of/me"),
    output=Path("/runs/x/job/output.txt"),
    nodes=2,
    ranks_per_node=4,
    exclusive=True,
    partition="short",
    account="physics",
    parallel_environment="mpi",
    time_limit_s=5401,
    nice=50,
    arguments=("--extra=1",),
)
EVERYWHERE = ("#SBATCH ", "#PBS ", "#BSUB ", "#$ ")
MPI = MpiInstallation(name="mpich", version="5.0", origin="path", compiler="/x/mpicxx", launcher="/bin/true")


@pytest.fixture(autouse=True)
def _no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("SLURM_", "PBS_", "LSB_", "SGE_", "SCOPE_JOB")):
            monkeypatch.delenv(name)


def test_slurm_is_asked_for_everything() -> None:
    assert slurm.SCHEDULER.directives(FULL) == [
        "#SBATCH --job-name=scope-x",
        "#SBATCH --output=/runs/x/job/output.txt",
        "#SBATCH --open-mode=append",
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks-per-node=4",
        "#SBATCH --exclusive",
        "#SBATCH --partition=short",
        "#SBATCH --account=physics",
        "#SBATCH --time=01:31:00",
        "#SBATCH --nice=50",
        "#SBATCH --extra=1",
    ]


def test_pbs_is_asked_for_everything() -> None:
    assert pbs.SCHEDULER.directives(FULL) == [
        "#PBS -N scope-x",
        "#PBS -o /runs/x/job/output.txt",
        "#PBS -j oe",
        "#PBS -q short",
        "#PBS -A physics",
        "#PBS -l select=2:ncpus=4:mpiprocs=4",
        "#PBS -l place=scatter:excl",
        "#PBS -l walltime=01:31:00",
        "#PBS -V",
        "#PBS --extra=1",
    ]


def test_lsf_is_asked_for_everything() -> None:
    assert lsf.SCHEDULER.directives(FULL) == [
        "#BSUB -J scope-x",
        "#BSUB -o /runs/x/job/output.txt",
        "#BSUB -q short",
        "#BSUB -P physics",
        "#BSUB -n 8",
        '#BSUB -R "span[ptile=4]"',
        "#BSUB -x",
        "#BSUB -W 91",
        "#BSUB --extra=1",
    ]


def test_grid_engine_is_asked_for_everything() -> None:
    assert gridengine.SCHEDULER.directives(FULL) == [
        "#$ -S /bin/bash",
        "#$ -N scope-x",
        "#$ -o /runs/x/job/output.txt",
        "#$ -j y",
        "#$ -q short",
        "#$ -P physics",
        "#$ -pe mpi 8",
        "#$ -l exclusive=true",
        "#$ -l h_rt=5401",
        "#$ -r y",
        "#$ -V",
        "#$ --extra=1",
    ]
    small = Request("x", Path("/"), Path("/o"), nodelist=("a",), exclusive=False)
    assert gridengine.SCHEDULER.directives(small)[4:] == ["#$ -l hostname=a", "#$ -r y", "#$ -V"]
    several = replace(FULL, nodelist=("a", "b"))
    assert "#$ -l hostname=a|b" in gridengine.SCHEDULER.directives(several)
    with pytest.raises(
        UsageError, match=r"launcher\.parallel_environment \(--parallel-environment\): must be given"
    ):
        gridengine.SCHEDULER.directives(replace(FULL, parallel_environment=None))


@pytest.mark.parametrize("own", [",", ":", "$", "#", '"', "'"])
def test_grid_engine_would_not_take_every_path_literally(own: str) -> None:
    with pytest.raises(UsageError, match=r"must not contain \S, which Grid Engine reads as its own"):
        gridengine.SCHEDULER.directives(replace(FULL, output=Path(f"/runs/a{own}b/output.txt")))


REQUESTS = [
    Request(
        name="scope-" + "x" * 94,
        folder=Path("/"),
        output=Path(output),
        nodes=3 if not hosts else len(hosts),
        nodelist=hosts,
        ranks_per_node=ranks,
        exclusive=exclusive,
        partition=partition,
        account=partition,
        time_limit_s=limit_s,
    )
    for output, hosts, ranks, exclusive, partition, limit_s in itertools.product(
        ["/runs/a/output.txt", '/it\'s a "run" of mine\\here/a:b/output.txt'],
        [(), ("a",), ("a1", "b-2.site")],
        [None, 1, 64],
        [True, False],
        [None, "short@head.site"],
        [None, 60.0, 30 * 86400.0],
    )
]


def test_every_pbs_script_is_as_documented_and_asks_for_what_is_wanted() -> None:
    for one in REQUESTS:
        asked = directives.pbs(pbs.SCHEDULER.directives(one))
        each = one.ranks_per_node or 1
        sizes = f"ncpus={each}" + (f":mpiprocs={each}" if one.ranks_per_node else "")
        chunks = [f"1:{sizes}:host={host}" for host in one.nodelist] or [f"3:{sizes}"]
        wanted = {
            **{"N": one.name, "o": str(one.output), "j": "oe", "V": "", "select": "+".join(chunks)},
            "place": "scatter:excl" if one.exclusive else "scatter",
            **({"q": one.partition, "A": one.account} if one.partition else {}),
            **({"walltime": scheduler.clock(one.time_limit_s)} if one.time_limit_s else {}),
        }
        assert asked == wanted


def test_every_lsf_script_is_as_documented_and_asks_for_what_is_wanted() -> None:
    for one in REQUESTS:
        asked = directives.lsf(lsf.SCHEDULER.directives(one))
        each = one.ranks_per_node or 1
        wanted = {
            **{"J": one.name, "o": str(one.output), "n": str(one.nodes * each), "R": f"span[ptile={each}]"},
            **({"m": " ".join(one.nodelist)} if one.nodelist else {}),
            **({"x": ""} if one.exclusive else {}),
            **({"q": one.partition, "P": one.account} if one.partition else {}),
            **({"W": str(int(one.time_limit_s) // 60)} if one.time_limit_s else {}),
        }
        assert asked == wanted
    with pytest.raises(UsageError, match=r"/x%J/o: must not contain %J, which LSF replaces in file names"):
        lsf.SCHEDULER.directives(replace(FULL, output=Path("/x%J/o")))


@pytest.mark.parametrize(
    "line",
    [
        *("#PBS --extra=1", "#PBS -Y", "#PBS -N 1x", "#PBS -N", "#PBS -j both", "#PBS -o host:/x", "#PBS -V x"),
        *("#PBS -o '/x", "#PBS -l select=0:ncpus=1", "#PBS -l select=1:ncpus", "#PBS -l place=excl:scatter"),
        *("#PBS -l place=wide", "#PBS -l walltime=1:99", "#PBS -l mem", "#SBATCH -N x"),
        *("#BSUB --extra", "#BSUB -Y", "#BSUB -n 0", "#BSUB -W 1:2:3", "#BSUB -R 'span[tile=2]'", "#BSUB -o /x%J"),
        *("#BSUB -m 'a, b'", "#BSUB -n 2 -R span[ptile=4]", "#BSUB -J 'a b'", "#BSUB -J"),
    ],
)
def test_what_is_not_documented_is_noticed(line: str) -> None:
    read = directives.lsf if line.startswith("#BSUB") else directives.pbs
    with pytest.raises(ValueError, match=r"."):
        read([line])


def test_the_name_of_a_job_is_one_that_every_batch_system_takes(tmp_path: Path) -> None:
    settings = asking.LauncherSettings()
    experiment = asking.Experiment(launcher=settings.model_copy(update={"scheduler": "pbs"}))
    folder = tmp_path / ("größe" + "n" * 200)
    _, request = batch_job.prepare(RunDirectory(folder), experiment, [])
    assert directives.pbs(pbs.SCHEDULER.directives(request))["N"].startswith("scope-gr__en")


def test_an_array_of_jobs_is_no_run() -> None:
    with pytest.raises(UsageError, match=r"scheduler_arguments = --array=1-3: must not make a job array"):
        slurm.SCHEDULER.submit(Path("/x"), replace(FULL, arguments=("--array=1-3",)))


def test_named_nodes() -> None:
    named = Request("x", Path("/"), Path("/o"), nodes=2, nodelist=("a", "b"), exclusive=False)
    assert slurm.SCHEDULER.directives(named)[3:] == ["#SBATCH --nodes=2", "#SBATCH --nodelist=a,b"]
    assert "#PBS -l select=1:ncpus=1:host=a+1:ncpus=1:host=b" in pbs.SCHEDULER.directives(named)
    assert "#PBS -l place=scatter" in pbs.SCHEDULER.directives(named)
    assert '#BSUB -m "a b"' in lsf.SCHEDULER.directives(named)
    assert "#BSUB -n 2" in lsf.SCHEDULER.directives(named)


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

    def said() -> list[str]:
        answer = subprocess.run(
            ["bash", tmp_path / "script"], capture_output=True, text=True, check=True, timeout=PATIENCE_S
        )
        return answer.stdout.strip().split("|")

    where, words, end = said()
    assert (where, words) == (str(folder), "-m scope run x.toml --output a run")
    if system.tells_end:
        assert end == "none"
    else:
        assert 590 < int(end) - time.time() <= 600
    (folder / "run" / "run.json").touch()
    assert said()[1] == f"-m scope run --resume {folder / 'run'}"


def test_a_pbs_job_has_the_hosts_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("a\na\nb\nc\n")
    end = {scheduler.END: "1800000000"}
    granted = pbs.SCHEDULER.allocation({"PBS_NODEFILE": str(tmp_path / "nodes"), "PBS_JOBID": "7.head", **end})
    assert granted is not None
    assert granted.slots == {"a": 2, "b": None, "c": None}
    assert (granted.title, granted.job, granted.end_unix_s) == ("PBS", "7.head", 1.8e9)
    assert pbs.SCHEDULER.allocation({}) is None


def test_an_lsf_job_has_the_hosts_of_its_file_or_variable(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("b\nb\na\na\n")
    pairs = {"LSB_JOBID": "8", "LSB_MCPU_HOSTS": "a 2 b 1"}
    granted = lsf.SCHEDULER.allocation(pairs)
    assert granted is not None
    assert (granted.slots, granted.end_unix_s) == ({"a": 2, "b": None}, None)
    granted = lsf.SCHEDULER.allocation({**pairs, "LSB_DJOB_HOSTFILE": str(tmp_path / "hosts")})
    assert granted is not None
    assert list(granted.slots.items()) == [("b", 2), ("a", 2)]
    assert lsf.SCHEDULER.allocation({"LSB_MCPU_HOSTS": "a 2"}) is None


def test_a_grid_engine_job_has_the_hosts_of_its_file(tmp_path: Path) -> None:
    job = {"SGE_JOB_SPOOL_DIR": "/spool/9.1", "JOB_ID": "9", "HOSTNAME": "a"}
    alone = gridengine.SCHEDULER.allocation(job)
    assert alone is not None
    assert (alone.job, alone.slots) == ("9", {"a": None})
    (tmp_path / "hosts").write_text(
        "b 2 all.q@b UNDEFINED\na 1 all.q@a UNDEFINED\na 1 long.q@a UNDEFINED\nc 1 q UNDEFINED\n"
    )
    granted = gridengine.SCHEDULER.allocation({**job, "PE_HOSTFILE": str(tmp_path / "hosts")})
    assert granted is not None
    assert list(granted.slots.items()) == [("b", 2), ("a", 2), ("c", None)]
    assert gridengine.SCHEDULER.allocation({"JOB_ID": "9"}) is None


def test_a_grid_engine_job_is_seen_waiting_running_and_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = 'error reason    1:      11/24/2026 00:45:12 [0:18889]: error: can\'t open output file "/x"'

    def state(letters: str, **says: str) -> scheduler.JobState:
        line = f"     25 0.50000 scope-a    me   {letters}  11/24/2026 00:47:31 all.q@a   1"
        table = f"job-ID  prior   name       user  state\n-----\n      2 0.5 x me r\n{line}\n{why}"
        play(tmp_path, monkeypatch, **{"qstat": table, "qacct": "!error: job id 25 not found", **says})
        return gridengine.SCHEDULER.state_of("25")

    for letters, pending in {"qw": True, "Rq": True, "r": False, "Rr": False, "t": False, "dr": False}.items():
        seen = state(letters)
        assert (seen.pending, seen.ended, seen.stuck) == (pending, False, False), letters
    held = state("hqw")
    assert (held.stuck, held.reason) == (True, "held")
    fault = state("Eqw")
    assert (fault.stuck, fault.reason) == (True, 'can\'t open output file "/x"')
    gone = state("r", qstat="job-ID  prior")
    assert (gone.ended, gone.exit_code) == (True, None)
    accounts = "exit_status  0\n=====\nexit_status  124"
    assert state("r", qstat="job-ID  prior", qacct=accounts).exit_code == 124
    with pytest.raises(ScopeError, match=r"^qstat: commlib error: got select error$"):
        state("r", qstat="!error: commlib error: got select error")


def test_a_refusal_of_grid_engine_names_the_key_it_speaks_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(request: Request, said: str = "", rule: str = "4") -> str:
        play(tmp_path, monkeypatch, qconf=f"pe_name mpi\nallocation_rule    {rule}", qsub=f"!{said}\nExiting.")
        with pytest.raises(UsageError) as error:
            gridengine.SCHEDULER.submit(tmp_path / "script", request)
        return str(error.value)

    project = 'Unable to run job: job rejected: the requested project "physics" does not exist.'
    assert refused(FULL, project) == (
        'launcher.account = physics: qsub: the requested project "physics" does not exist'
    )
    assert refused(FULL, 'Unable to run job: unknown resource "exclusive".') == (
        'launcher.exclusive = true: qsub: unknown resource "exclusive"'
    )
    assert refused(FULL, "Unable to run job: error: no suitable queues.") == "qsub: no suitable queues"
    assert refused(FULL, rule="$fill_up") == (
        "launcher.parallel_environment = mpi: its allocation rule is $fill_up; must be 4, the ranks per host"
        " (--ranks-per-host)"
    )
    assert "must not make a job array" in refused(replace(FULL, arguments=("-t 1-3",)))


def test_mpiexec_takes_the_hosts_of_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nodes").write_text("a\na\nb\nb\n")
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    monkeypatch.setenv("PBS_JOBID", "7")

    def hosts(**asked: object) -> tuple[HostSlots, ...]:
        return site_of(MPI, asking.LauncherSettings.model_validate(asked), "x").hosts

    assert hosts() == (HostSlots("a", 2), HostSlots("b", 2))
    assert hosts(hosts=["b", "a:1"]) == (HostSlots("b", 2), HostSlots("a", 1))
    with pytest.raises(UsageError, match=r"launcher\.hosts = c: is no host of job 7; must be one of a, b"):
        hosts(hosts=["a", "c"])
    monkeypatch.setenv(scheduler.END, str(int(time.time()) + 100))
    deadline = schedulers.deadline(40)
    assert deadline is not None
    assert 55 < deadline.unix_s - time.time() < 61
    assert "stopped 40 s (launcher.time_margin_s) before the end of PBS job 7" in deadline.reason


def test_a_dry_submission_writes_the_script_and_submits_nothing(tmp_path: Path) -> None:
    words = ["--case", "node.timer", "--nodelist", "a[1-2],b", "--time-limit", "600", "-o", "run"]
    answer = scope(tmp_path, "run", "--submit", "--dry-run", "--scheduler", "lsf", *words)
    assert answer.code == 0, answer
    script = tmp_path / "run" / "job" / "script.sh"
    assert answer.output == script.read_text()
    assert f"nothing was submitted; to submit it yourself: bsub < {script}" in answer.errors
    assert '#BSUB -n 3\n#BSUB -R "span[ptile=1]"\n#BSUB -m "a1 a2 b"\n#BSUB -x\n#BSUB -W 10\n' in answer.output
    experiment = batch_job.experiment_of(RunDirectory(tmp_path / "run"), {"launcher.partition": "long"})
    assert experiment.case[0].benchmark == "node.timer"
    assert (experiment.launcher.nodelist, experiment.launcher.partition) == (["a[1-2],b"], "long")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--dry-run"], "--dry-run: must be given with --submit"),
        (["--submit", "--partition", "a b"], '--partition = "a b": '),
        (["--submit", "--nodes", "0"], "--nodes = 0: "),
        (["--submit", "--time-limit", "5"], "--time-limit = 5"),
        (["--submit", "--nodelist", "a;b"], "--nodelist = "),
        (["--submit", "--scheduler", "slrm"], "did you mean slurm?"),
    ],
)
def test_wrong_wishes_are_one_line_and_leave_nothing(words: list[str], said: str, tmp_path: Path) -> None:
    answer = scope(tmp_path, "run", *words, "-o", "run")
    assert said in answer.refusal()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("system", ["slurm", "pbs", "lsf"])
def test_a_path_is_one_word_of_one_line(system: str) -> None:
    chosen = schedulers.all_schedulers()[system]
    odd = replace(FULL, output=Path("/runs of/mine/$(id);x/output.txt"))
    assert any(line.endswith("'/runs of/mine/$(id);x/output.txt'") for line in chosen.directives(odd))
    broken = replace(FULL, output=Path("/runs/x\n#SBATCH --wrap=id\n/output.txt"))
    with pytest.raises(UsageError, match=r"directive .*must have no line breaks"):
        schedulers.script(chosen, broken, Path("/runs/x"), ["run"])


def test_slurm_does_not_expand_a_percent_sign_of_the_path() -> None:
    directives = slurm.SCHEDULER.directives(replace(FULL, output=Path("/runs/100%j/output.txt")))
    assert "#SBATCH --output=/runs/100%%j/output.txt" in directives


def test_a_folder_with_a_line_break_is_refused(tmp_path: Path) -> None:
    answer = scope(
        tmp_path, "run", "--submit", "--dry-run", "--case", "node.timer", "-o", "run\n#SBATCH --wrap=id"
    )
    assert "--output 'run\\n#SBATCH --wrap=id': must have no line breaks or control characters" in answer.refusal()
    assert list(tmp_path.iterdir()) == []
    odd = tmp_path / "a\nb"
    odd.mkdir()
    answer = scope(odd, "run", "--submit", "--dry-run", "--case", "node.timer", "-o", "run")
    assert "must have no line breaks or control characters" in answer.refusal()
