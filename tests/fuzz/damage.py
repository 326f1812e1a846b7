"""Run folders with a damaged file: whatever a command says of them, no figure changes without a word."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from hpcscope.checksum import with_checksum
from hpcscope.engine.analysis import analyze
from hpcscope.rundirectory import FORMAT, RunDirectory, note_checksums, write_json
from hpcscope.statistics.summarise import read_summaries
from tests import golden_run
from tests.fuzz import values
from tests.fuzz.inputs import Answer, Complaint, Input
from tests.fuzz.tables import EXAMPLES
from tests.profiles import synthetic
from tests.throughput.synthetic import write as write_throughput

KEPT = {("node.timer", 1), ("mpi.barrier", 2), ("mpi.comms2", 2), ("mpi.latency", 2)}
"""Benchmarks and ranks of a small run."""
FILES = (
    *("run.json", "machine.json", "benchmarks.json", "experiment.toml", "plan.txt", "checksums.sha256"),
    *("statistics.json", "models.json", "findings.json"),
    *("samples.jsonl",) * 3,
)
COMMANDS = (
    *(["show", "run", "--json", "--all"],) * 2,
    *(["analyze", "run"],) * 3,
    *(
        ["show", "run"],
        ["report", "run", "-o", "page.html"],
        ["compare", "run", "run"],
        ["compare", "run", "whole"],
    ),
    *(["show", "run", "--applications"], ["predict", "run", "--algorithm", "cannon", "--n", "480"]),
    *(["run", "--resume", "run"], ["show", "run", "--top500"], ["compare", "whole", "run", "--efficiency"]),
)
holders: list[tempfile.TemporaryDirectory[str]] = []
"""Of the folders that inputs are copied from."""
DAMAGE_IS_NAMED = {"damaged-lines", "cut-line", "unfinished-run"}


@cache
def kept_run() -> Path:
    """Return a small run with checksums and everything derived; made once, removed at the end."""
    folder = tempfile.TemporaryDirectory(prefix="fuzz-run-")
    holders.append(folder)
    run = RunDirectory(golden_run.write(Path(folder.name) / "run"))
    described = [
        one for one in json.loads(run.benchmarks.read_text()) if one["name"] in {name for name, _ in KEPT}
    ]
    run.benchmarks.write_text(json.dumps(described))
    records = [json.loads(line) for line in run.samples.read_text().splitlines()]
    chosen = [
        one
        for one in records
        if one["record"] != "case"
        or ((one["benchmark"], one["ranks"]) in KEPT and one["parameters"].get("mode") != "ready")
    ]
    launches = {one["launch"] for one in chosen if one["record"] == "case"}
    chosen = [one for one in chosen if one["launch"] in launches]
    _write_samples(run, chosen)
    _write_plan(run, chosen)
    note_checksums(run.path, [run.run, run.experiment, run.machine, run.benchmarks])
    analyze(run.path)
    return run.path


def _write_samples(run: RunDirectory, records: list[dict[str, Any]]) -> None:
    positions: dict[int, int] = {}
    lines = []
    for record in records:
        if record["record"] == "case":
            record["position"] = positions.get(record["launch"], 0)
            positions[record["launch"]] = record["position"] + 1
        lines.append(with_checksum(json.dumps(record).encode()))
    run.samples.write_bytes(b"".join(line + b"\n" for line in lines))


def _write_plan(run: RunDirectory, records: list[dict[str, Any]]) -> None:
    lines = []
    for record in records:
        if record["record"] == "launch":
            lines.append(
                f"launch {record['launch']} ranks={record['ranks']} transport={record['transport']} placement=core"
            )
        elif record["record"] == "case":
            words = " ".join(f"{key}={value}" for key, value in record["parameters"].items())
            lines.append(
                f"{record['benchmark']} {words} sampling.budget_s=0.1 sampling.precision=0.02".replace("  ", " ")
            )
    count = sum(one["record"] == "launch" for one in records), sum(one["record"] == "case" for one in records)
    head = f"# scope plan format=2 seed={golden_run.SEED} module=baseline launches={count[0]} cases={count[1]}"
    run.plan.write_text("\n".join([head, *lines]) + "\n")


def small_run(folder: Path) -> Path:
    """Copy the small run."""
    return Path(shutil.copytree(kept_run(), folder))


def figures(statistics: Path) -> list[tuple[Any, ...]]:
    """Return the figures of a run and what they are of."""
    summaries = json.loads(statistics.read_text())["summaries"]
    keys = ("benchmark", "parameters", "ranks", "transport", "metric", "unit", "definition", "valid", "n")
    # Lines of samples that have changed places change the order of the figures and nothing else.
    return sorted(tuple(str(one[key]) for key in (*keys, "median", "ci_low", "ci_high")) for one in summaries)


OTHER_COMMANDS = (
    *(
        ["show", "run"],
        ["show", "run", "--json"],
        ["analyze", "run"],
        ["report", "run"],
        ["report", "run", "-o", "p.html"],
    ),
    *(["compare", "run", "whole"], ["show", "run", "--all"]),
    *(["export", word, "run"] for word in ("csv", "extrap", "hatchet", "chrome", "openmetrics", "junit")),
)
FEATURES = {"wall_s": 1.0, "mpi_s": 0.3, "user_s": 0.9}


def write_profiles(folder: Path) -> Path:
    """Write a monitored run of three processes, with everything derived."""
    from hpcscope.engine import profile

    processes = synthetic.processes(3)
    for one in processes:
        one.call("MPI_Bcast", 0.5, 1000, 8192).call("MPI_Recv", 1.0, 1000, 100)
        one.partner((one.rank + 1) % 3, sent=(10, 1 << 20), receive_s=0.5)
        one.event("MPI_Send", 1.0, 1.1, partner=(one.rank + 1) % 3, direction=1)
    run = synthetic.monitored(folder, processes)
    profile.explain(run)
    return run


def write_campaign(folder: Path) -> Path:
    """Write a campaign of twelve runs, with everything derived."""
    from hpcscope.engine import campaign
    from hpcscope.programs.campaign import folder as folders
    from hpcscope.programs.campaign.record import CampaignJournal
    from hpcscope.programs.campaign.study import read as read_study
    from tests.campaign.records import study

    folder.mkdir()
    file = folder.with_name("study.toml")
    file.write_text(EXAMPLES["study.toml"])
    made = folders.CampaignFolder(folder)
    folders.begin(made, folders.head_of("campaign", read_study(file), ["scope"]))
    folders.mark(made, "finished")
    journal = CampaignJournal(made.records)
    points: list[dict[str, Any]] = [
        {"points": points, "ranks": ranks} for points in (1000, 2000) for ranks in (1, 2)
    ]
    for record in study(
        points, lambda _, random: {name: s * random.uniform(0.9, 1.1) for name, s in FEATURES.items()}
    ):
        journal.add(record)
    campaign.derive(folder)
    return folder


def write_simulated(folder: Path) -> Path:
    """Write the small run as one that was simulated, with its validation and a program of the user's own."""
    from hpcscope.simulation.record import Simulation

    run = RunDirectory(small_run(folder))
    barrier = next(one for one in read_summaries(run.path) if one.benchmark == "mpi.barrier")
    validation = {
        **{name: getattr(barrier, name) for name in ("benchmark", "label", "ranks", "metric", "unit", "origin")},
        **{"measured": {"value": barrier.median}, "simulated": barrier.median},
    }
    record = {
        **{"format": FORMAT, "of": "measured", "simulator": "SimGrid 3.32", "collectives": "openmpi"},
        **{"changes": [], "inputs": [], "notes": ["computation takes no time"], "validation": [validation]},
        "programs": [{"command": ["./ring", "3"], "ranks": 4, "time_s": 0.04}],
    }
    write_json(run.simulation, Simulation.model_validate(record))
    return run.path


WRITERS = (write_profiles, write_campaign, write_throughput, write_simulated)


@cache
def kept_other(write: Callable[[Path], Path]) -> Path:
    """Return another kind of run folder; made once, removed at the end."""
    folder = tempfile.TemporaryDirectory(prefix="fuzz-run-")
    holders.append(folder)
    return write(Path(folder.name) / "run")


def other_damaged(chance: random.Random, place: Path) -> Input:
    """Return a command on a run folder of another kind with one damaged file."""
    whole = kept_other(chance.choice(WRITERS))
    run = Path(shutil.copytree(whole, place / "run"))
    (place / "whole").symlink_to(whole)
    file = chance.choice(sorted(each for each in run.rglob("*") if each.is_file() and each.suffix != ".html"))
    file.write_bytes(values.mangled(file.read_bytes(), chance))
    words = list(chance.choice(OTHER_COMMANDS))
    if file.name == "samples.jsonl" and words == ["analyze", "run"]:
        return Input(words, judge=lambda answer: changed_figures(answer, file.name, run, whole))
    return Input(words, judge=lambda answer: changed_campaign(answer, file, run, whole))


def changed_campaign(answer: Answer, file: Path, run: Path, whole: Path) -> tuple[Complaint, str] | None:
    """Say that the records of a campaign gave other figures and nothing tells why."""
    if answer.code != 0 or file.name != "runs.jsonl" or not (run / "analysis.json").is_file():
        return None
    changed = (run / "analysis.json").read_bytes() != (whole / "analysis.json").read_bytes()
    told = {one["code"] for one in json.loads((run / "findings.json").read_text())["findings"]}
    return ("silent change", "runs.jsonl") if changed and "runs-missing" not in told else None


@cache
def right_rows() -> list[str]:
    """Return what `scope show --json --all` says of the small run."""
    from hpcscope.report.terminal.listing import rows

    return sorted(json.dumps(row, sort_keys=True) for row in rows(read_summaries(kept_run())))


def damaged(chance: random.Random, place: Path) -> Input:
    """Return a command on a run with one damaged file."""
    run = small_run(place / "run")
    (place / "whole").symlink_to(kept_run())
    name = chance.choice(FILES)
    file = run / name
    way = chance.random()
    if way < 0.9:
        file.write_bytes(values.mangled(file.read_bytes(), chance))
    else:
        content = file.read_bytes()
        file.unlink()
        if way < 0.92:
            file.mkdir()
        elif way < 0.94:
            file.symlink_to(file)
        elif way < 0.96:
            file.write_bytes(
                (kept_run() / chance.choice(FILES)).read_bytes() if name != "samples.jsonl" else content[1:]
            )
    words = list(chance.choice(COMMANDS))
    return Input(words, judge=lambda answer: silent_change(answer, words, name, run))


def silent_change(answer: Answer, words: list[str], name: str, run: Path) -> tuple[Complaint, str] | None:
    """Say that figures changed and nothing tells why."""
    if answer.code != 0:
        return None
    if words[:3] == ["show", "run", "--json"]:
        rows = sorted(json.dumps(row, sort_keys=True) for row in json.loads(answer.output))
        return None if rows == right_rows() or answer.errors else ("silent change", f"{name}: show")
    return changed_figures(answer, name, run, kept_run()) if words == ["analyze", "run"] else None


def changed_figures(answer: Answer, name: str, run: Path, whole: Path) -> tuple[Complaint, str] | None:
    """Say that `scope analyze` found other figures than in the whole run and nothing tells why."""
    if answer.code != 0:
        return None
    changed = figures(run / "statistics.json") != figures(whole / "statistics.json")
    told = {one["code"] for one in json.loads((run / "findings.json").read_text())["findings"]}
    return ("silent change", f"{name}: analyze") if changed and not told & DAMAGE_IS_NAMED else None
