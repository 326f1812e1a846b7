"""The lines of a job script by which each batch system is asked; no batch system is needed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hpcscope.errors import UsageError
from hpcscope.launch import scheduler, schedulers
from hpcscope.launch.jobs import batch_job
from hpcscope.launch.scheduler import Request
from hpcscope.launch.schedulers import gridengine, lsf, pbs, slurm
from hpcscope.rundirectory import RunDirectory
from hpcscope.settings.experiment import Experiment, LauncherSettings
from tests.launch import directives
from tests.launch.batch_requests import FULL, REQUESTS


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
        "#PBS -l select=2:ncpus=4:mpiprocs=4:ompthreads=1",
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
    with pytest.raises(UsageError, match=r"launcher\.parallel_environment \(--parallel-environment\): "):
        gridengine.SCHEDULER.directives(replace(FULL, parallel_environment=None))


@pytest.mark.parametrize("own", [",", ":", "$", "#", '"', "'"])
def test_grid_engine_would_not_take_every_path_literally(own: str) -> None:
    with pytest.raises(UsageError, match=rf"/runs/a{re.escape(own)}b/output\.txt: .* {re.escape(own)}"):
        gridengine.SCHEDULER.directives(replace(FULL, output=Path(f"/runs/a{own}b/output.txt")))


def test_every_pbs_script_is_as_documented_and_asks_for_what_is_wanted() -> None:
    for one in REQUESTS:
        asked = directives.pbs(pbs.SCHEDULER.directives(one))
        each = one.ranks_per_node or 1
        sizes = f"ncpus={each}" + (f":mpiprocs={each}:ompthreads=1" if one.ranks_per_node else "")
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
    with pytest.raises(UsageError, match=r"/x%J/o: .*%J"):
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
    experiment = Experiment(launcher=LauncherSettings(scheduler="pbs"))
    folder = tmp_path / ("größe" + "n" * 200)
    _, request = batch_job.prepare(RunDirectory(folder), experiment)
    assert directives.pbs(pbs.SCHEDULER.directives(request))["N"].startswith("scope-gr__en")


def test_an_array_of_jobs_is_no_run() -> None:
    with pytest.raises(UsageError, match=r"scheduler_arguments = --array=1-3: "):
        slurm.SCHEDULER.submit(Path("/x"), replace(FULL, arguments=("--array=1-3",)))


def test_named_nodes() -> None:
    named = Request("x", Path("/"), Path("/o"), nodes=2, nodelist=("a", "b"), exclusive=False)
    assert slurm.SCHEDULER.directives(named)[3:] == ["#SBATCH --nodes=2", "#SBATCH --nodelist=a,b"]
    assert "#PBS -l select=1:ncpus=1:host=a+1:ncpus=1:host=b" in pbs.SCHEDULER.directives(named)
    assert "#PBS -l place=scatter" in pbs.SCHEDULER.directives(named)
    assert '#BSUB -m "a b"' in lsf.SCHEDULER.directives(named)
    assert "#BSUB -n 2" in lsf.SCHEDULER.directives(named)


@pytest.mark.parametrize("system", ["slurm", "pbs", "lsf"])
def test_a_path_is_one_word_of_one_line(system: str) -> None:
    chosen = schedulers.all_schedulers()[system]
    odd = replace(FULL, output=Path("/runs of/mine/$(id);x/output.txt"))
    assert any(line.endswith("'/runs of/mine/$(id);x/output.txt'") for line in chosen.directives(odd))
    broken = replace(FULL, output=Path("/runs/x\n#SBATCH --wrap=id\n/output.txt"))
    with pytest.raises(UsageError, match=r"directive .*/runs/x"):
        schedulers.script(chosen, broken, Path("/runs/x"), ["run"])


def test_slurm_does_not_expand_a_percent_sign_of_the_path() -> None:
    directives = slurm.SCHEDULER.directives(replace(FULL, output=Path("/runs/100%j/output.txt")))
    assert "#SBATCH --output=/runs/100%%j/output.txt" in directives
