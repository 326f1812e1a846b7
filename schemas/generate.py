"""Writes the JSON Schema of every file that crosses a stage, from the types that read and write it.

`python schemas/generate.py` rewrites the files beside this one; a test compares them with the types.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from hpcscope.catalog.benchmark import Benchmark
from hpcscope.comparison.kernels import KernelTuning
from hpcscope.findings.finding import Findings
from hpcscope.health.records import HealthFile
from hpcscope.machine.machine import Machine
from hpcscope.models.models import Models
from hpcscope.models.published.overview import Overview
from hpcscope.programs.campaign.analysis import Analysis
from hpcscope.programs.campaign.folder import Head
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.profiles.machine_comparison import MachineComparison
from hpcscope.programs.profiles.monitored_run import Monitored
from hpcscope.programs.profiles.records import Merged
from hpcscope.rundirectory import RunFile
from hpcscope.samples.records import Record
from hpcscope.simulation.record import Simulation
from hpcscope.statistics.summary import Summaries
from hpcscope.tune.record import Tuning
from hpcscope.tune.storage.record import StorageTuning

FILES: dict[str, tuple[Any, str]] = {
    "run": (RunFile, "run.json: what was asked for, when, and how it ended"),
    "machine": (Machine, "machine.json: hosts, MPI, build"),
    "benchmarks": (list[Benchmark], "benchmarks.json: the declarations of the benchmarks"),
    "samples": (Record, "samples.jsonl: one line; all times in seconds"),
    "statistics": (Summaries, "statistics.json: the figures of each metric of each case"),
    "models": (Models, "models.json: fits and ladders"),
    "findings": (Findings, "findings.json: the findings, worst first"),
    "simulation": (
        Simulation,
        "simulation.json: what was simulated, and its error where it was measured; seconds",
    ),
    "monitor": (Monitored, "monitor.json: a command that ran under the monitor, and how it ended"),
    "profile": (Merged, "profile.json: the profiles of a monitored program, merged; seconds and bytes"),
    "campaign": (Head, "campaign.json: what a campaign, placement study or soak was asked for, and its status"),
    "campaign-run": (RunRecord, "runs.jsonl of a campaign: one line; seconds and bytes"),
    "analysis": (Analysis, "analysis.json: the joint analysis of the runs of a campaign; seconds and bytes"),
    "tune": (Tuning, "tune.json: settings of LINPACK predicted, measured and chosen; seconds and flop/s"),
    "tune-blas": (KernelTuning, "tune-blas.json: kernels of the BLAS beside those in use"),
    "tune-storage": (StorageTuning, "tune-storage.json: ways to access files predicted and measured; B/s"),
    "reproductions": (Overview, "reproductions.json: published experiments repeated, and what of them holds"),
    "health": (HealthFile, "health.json: every visit of `scope health` to every host; units by check, seconds"),
    "machine-comparison": (MachineComparison, "machine-comparison.json: a monitored program beside the machine"),
}


def schema(name: str) -> dict[str, Any]:
    """Return the schema of one kind of file."""
    kind, title = FILES[name]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return head | {k: v for k, v in TypeAdapter(kind).json_schema().items() if k != "title"}


def text(name: str) -> str:
    """Return the contents of `NAME.schema.json`."""
    return json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for each in FILES:
        (Path(__file__).parent / f"{each}.schema.json").write_text(text(each), encoding="utf-8")
