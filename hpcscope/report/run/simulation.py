"""The section on the simulation in the report of a simulated run: its error if known, then the new results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hpcscope.findings.results import Run
from hpcscope.report.figure import Figure, Plot, Table, log_axis, scatter
from hpcscope.report.run import simulation_tables as tables
from hpcscope.report.run.figures.predictions import equal
from hpcscope.report.run.simulation_tables import New
from hpcscope.simulation.gains import gains
from hpcscope.simulation.record import Beside, Simulation, times


@dataclass(frozen=True)
class SimulationSection:
    """What the report says about a simulation."""

    record: Simulation
    figures: list[Figure]
    new: New | None
    gains: Table
    """Gain of each benchmark from a change; without rows if nothing was changed."""


def section(run: Run) -> SimulationSection | None:
    """Return the section; None if the run was not simulated."""
    record = run.simulation
    if record is None:
        return None
    summaries = times(run.statistics, run.benchmarks)
    unchanged = times(run.unchanged, run.benchmarks)
    return SimulationSection(
        record,
        figures=list(_figures(record)),
        new=tables.new(record, summaries, unchanged),
        gains=tables.gains(record, gains(summaries, unchanged, run.benchmarks, record.only_larger)),
    )


def _figures(record: Simulation) -> Iterator[Figure]:
    """Yield simulated against measured times, with the times that closed formulas give for the same cases."""
    if not record.validation:
        return
    proofs = [row for row in record.validation if row.benchmark not in record.inputs]
    inputs = [row for row in record.validation if row.benchmark in record.inputs]
    series = [
        ("simulated", [(row, row.simulated) for row in proofs]),
        ("simulated, input of the platform", [(row, row.simulated) for row in inputs]),
        ("by formula", _by_formula(record.validation, fitted=False)),
        ("by formula, fitted to the case", _by_formula(record.validation, fitted=True)),
    ]
    ends = [value for _, found in series for row, time in found for value in (row.measured.value, time)]
    formulas = f" {tables.FORMULAS}" if tables.has_formulas(record) else ""
    yield Figure(
        key="simulation-validation",
        title="Simulated and measured time",
        caption=f"Cases that were simulated and measured. On the dashed line, both times agree.{formulas}",
        traces=[
            equal(ends, "both equal"),
            *(_trace(name, found, slot) for slot, (name, found) in enumerate(series) if found),
        ],
        layout={
            "xaxis": log_axis("measured", ends, "s"),
            "yaxis": log_axis("simulated, or by formula" if formulas else "simulated", ends, "s"),
        },
        table=tables.cases(record),
        origins=["simulated", *sorted({row.origin for row in record.validation})],
        wide=True,
    )


def _by_formula(validation: Sequence[Beside], fitted: bool) -> list[tuple[Beside, float]]:
    return [(row, row.formula.value) for row in validation if row.formula and row.formula.fitted == fitted]


def _trace(name: str, found: Sequence[tuple[Beside, float]], slot: int) -> Plot:
    return scatter(
        [row.measured.value for row, _ in found],
        [time for _, time in found],
        name,
        slot=slot,
        text=[row.label for row, _ in found],
    )
