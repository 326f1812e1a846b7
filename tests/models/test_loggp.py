import re

import numpy as np
import pytest

from hpcscope.models.communication.loggp import LogGP
from hpcscope.models.fitting.curve import curves
from hpcscope.models.fitting.fit import Fit, NotFitted
from hpcscope.models.fitting.model import fit_all
from hpcscope.statistics.summary import Summary
from tests.declared import catalog
from tests.draws import draws
from tests.messages import numbers
from tests.models.curves import measured, noisy, summary

SIZES = [0, 8, 64, 256, 1024, 2048, 4096, 16384, 65536, 262144, 1048576]
EAGER = 4096
TRUTH = {"L_s": 0.9e-6, "o_s_s": 0.3e-6, "o_r_s": 0.4e-6, "g_s": 0.5e-6, "G_s_per_byte": 1 / 8e9}


def parts(n: int, way_s: float) -> dict[str, float]:
    """What `mpi.overheads` observes of a message; above the eager limit, the receive holds the transfer."""
    rendezvous = n > EAGER
    send = TRUTH["o_s_s"] + 2e-11 * min(n, EAGER)
    receive = TRUTH["o_r_s"] + 3e-11 * n + (6e-6 if rendezvous else 0.0)
    return {
        "send_overhead_s": send,
        "receive_overhead_s": receive,
        "wire_latency_s": way_s,
        "half_round_trip_s": send + receive + way_s,
        "gap_s": TRUTH["g_s"] + TRUTH["G_s_per_byte"] * n + 1e-6 * rendezvous,
    }


def overheads(
    random: np.random.Generator,
    sizes: list[int] = SIZES,
    way_s: float = TRUTH["L_s"],
    spread: float = 0.01,
    launches: int = 6,
) -> list[Summary]:
    made = []
    for n in sizes:
        for metric, truth in parts(n, way_s).items():
            # L is what is left of the whole: its noise is the whole's.
            whole = parts(n, way_s)["half_round_trip_s"]
            off = whole - truth if metric == "wire_latency_s" else 0.0
            times = [launch - off for launch in noisy(random, truth + off, launches, spread=spread)]
            definition = "half_round_trip" if metric == "half_round_trip_s" else "observed"
            made.append(summary(times, "mpi.overheads", metric, definition, message_bytes=n))
    return made


def fitted(summaries: list[Summary]) -> Fit | NotFitted:
    results = [result for curve in curves(summaries, catalog()) if (result := LogGP().fit(curve)) is not None]
    assert len(results) == 1
    return results[0]


@pytest.mark.simulation
@draws(40, 100)
@pytest.mark.parametrize("launches", [6, 3])
def test_the_intervals_cover_the_truth_as_often_as_they_say(launches: int, draws: int) -> None:
    random = np.random.default_rng(31)
    hits = dict.fromkeys(TRUTH, 0)
    for _ in range(draws):
        fit = fitted(overheads(random, launches=launches))
        assert isinstance(fit, Fit)
        for parameter in fit.parameters:
            hits[parameter.name] += parameter.low <= TRUTH[parameter.name] <= parameter.high
    for name, count in hits.items():
        assert count / draws > 0.91, (name, hits)


def test_exact_data_give_the_exact_parameters() -> None:
    fit = fitted(overheads(np.random.default_rng(32), spread=1e-9))
    assert isinstance(fit, Fit)
    assert [parameter.name for parameter in fit.parameters] == ["L_s", "o_s_s", "o_r_s", "g_s", "G_s_per_byte"]
    for parameter in fit.parameters:
        assert parameter.value == pytest.approx(TRUTH[parameter.name], rel=1e-4)
    (note,) = fit.notes
    assert all(re.search(rf"\b{name}\b", note) for name in ("o_s", "o_r", "L", "4 KiB"))
    assert (fit.metric, fit.definition, fit.low, fit.high) == ("gap_s", "observed", 0, 1048576)


def test_a_gap_that_is_the_larger_of_two_has_both() -> None:
    """Some take the gap as max(g, G n)."""
    random = np.random.default_rng(38)
    larger = [max(TRUTH["g_s"], TRUTH["G_s_per_byte"] * n) for n in SIZES]
    gaps = [
        summary(noisy(random, gap, spread=0.002), "mpi.overheads", "gap_s", "observed", message_bytes=n)
        for n, gap in zip(SIZES, larger, strict=True)
    ]
    others = [s for s in overheads(random, spread=0.002) if s.metric != "gap_s"]
    fit = fitted([*gaps, *others])
    assert isinstance(fit, Fit)
    found = {parameter.name: parameter.value for parameter in fit.parameters}
    assert found["g_s"] == pytest.approx(TRUTH["g_s"], rel=0.02)
    assert found["G_s_per_byte"] == pytest.approx(TRUTH["G_s_per_byte"], rel=0.02)


@pytest.mark.parametrize("way_s", [0.0, -0.2e-6])
def test_a_way_that_the_overheads_hide_is_not_given(way_s: float) -> None:
    fit = fitted(overheads(np.random.default_rng(33), way_s=way_s))
    assert isinstance(fit, Fit)
    assert "L_s" not in {parameter.name for parameter in fit.parameters}
    assert any(text.startswith("L_s: ") for text in fit.left_out)


def test_a_gap_that_does_not_grow_has_no_slope() -> None:
    fit = fitted(overheads(np.random.default_rng(34), sizes=[0, 1, 2, 4, 8], spread=0.02))
    assert isinstance(fit, Fit)
    assert "G_s_per_byte" not in {parameter.name for parameter in fit.parameters}
    assert fit.left_out[0].startswith("G_s_per_byte")


def test_two_sizes_are_too_few() -> None:
    result = fitted(overheads(np.random.default_rng(35), sizes=[8, 1024]))
    assert isinstance(result, NotFitted)
    assert numbers(result.reason) == [2, 3], "sizes here, and sizes that it needs"


def test_no_other_model_is_fitted_to_what_was_observed() -> None:
    fits, not_fitted = fit_all(measured(overheads(np.random.default_rng(36))))
    observed = [fit.model for fit in fits if fit.definition == "observed"]
    assert observed == ["loggp"]
    assert [fit.chosen for fit in fits if fit.model == "loggp"] == [True]
    assert not [result for result in not_fitted if result.definition == "observed"]
    assert "half_round_trip_s" in {fit.metric for fit in fits}


def test_other_observed_times_are_no_loggp() -> None:
    phases = [s for s in overheads(np.random.default_rng(37)) if s.metric != "wire_latency_s"]
    assert all(LogGP().fit(curve) is None for curve in curves(phases, catalog()))
