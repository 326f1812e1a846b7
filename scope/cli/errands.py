"""`scope run --each-host` and `--pairs`: the same small run on every host or pair, a job each, and one table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from scope.cli.analyze import analyze
from scope.cli.submission import terminating_as_interrupt
from scope.errors import ScopeError, UsageError
from scope.launch import job
from scope.launch.errands import Errand, Errands, Manners, pairs
from scope.launch.job import JobFiles
from scope.launch.scheduler import hostnames
from scope.launch.schedulers.slurm import SCHEDULER, Sight
from scope.launch.supervisor import InterruptedRunError
from scope.plan.experiment import Experiment
from scope.report.run.gathered import Row, gather, table
from scope.report.terminal.console import console
from scope.rundirectory import FORMAT, RunDirectory, read_json, write_json, write_text
from scope.statistics.summary import Summaries

EACH_HOST, PAIRS = "each-host", "pairs"
CASES: dict[str, dict[str, Any]] = {
    EACH_HOST: {"only": ["node.*"]},
    PAIRS: {
        "case": [
            {"benchmark": "mpi.latency", "message_bytes": 0, "placement": "node"},
            {"benchmark": "mpi.bandwidth", "message_bytes": "1Mi", "placement": "node"},
        ]
    },
}
"""What is run where nothing else is asked for."""
TABLE = "gathered.json"


def run(kind: str, experiment: Experiment, folder: Path, options: list[str], manners: Manners) -> bool:
    """Run an experiment in a job for each host or pair; return whether every job that ran is well.

    Every job is a run directory of its own in `folder`, beside `gathered.json` with all figures and what became of
    each. Raises ScopeError when no host was ever free.
    """
    hosts = _hosts(kind, experiment)
    groups = list(pairs(hosts)) if kind == PAIRS else [(host,) for host in hosts]
    to_do = [Errand(name := "--".join(group), group, RunDirectory(folder / name)) for group in groups]
    _say(f"{len(to_do)} jobs on {len(hosts)} hosts, at most {manners.at_once} at a time, in {folder}")

    def submit(errand: Errand) -> str:
        asked = experiment.launcher.model_copy(
            update={"nodes": len(errand.hosts), "nodelist": list(errand.hosts), "hosts": [], "hostfile": None}
        )
        small = experiment.model_copy(update={"launcher": asked, "name": errand.name})
        _, request = job.prepare(errand.run, small, options, manners.nice)
        number = SCHEDULER.submit(JobFiles(errand.run).script, request)
        write_text(JobFiles(errand.run).number, f"{number}\n")
        return number

    errands = Errands(SCHEDULER, experiment.launcher.partition, list(to_do), manners, submit, _say)
    try:
        with terminating_as_interrupt():
            errands.run()
    except KeyboardInterrupt:
        _say(f"every run that was begun goes on with: scope run --resume {folder}/NAME --submit")
        raise InterruptedRunError("interrupted; its jobs were cancelled") from None
    finally:
        fates = {errand: _fate(errand, number, sight) for errand, (number, sight) in errands.ended.items()}
        rows = _gather([errand for errand in to_do if fates.get(errand) == ""])
        _write(folder, kind, to_do, errands, fates, rows)
    if rows:
        console().print(table(rows))
    for errand, fate in fates.items():
        if fate:
            _say(f"{errand.name}: {fate}")
    for errand in errands.to_do:
        _say(f"{errand.name}: never free: {errands.why_not(errand)}")
    if not fates:
        raise ScopeError(f"--{kind}: no host was free")
    return not any(fates.values())


def _hosts(kind: str, experiment: Experiment) -> list[str]:
    """Return the hosts asked for, else those of the partition."""
    asked = experiment.launcher
    named = asked.nodelist or [host.partition(":")[0] for host in asked.hosts]
    names = [host for text in named for host in hostnames(text)]
    if not names:
        names = [node.name for node in SCHEDULER.nodes(asked.partition)]
        if not names:
            raise UsageError(f"launcher.partition = {asked.partition or 'default'}: has no nodes, or is not there")
    if kind == PAIRS and len(names) < 2:
        raise UsageError(f"--pairs: needs at least two hosts; there is {', '.join(names)}")
    return list(dict.fromkeys(names))


def _fate(errand: Errand, number: str, sight: Sight) -> str:
    """Return what went wrong with a job; empty when nothing."""
    try:
        return "" if job.outcome(errand.run, number, sight) else "a case failed"
    except ScopeError as problem:
        return str(problem)


def _gather(well: list[Errand]) -> list[Row]:
    runs = {}
    for errand in well:
        if not errand.run.statistics.exists():
            analyze(errand.run.path)
        runs[errand.name] = read_json(errand.run.statistics, Summaries).summaries
    return gather(runs)


def _write(
    folder: Path, kind: str, to_do: list[Errand], errands: Errands, fates: dict[Errand, str], rows: list[Row]
) -> None:
    waiting = set(errands.to_do)
    jobs = [
        {
            "name": errand.name,
            "hosts": list(errand.hosts),
            "run": errand.run.path.name if errand in fates else None,
            "well": fates[errand] == "" if errand in fates else None,
            "reason": fates.get(errand) if errand not in waiting else f"not begun: {errands.why_not(errand)}",
        }
        for errand in to_do
    ]
    write_json(
        folder / TABLE,
        {"format": FORMAT, "kind": kind, "jobs": jobs, "figures": [row.model_dump() for row in rows]},
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
