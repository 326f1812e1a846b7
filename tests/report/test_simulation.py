"""The section of a simulated run on its page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hpcscope.findings.results import Run
from hpcscope.report.run import page
from hpcscope.report.run.simulation_tables import gains, new, offers
from hpcscope.rundirectory import FORMAT, RunDirectory, write_json
from hpcscope.simulation.gains import gains as gained
from hpcscope.simulation.record import ByFormula, OfferGain, ProgramTime, Simulation, beside, times
from hpcscope.statistics.summary import Summary
from tests.messages import mentions


def slower(one: Summary) -> Summary:
    assert one.median
    return one.model_copy(update={"median": 1.5 * one.median})


@pytest.fixture(scope="module")
def simulated(golden_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulated") / "run"
    shutil.copytree(golden_run, folder)
    known = Run(golden_run)
    found = [one for one in times(known.statistics, known.benchmarks) if one.benchmark == "mpi.barrier"]
    barriers = sorted(found, key=lambda one: one.ranks)
    validation = beside(
        [slower(one) for one in barriers[:-1]],
        barriers[:-1],
        known.benchmarks,
        lambda one: ByFormula(model="logarithmic_collective", value=2 * (one.median or 0.0), fitted=False),
    )
    record = Simulation(
        **{"format": FORMAT, "of": "measured", "simulator": "SimGrid 3.32", "collectives": "openmpi"},
        **{"changes": [], "inputs": [], "notes": ["a <note> of it"], "validation": validation},
        formulas={barriers[-1].label: ByFormula(model="logarithmic_collective", value=1.0, fitted=False)},
        programs=[ProgramTime(command=["./solver", "1000"], ranks=64, time_s=0.25)],
    )
    write_json(RunDirectory(folder).simulation, record)
    return folder


def test_the_page_says_what_was_simulated_and_how_wrong_it_is(simulated: Path) -> None:
    text = page.render(Run(simulated))
    assert '<section id="simulation">' in text
    assert "SimGrid 3.32" in text
    assert "openmpi" in text, "whose algorithms of collectives were taken"
    assert "Median error 33 %" in text
    assert "formulas: median error 33 %" in text
    assert "<li>a &lt;note&gt; of it</li>" in text
    assert "<td>mpi.barrier</td>" in text
    known = Run(simulated)
    assert known.simulation is not None
    beyond = [known.simulation.beyond(one) for one in times(known.statistics, known.benchmarks)]
    assert any(reason and reason in text for reason in beyond)
    assert "<td>./solver 1000</td><td>64</td><td>250 ms</td>" in text
    assert '"simulation-validation"' in text


def test_a_measured_run_has_no_such_section(golden_run: Path) -> None:
    assert page.simulation.section(Run(golden_run)) is None


def test_changed_figures_stand_beside_unchanged_ones_and_have_a_cost(simulated: Path) -> None:
    known = Run(simulated)
    assert known.simulation is not None
    record = known.simulation.model_copy(update={"changes": ["--hosts 64"], "cost": 100.0})
    one = next(each for each in times(known.statistics, known.benchmarks) if each.benchmark == "mpi.barrier")
    found = new(record, [one], [slower(one)])
    assert found is not None
    cells = dict(zip(found.table.columns, found.table.rows[0], strict=True))
    assert (cells["change"], cells["cost per percent"], cells["beyond"]) == ("-33.3 %", "2.00", "a")
    (reason,) = found.reasons
    assert mentions(reason, f"a ... {record.beyond(one)}")


def test_what_a_change_gains_each_benchmark_and_what_it_costs(simulated: Path) -> None:
    known = Run(simulated)
    assert known.simulation is not None
    record = known.simulation.model_copy(update={"cost": 100.0})
    found = times(known.statistics, known.benchmarks)
    some = [one for one in found if one.benchmark in ("mpi.barrier", "mpi.broadcast")]
    before = [slower(one) if one.benchmark == "mpi.barrier" else one for one in some]
    table = gains(record, gained(some, before, known.benchmarks))
    cells = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert (cells["mpi.barrier"]["median gain"], cells["mpi.barrier"]["cost per percent"]) == ("+50.0 %", "2.00")
    assert (cells["mpi.broadcast"]["median gain"], cells["mpi.broadcast"]["cost per percent"]) == (
        "+0.0 %",
        "no gain",
    )
    assert int(cells["all"]["cases"]) == len(some)
    assert not gains(record, gained(some, [], known.benchmarks)).rows


def test_the_offer_whose_percent_costs_least_comes_first(simulated: Path) -> None:
    known = Run(simulated)
    assert known.simulation is not None
    record = known.simulation.model_copy(
        update={
            "offers": [
                offer("dear", cost=100.0, median=0.1),
                offer("useless", cost=1.0, median=-0.1),
                offer("unknown", cost=1.0, median=None),
                offer("cheap", cost=50.0, median=0.1),
            ]
        }
    )
    rows = offers(record).rows
    assert [(row[0], row[-1]) for row in rows] == [
        ("cheap", "5.00"),
        ("dear", "10.0"),
        ("useless", "no gain"),
        ("unknown", "no gain"),
    ]
    write_json(RunDirectory(simulated).simulation, record)
    text = page.render(Run(simulated))
    assert "<td>cheap</td>" in text
    assert text.index("<td>cheap</td>") < text.index("<td>dear</td>")


def offer(name: str, cost: float, median: float | None) -> OfferGain:
    return OfferGain(
        name=name, changes=["--hosts 9"], cost=cost, figures=3, median=median, least=median, most=median
    )
