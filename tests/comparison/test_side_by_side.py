"""Any number of runs beside a baseline: verdicts of known truth, false alarms of all runs together, the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcscope.comparison.compare import LEVEL, compare, read_side
from hpcscope.comparison.letters import letter
from hpcscope.comparison.side_by_side import SideBySide, compared, rows
from hpcscope.comparison.side_by_side_table import table
from hpcscope.models.published.machines import named
from hpcscope.report.comparison.run_curves import curves
from hpcscope.report.comparison.side_by_side import render
from hpcscope.report.run.figures.grouping import MOST_SERIES
from hpcscope.report.terminal.console import console
from tests import golden_run
from tests.cli.scope_command import answered
from tests.comparison.runs import drawn, summary, write
from tests.messages import mentions

SIZES = 12


def run(path: Path, steps: dict[int, float] | None = None, seed: int = 1, machine: Any = None) -> Path:
    """Write a run of a latency at twelve sizes with eight launches; size i is slower by the share `steps[i]`."""
    medians = drawn(np.random.default_rng(seed), SIZES, 8, 0.002, steps or {})
    return write(path, [summary(1 << size, row) for size, row in enumerate(medians)], machine)


def three(tmp_path: Path) -> list[Path]:
    """The second run has one slow size, the third one fast size."""
    given: list[dict[int, float]] = [{}, {3: 0.2}, {5: -0.2}]
    return [run(tmp_path / name, steps, seed) for seed, (name, steps) in enumerate(zip("abc", given, strict=True))]


def beside(paths: list[Path], baseline: int = 0, across_machines: bool = False) -> SideBySide:
    return compared([read_side(path) for path in paths], baseline, 0.02, LEVEL, across_machines)


def test_every_run_has_its_verdicts_against_the_baseline(tmp_path: Path) -> None:
    found = beside(three(tmp_path))
    verdicts = {
        (row.case.parameters["message_bytes"], number): one.verdict
        for row in rows(found)
        for number, one in enumerate(row.runs)
        if one is not None and one.verdict != "no difference"
    }
    assert verdicts == {(8, 1): "worse", (32, 2): "better"}
    assert [one.parameters["message_bytes"] for one in found.regressions(0.05)] == [8]
    # Worst first, and the baseline has a figure but no verdict.
    first = rows(found)[0]
    assert first.case.parameters["message_bytes"] == 8
    assert first.runs[0] is None
    assert first.baseline == pytest.approx(10e-6, rel=0.01)


def test_another_baseline_turns_the_verdicts(tmp_path: Path) -> None:
    found = beside(three(tmp_path), baseline=1)
    assert found.against_baseline[1] is None
    assert {
        (row.case.parameters["message_bytes"], number): one.verdict
        for row in rows(found)
        for number, one in enumerate(row.runs)
        if one is not None and row.case.parameters["message_bytes"] == 8
    } == {(8, 0): "better", (8, 2): "better"}


def test_the_false_alarms_are_those_of_all_runs_together(tmp_path: Path) -> None:
    paths = three(tmp_path)
    assert [one.level for one in beside(paths).comparisons] == [LEVEL / 2, LEVEL / 2]
    assert compare(*paths[:2]).level == LEVEL


def test_a_case_that_the_baseline_lacks_is_shown_and_has_no_verdict(tmp_path: Path) -> None:
    paths = three(tmp_path)
    medians = [1e-6] * 8
    paths.append(write(tmp_path / "d", [summary(1 << 20, medians)]))
    row = next(row for row in rows(beside(paths)) if row.case.parameters["message_bytes"] == 1 << 20)
    assert row.baseline is None
    assert row.runs[3] is not None
    assert (row.runs[3].b_median, row.runs[3].verdict) == (pytest.approx(1e-6), "incomparable")


def test_runs_of_other_machines_have_no_verdict_unless_asked(tmp_path: Path) -> None:
    paths = three(tmp_path)
    other = golden_run.machine()
    other["hosts"][0]["processor"]["model"] = "Other Processor"
    paths[1] = run(tmp_path / "other", {3: 0.2}, seed=1, machine=other)
    found = beside(paths)
    assert found.comparisons[0].counts["incomparable"] == SIZES
    assert found.comparisons[1].counts["better"] == 1
    assert beside(paths, across_machines=True).comparisons[0].counts["worse"] == 1


def test_curves_have_a_line_for_each_run_and_the_farthest_where_there_are_many(tmp_path: Path) -> None:
    paths = three(tmp_path)
    (figure,) = curves(beside(paths), [read_side(path) for path in paths])
    assert [trace["name"] for trace in figure.traces if trace["meta"]["role"] == "points"] == [
        f"{letter(number)} {path}" for number, path in enumerate(paths)
    ]
    assert len(figure.table.rows) == SIZES
    everywhere = dict.fromkeys(range(SIZES), 0.0)
    for number in range(3, MOST_SERIES + 4):
        paths.append(run(tmp_path / str(number), dict.fromkeys(everywhere, 0.1 * number), seed=number))
    (figure,) = curves(beside(paths), [read_side(path) for path in paths])
    names = [trace["name"].split()[0] for trace in figure.traces if trace["meta"]["role"] == "points"]
    assert names == ["A", *(letter(number) for number in range(len(paths) - MOST_SERIES + 1, len(paths)))]
    assert len(figure.table.columns) == 1 + len(paths)


def test_a_historic_machine_has_a_line_beside_a_run_and_no_verdict(tmp_path: Path) -> None:
    given = {"benchmark": "mpi.broadcast", "metric": "time_s", "definition": "global", "ranks": 2}
    sizes = (4, 1024, 65536, 262144)
    ours = write(
        tmp_path / "ours",
        [
            summary(0, [1e-6] * 8, **given, parameters={"message_bytes": size, "call": "blocking"})
            for size in sizes
        ],
    )
    sides = [read_side(ours)]
    historic = [named("sp2")]
    found = compared(sides, 0, 0.02, LEVEL, False, historic)
    assert found.comparisons == []
    assert [(one.value, one.baseline, one.source) for one in found.published] == [
        (52e-6, 1e-6, "Melas 2000, table 7.5"),
        (3445e-6, 1e-6, "Melas 2000, table 7.5"),
    ]
    (figure,) = curves(found, sides, historic)
    assert figure.origins == ["measured", "published"]
    line = next(one for one in figure.traces if one["meta"] == {"slot": 1, "role": "points"})
    assert line["name"] == "B IBM SP2, published"
    assert [y for y in line["y"] if y is not None] == [52e-6, 59e-6, 150e-6, 3445e-6]
    assert "Historic machines" in render(found, sides, historic=historic)
    told = answered(tmp_path, "compare", str(ours), "--published", "sp2")
    assert (told.code, "52.0 µs" in told.output) == (0, True)
    assert mentions(answered(tmp_path, "compare", str(ours), "--published", "cray").refusal(), "cray: ... sp2")


def test_letters_go_on_after_z() -> None:
    assert [letter(number) for number in (0, 25, 26, 52, 702)] == ["A", "Z", "AA", "BA", "AAA"]


def test_runs_that_do_not_fit_the_terminal_are_said(tmp_path: Path) -> None:
    screen = console()
    with screen.capture() as shown:
        screen.print(table(beside(three(tmp_path)), width=80))
    assert re.findall(r"\b1 runs?\b", shown.get()) == ["1 run"]


def test_the_command_prints_a_table_json_and_the_page(tmp_path: Path) -> None:
    paths = [str(path) for path in three(tmp_path)]
    told = answered(tmp_path, "compare", *paths, "--html", "page.html", "--fail-on-regression", "5%")
    assert told.code == 1
    assert re.search(r"B +\S*/b +1 +– +– +11", told.output), told.output
    page = (tmp_path / "page.html").read_text()
    assert "3 runs" in page
    assert '<h2 id="curves">' in page
    found = json.loads(answered(tmp_path, "compare", *paths, "--baseline", paths[2], "--json").output)
    assert (found["baseline"], found["runs"]) == (2, paths)
    assert answered(tmp_path, "compare", *paths, "--efficiency").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--measure"], "3 runs ... --measure, --confirm ... --normalized"),
        (["--baseline", "nosuch"], "--baseline nosuch: ... : "),
        (["--time", "5"], "--time: ... --measure ... --confirm"),
    ],
)
def test_what_takes_two_runs_is_refused(words: list[str], said: str, tmp_path: Path) -> None:
    assert mentions(answered(tmp_path, "compare", *map(str, three(tmp_path)), *words).refusal(), said)


def test_hostile_names_stay_text_on_the_page(tmp_path: Path) -> None:
    sides = [read_side(path) for path in three(tmp_path)]
    hostile = beside(three(tmp_path)).model_copy(update={"runs": ["<script>alert(1)</script>", "b", "c"]})
    assert "<script>alert" not in render(hostile, sides)
