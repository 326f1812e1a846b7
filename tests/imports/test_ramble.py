"""Results of Ramble: experiments, contexts and figures of merit, from the text and from JSON."""

from __future__ import annotations

import json
import random

import pytest

from tests.imports.reading import data, read

SINGLE, SIZES = "application.ramble", "application.ramble_messages"
LATENCY = "osu-micro-benchmarks.osu_latency.pair_mpi_2"
MIB = 2**20


def test_figures_of_merit_in_their_contexts() -> None:
    found = read("ramble", data("ramble-results.txt"))
    assert found.unread == []
    times = found.figures(SIZES, "time_s")
    assert [one.parameters["message_bytes"] for one in times] == [8, 8, 1024, 1024]
    assert [one.parameters["figure"] for one in times] == ["Latency", "P99 Tail Latency"] * 2
    assert [one.values for one in times] == [(1.5e-6,), (1.75e-6,), (2.25e-6,), (2.5e-6,)]
    assert {(one.parameters["experiment"], one.ranks, one.failure) for one in times} == {(LATENCY, None, "")}
    assert found.values(SIZES, "bandwidth_bytes_per_s") == [6400.25e6]
    rows = data("ramble-results.txt").splitlines()
    for one in found.reading.figures:
        assert f"{one.parameters['figure']} = " in rows[one.line - 1]


def test_failed_experiments_are_named() -> None:
    found = read("ramble", data("ramble-results.txt"))
    failed = [one for one in found.reading.figures if one.failure]
    assert [(one.values, one.failure) for one in failed] == [
        ((1.5e-6,), "status FAILED"),
        ((256.5 * MIB,), "status FAILED"),
    ]
    assert "Ramble: hostname.local.one has no values: its status is FAILED" in found.reading.differences


def test_what_has_no_number_or_no_unit_is_named() -> None:
    found = read("ramble", data("ramble-results.txt"))
    (code,) = found.figures(SINGLE, "value")
    assert (code.values, code.parameters["figure"]) == ((0.0,), "modifier::exit-code::Exit code")
    assert "Ramble: modifier::exit-code::Exit code has no unit" in found.reading.differences
    assert "Ramble: OMB Version is left out: v7.5 is not a number" in found.reading.differences


def test_repeats_are_launches_of_one_case() -> None:
    found = read("ramble", data("ramble-results.txt"))
    repeats = [one for one in found.reading.figures if one.parameters["figure"] == "Core Time"]
    assert [one.values for one in repeats] == [(11.25,), (12.75,)]
    assert {one.parameters["experiment"] for one in repeats} == {"gromacs.water_bare.short"}
    assert "Ramble: medians and deviations over repeats are left out" in found.reading.differences


def test_a_summary_without_its_repeats_is_their_mean() -> None:
    found = read("ramble", data("ramble-summary.txt"))
    (one,) = found.figures(SINGLE, "value_ns_day")
    assert (one.values, one.statistic, one.repetitions) == ((42.25,), "mean", 3)
    assert one.beside == {"minimum": 40.5, "maximum": 44.5}
    assert "Ramble: Build is left out: double precision is not a number" in found.reading.differences
    assert found.unread == []


def test_json_has_ranks_and_directions() -> None:
    found = read("ramble", data("ramble-results.json"))
    assert found.unread == []
    times = found.figures(SIZES, "time_s")
    assert [(one.values, one.ranks) for one in times] == [
        ((1.5e-6,), 2),
        ((1.75e-6,), 2),
        ((2.25e-6,), 2),
        ((2.5e-6,), 2),
    ]
    rows = data("ramble-results.json").splitlines()
    assert [rows[one.line - 1].split('"')[3] for one in times] == ["1.50", "1.75", "2.25", "2.50"]
    metrics = {one.name: one for each in found.reading.benchmarks for one in each.metrics}
    assert (metrics["value_z_s"].unit, metrics["value_z_s"].better) == ("z/s", "higher")
    assert (metrics["value_percent"].unit, metrics["value_percent"].better) == ("%", "lower")
    assert [one.failure for one in found.figures(SINGLE, "time_s")] == ["status FAILED"]


def test_a_variable_called_value_does_not_move_lines() -> None:
    text = data("ramble-results.json").replace('"mpi_command": "mpirun -n 2"', '"value": "8 us"')
    found, before = read("ramble", text), read("ramble", data("ramble-results.json"))
    assert [one.values for one in found.reading.figures] == [one.values for one in before.reading.figures]
    assert {one.line for one in found.reading.figures} == {1}


def test_a_document_that_is_cut_keeps_its_whole_experiments() -> None:
    text = data("ramble-results.json")
    found = read("ramble", text[: text.index("gpcnet.network_test")])
    assert {one.parameters["experiment"] for one in found.reading.figures} == {
        "osu-micro-benchmarks.osu_latency.pair",
        "lulesh.standard.cube",
    }


def test_an_experiment_twice_in_one_run_is_refused() -> None:
    text = data("ramble-results.txt")
    found = read("ramble", text + text.partition("\n")[2])
    assert found.reading.figures == []
    assert f"which print {LATENCY} twice" in found.reading.refused[0]


@pytest.mark.parametrize("seed", range(20))
def test_text_and_json_say_what_was_written(seed: int) -> None:
    """Experiments of any shape, as Ramble's `dump_results` writes them in both of its formats."""
    chance = random.Random(seed)
    units = {"us": 1e-6, "s": 1.0, "MB/s": 1e6, "GiB/s": 2.0**30, "GFLOP/s": 1e9, "timesteps/s": 1.0, "": 1.0}
    truth, text, experiments = [], [f"From Workspace: w{seed} (hash: {seed:x})"], []
    for number in range(chance.randrange(1, 5)):
        name, status = f"app.load.case{number}", chance.choice(["SUCCESS", "FAILED"])
        text += [f"Experiment {name} figures of merit:", f"  Status = {status}", "  Tags = []"]
        contexts = []
        for context in chance.sample(["null", "Message Size: 64", "Step 7"], chance.randrange(1, 4)):
            shown = f"{'default (null)' if context == 'null' else context} context"
            text.append(f"  {shown} figures of merit:")
            foms = []
            for figure in chance.sample(["Rate", "Wall (max)", "t[0]"], chance.randrange(1, 4)):
                unit, value = chance.choice(list(units)), f"{chance.uniform(0.1, 999):.4f}"
                text.append(f"    {figure} = {value} {unit}".rstrip())
                foms.append({"value": value, "units": unit, "origin_type": "application", "name": figure})
                where = shown.removesuffix(" context")
                truth.append((name, where, figure, float(value) * units[unit], status == "FAILED"))
            contexts.append({"name": context, "foms": foms, "display_name": shown})
        experiments.append({"name": name, "RAMBLE_STATUS": status, "n_ranks": "4", "CONTEXTS": contexts})
    document = json.dumps({"workspace_hash": "0", "experiments": experiments}, indent=2)
    for written in ("\n".join(text) + "\n", document):
        found = read("ramble", written)
        assert found.unread == []
        said = [
            (
                one.parameters["experiment"],
                one.parameters.get("context", f"Message Size: {one.parameters.get('message_bytes')}"),
                one.parameters["figure"],
                pytest.approx(one.values[0]),
                bool(one.failure),
            )
            for one in found.reading.figures
        ]
        assert said == truth


def test_a_figure_called_value_is_no_statistic() -> None:
    text = data("ramble-results.txt").replace("Bandwidth = 6400.25", "value = 6400.25")
    found = read("ramble", text)
    assert found.values(SIZES, "bandwidth_bytes_per_s") == [6400.25e6]
    assert found.figures(SIZES, "bandwidth_bytes_per_s")[0].parameters["figure"] == "value"
