"""The history of a cluster: injected changes are found where they are, with what changed there."""

from __future__ import annotations

import json
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcscope.archive import packing
from hpcscope.archive.confirmation import FEWEST_CONTROLS, explained, judged
from hpcscope.archive.entry import KeptFigure
from hpcscope.archive.history import differences, history, steadiest
from hpcscope.archive.index import FigureSeries
from hpcscope.archive.repository import Repository
from hpcscope.cli import answer
from hpcscope.errors import UsageError
from hpcscope.statistics.change_points import FALSE_ALARMS, FEWEST_RUNS, change_points
from hpcscope.statistics.summarise import read_statistics
from tests.cli.scope_command import answered
from tests.comparison.runs import course
from tests.messages import mentions

RUNS = 24
CHANGED = 15


def noisy(seed: int, number: int) -> Any:
    return np.exp(np.random.default_rng(seed).normal(0, 0.03, number))


@pytest.fixture(scope="module")
def kept(golden_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Nightly runs: with a new kernel ping-pongs take 20 % longer, and nothing else changes."""
    folder = tmp_path_factory.mktemp("nightly")
    repository = Repository(folder / "kept", make=True)
    summaries = json.loads((golden_run / "statistics.json").read_text())
    results = {one["label"]: one for one in summaries["summaries"] if one["primary"] and one["valid"]}
    latency = [one for one in results.values() if one["benchmark"] == "mpi.latency"]
    barrier = [one for one in results.values() if one["benchmark"] == "mpi.barrier"]
    record = json.loads((golden_run / "run.json").read_text())
    machine = json.loads((golden_run / "machine.json").read_text())
    for number in range(RUNS):
        run = folder / f"night{number}"
        run.mkdir()
        late = number >= CHANGED
        noise = noisy(number, 40)
        chosen = []
        for position, one in enumerate([*latency[:6], *barrier[:4]]):
            worse = 1.2 if one["better"] == "lower" else 1 / 1.2
            factor = noise[position] * (worse if late and one["benchmark"] == "mpi.latency" else 1.0)
            chosen.append({**one, "median": one["median"] * factor})
        (run / "statistics.json").write_text(json.dumps({**summaries, "summaries": chosen}))
        hosts = [{**machine["hosts"][0], "kernel": "6.1.90" if late else "6.1.0", "load": float(number)}]
        (run / "machine.json").write_text(json.dumps({**machine, "hosts": hosts}))
        started = record["started_unix_s"] + 86400 * number
        (run / "run.json").write_text(json.dumps({**record, "name": run.name, "started_unix_s": started}))
        (run / "samples.jsonl").write_text(f"{number}\n")
        repository.add([run], cluster="giza")
    return repository


def test_a_change_is_found_with_what_changed_there(kept: Repository) -> None:
    found = history(kept, None, [])
    assert (found.cluster, found.runs) == ("giza", RUNS)
    (event,) = found.events
    assert kept.named(event.after).name == f"night{CHANGED}"
    assert kept.named(event.before).name == f"night{CHANGED - 1}"
    assert {change.course.benchmark for change in event.changes} == {"mpi.latency"}
    assert len(event.changes) == 6
    assert event.differences == ["node1: kernel: 6.1.0 -> 6.1.90"]
    assert found.worst_regression() == pytest.approx(0.2, abs=0.05)
    assert found.false_alarms == pytest.approx(10 * FALSE_ALARMS)


def test_a_choice_of_benchmarks_and_runs(kept: Repository) -> None:
    assert history(kept, "giza", ["mpi.barrier"]).events == []
    assert history(kept, "giza", ["mpi.latency"], most=RUNS - CHANGED).events == []
    with pytest.raises(UsageError, match=r"\bnode\b.*\bgiza"):
        history(kept, "giza", ["node"])
    with pytest.raises(UsageError, match="memphis"):
        history(kept, "memphis", [])


def test_the_command_says_so_and_ends_with_1(kept: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--in", str(kept.folder.path)]
    assert answer(["history", "--fail-on-regression", "10%", *place]) == 1
    printed = capsys.readouterr().out
    assert "6 worse, 0 better" in printed
    assert "kernel: 6.1.0 -> 6.1.90" in printed
    assert "10 values" in printed.splitlines()[-1], "among which false alarms are to be expected"
    assert answer(["history", "mpi.barrier", "--fail-on-regression", "0", *place]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if line]
    assert len(told) == 3, "how many figures there are, that none changed, and the false alarms"
    assert answer(["history", "--most", "4", *place]) == 0
    assert f"with {FEWEST_RUNS} or more runs" in capsys.readouterr().out
    assert answer(["history", "--json", *place]) == 0
    assert json.loads(capsys.readouterr().out)["events"][0]["differences"] == ["node1: kernel: 6.1.0 -> 6.1.90"]


def autoregressive(random: np.random.Generator, nights: int, correlation: float) -> Any:
    """Return nights that scatter by 2 % and resemble the ones before."""
    values = random.normal(size=nights)
    for night in range(1, nights):
        values[night] = correlation * values[night - 1] + (1 - correlation**2) ** 0.5 * values[night]
    return np.exp(0.02 * values)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_few_series_without_a_change_are_said_to_have_one(correlation: float) -> None:
    """Every night of a year looks for a change."""
    random = np.random.default_rng(1)
    alarms = sum(bool(change_points(autoregressive(random, 365, correlation).tolist())) for _ in range(150))
    assert alarms <= 6, "of at most 3 to expect"


def test_a_step_of_ten_percent_is_found_in_the_fourth_bad_run_of_thirty() -> None:
    random = np.random.default_rng(2)
    found = [
        change_points((autoregressive(random, 30, 0.0) * np.repeat([1.0, 1.1], [26, 4])).tolist())
        for _ in range(100)
    ]
    assert sum(bool(one) for one in found) >= 90
    steps = [point for one in found for point in one if point.kind == "step"]
    assert len(steps) >= 80
    assert all(abs(point.first_after - 26) <= 1 and point.factor > 1 for point in steps)


@pytest.mark.parametrize("shape", [lambda t: t, lambda t: 1 - np.exp(-5 * t), lambda t: t**2])
def test_a_slow_drift_is_called_one_and_a_step_in_it_a_step(shape: Callable[[Any], Any]) -> None:
    random = np.random.default_rng(3)
    time = np.linspace(0, 1, 365)
    found = [
        change_points((autoregressive(random, 365, 0.0) * np.exp(0.2 * shape(time))).tolist()) for _ in range(30)
    ]
    assert all(any(point.kind == "drift" and point.factor > 1.05 for point in one) for one in found)
    assert sum(all(point.kind == "drift" for point in one) for one in found) >= 26
    step = autoregressive(random, 365, 0.0) * np.exp(0.2 * time) * np.where(np.arange(365) < 200, 1.0, 1.15)
    assert [199 <= one.first_after <= 201 for one in change_points(step.tolist()) if one.kind == "step"] == [True]


@pytest.mark.parametrize("change", [lambda x: x**3, lambda x: 5 + 100 * x, lambda x: 1 / x])
def test_the_place_depends_on_the_order_alone(change: Callable[[float], float]) -> None:
    values = noisy(7, 40) * np.repeat([1.0, 1.5, 0.8], [12, 16, 12])
    places = [one.first_after for one in change_points(values.tolist())]
    assert places == [12, 28]
    assert [one.first_after for one in change_points([change(value) for value in values])] == places


def test_changes_of_less_than_2_percent_are_none() -> None:
    values = np.repeat([1.0, 1.015], 20) * (1 + 1e-4 * noisy(3, 40))
    assert change_points(values.tolist()) == []
    assert change_points((values * np.repeat([1.0, 1.01], 20)).tolist()) != []


def test_constant_and_short_series_have_no_change() -> None:
    assert change_points([1.0] * 50) == []
    assert change_points([1.0, 2.0] * (FEWEST_RUNS // 2 - 1)) == []
    assert change_points([]) == []
    assert change_points([0.0] * 20 + [1.0] * 20) == [], "of a share that may be zero no factor is known"


def test_differences_of_machines() -> None:
    one = {
        "hosts": [{"name": "a", "kernel": "1", "load": 3.0, "caches": [{"level": 1, "size_bytes": 5}]}],
        "lab": None,
    }
    other = {
        "hosts": [{"name": "a", "kernel": "2", "load": 1.0, "caches": [{"level": 1, "size_bytes": 6}]}],
        "lab": None,
    }
    assert differences(one, one) == []
    assert differences(one, other) == ["a: kernel: 1 -> 2", "a: caches 0 size bytes: 5 -> 6"]


TIMER = "node.timer"
NIGHTS = 20


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run of this machine."""
    folder = tmp_path_factory.mktemp("measured")
    words = ["run", "--case", TIMER, "--launches", "1", "--budget", "0.02", "--mpi", "embedded", "-o", "run"]
    assert answered(folder, *words).code == 0
    return folder / "run"


def nights(measured: Path, folder: Path, early: float, late: float) -> Repository:
    """The run of many nights: the figures of the first half times `early`, of the second half times `late`."""
    repository = Repository(folder / "kept", make=True)
    record = json.loads((measured / "run.json").read_text())
    statistics = json.loads((measured / "statistics.json").read_text())
    for number in range(NIGHTS):
        run = folder / f"night{number}"
        shutil.copytree(measured, run)
        (run / "checksums.sha256").unlink()
        factor = float(noisy(number, 1)[0]) * (late if number >= NIGHTS // 2 else early)
        changed = [
            {**one, "median": one["median"] and one["median"] * factor, "ci_low": None, "ci_high": None}
            for one in statistics["summaries"]
        ]
        (run / "statistics.json").write_text(json.dumps({**statistics, "summaries": changed}))
        started = record["started_unix_s"] + 86400 * number
        (run / "run.json").write_text(json.dumps({**record, "name": run.name, "started_unix_s": started}))
        (run / "samples.jsonl").write_text(f"{number}\n")
        repository.add([run], cluster="here")
    return repository


@pytest.mark.mpi
@pytest.mark.parametrize(("early", "late", "code"), [(1e-3, 1.0, 1), (1.0, 1e3, 0)])
def test_only_what_is_worse_now_counts_when_it_is_confirmed(
    early: float, late: float, code: int, measured: Path, tmp_path: Path
) -> None:
    """Once slower by 1000 times and still so; and slower by 1000 times for some nights, but not now.

    Half of such a change is a factor of 32: no state of a machine is as slow or as quick.
    """
    kept = nights(measured, tmp_path, early, late)
    words = ["history", TIMER, "--in", str(kept.folder.path), "--fail-on-regression", "10%", "--json"]
    assert answered(tmp_path, *words).code == 1
    told = answered(tmp_path, *words, "--confirm", "--time", "5")
    assert told.code == code, told
    confirmations = json.loads(told.output)["confirmations"]
    assert confirmations
    assert {one["confirmed"] for one in confirmations} == {bool(code)}
    # Measured with the MPI of those nights, whatever other MPI comes first.
    (now,) = [path for path in (tmp_path / "runs").iterdir() if not path.is_symlink()]
    compilers = [
        json.loads((run / "machine.json").read_text())["build"]["mpi"]["compiler"] for run in (now, measured)
    ]
    assert compilers[0] == compilers[1]


def confirmed(kept: Repository, latency: float, barrier: float) -> set[bool]:
    """Judge ping-pongs (20 % slower since) and barriers (unchanged) that now take these factors of before."""
    regressions = history(kept, None, []).last_regressions()
    controls = [course for course in history(kept, None, ["mpi.barrier"]).courses for _ in range(FEWEST_CONTROLS)]
    before = [(change.course, change.point.before, latency) for change in regressions]
    before += [(one, statistics.median(point.median for point in one.points), barrier) for one in controls]
    now = [figure(course, level, slower) for course, level, slower in before]
    return {one.confirmed for one in judged(regressions, controls, now, {})}


def figure(course: FigureSeries, before: float, slower: float) -> KeptFigure:
    """A result of now, exact to 2 %."""
    median = before * slower if course.better == "lower" else before / slower
    names = ("benchmark", "metric", "label", "key", "unit", "better", "origin")
    same = {name: getattr(course, name) for name in names}
    return KeptFigure(ranks=2, median=median, low=0.98 * median, high=1.02 * median, launches=6, **same)


@pytest.mark.parametrize(
    ("latency", "barrier", "expected"),
    [
        (1.2, 1.0, True),  # still there
        (1.0, 1.0, False),  # gone
        (1.09, 1.0, False),  # less than half of it is left
        (1.3, 1.3, False),  # gone, but the whole machine is slow
        (1.2 * 1.7, 1.7, True),  # still there on a slow machine
        (0.9, 0.75, False),  # a quick machine confirms nothing that is better than before
    ],
)
def test_a_slow_machine_is_not_a_regression(
    kept: Repository, latency: float, barrier: float, expected: bool
) -> None:
    assert confirmed(kept, latency, barrier) == {expected}


@pytest.mark.parametrize(
    ("sentinel_s", "latency", "explained_by"),
    [(2.4e-3, 1.2, "arithmetic"), (2e-3, 1.2, ""), (2.4e-3, 1.6, ""), (2.4e-3, 0.9, "")],
    ids=["as slow as the machine", "on the same machine", "slower than the machine", "faster"],
)
def test_a_state_of_the_machine_is_told_from_a_change(
    sentinel_s: float, latency: float, explained_by: str, kept: Repository
) -> None:
    """The sentinel, the same work in all runs, took 2 ms before the change and takes longer now, or not."""
    regression = history(kept, None, []).last_regressions()[0]
    with packing.opened(kept.file(regression.last_before)) as folder:
        kept_then = read_statistics(folder)
    before = course(2e-3)
    factor = latency if regression.course.better == "lower" else 1 / latency
    slower = [
        one.model_copy(update={"median": one.median and regression.point.before * factor})
        for one in kept_then.summaries
    ]
    now = kept_then.model_copy(update={"course": course(sentinel_s), "summaries": slower})
    assert (
        (explained_by in explained(regression, before, now))
        if explained_by
        else not explained(regression, before, now)
    )
    state = {regression.course.key: "the sentinel"}
    measured = [figure(regression.course, regression.point.before, 1.2)]
    assert [one.confirmed for one in judged([regression], [], measured, {})] == [True]
    assert [one.confirmed for one in judged([regression], [], measured, state)] == [False]


def test_the_controls_never_changed_and_are_of_several_benchmarks(kept: Repository) -> None:
    assert [course.benchmark for course in steadiest(kept, "giza")] == ["mpi.barrier"]


@pytest.mark.mpi
def test_another_machine_confirms_nothing(kept: Repository, tmp_path: Path) -> None:
    told = answered(tmp_path, "history", "--in", str(kept.folder.path), "--confirm")
    assert mentions(told.refusal(), "--confirm: ... giza")
