"""What sources say, held against runs of known truth: figures read off, and whether a relation holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hpcscope.engine.reproduce.reproduce import fitting
from hpcscope.errors import UsageError
from hpcscope.lab import description
from hpcscope.machine.machine import EmulatedCluster, EmulatedLink
from hpcscope.models.fitting.fit import Fit, FittedParameter
from hpcscope.models.published.judgement import COMBINED, KnownValues, compared, holds
from hpcscope.models.published.observed import ObservedRun
from hpcscope.models.published.overview import ComparedValue, tally
from hpcscope.models.published.reference import Reference, Scale, load, names
from hpcscope.models.published.statement import Statement, StatementReading
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.summary import Summary
from tests.messages import numbers
from tests.models.curves import measured, summary

START_S, RATE = 500e-6, 1e6
RATES = "bandwidth_bytes_per_s"
SIZES = (0, 64, 128, 1024, 65536, 1 << 20)


def launches(*seconds: float) -> list[np.ndarray]:
    return [np.full(9, each) for each in seconds]


def ping_pong(*factors: float, mode: str = "standard", numbers: tuple[int, ...] = (1, 2)) -> list[Summary]:
    """A line of known start-up and rate, in as many launches as there are factors."""
    made = []
    for size in SIZES:
        times = launches(*(factor * (START_S + size / RATE) for factor in factors))
        made.append(summary(times, numbers=numbers, message_bytes=size, mode=mode))
        rates = launches(*(size / time[0] for time in times)) if size else []
        if rates:
            made.append(
                summary(
                    rates,
                    metric="bandwidth_bytes_per_s",
                    unit="B/s",
                    numbers=numbers,
                    message_bytes=size,
                    mode=mode,
                )
            )
    return made


def latency(mode: str = "standard", size: int = 0) -> StatementReading:
    return StatementReading(
        benchmark="mpi.latency", metric="latency_s", parameters={"message_bytes": size, "mode": mode}
    )


def rate(read: str) -> StatementReading:
    values = {"benchmark": "mpi.latency", "metric": RATES, "read": read}
    return StatementReading.model_validate(values | {"parameters": {"mode": "standard"}})


READINGS = {
    "standard": latency(),
    "synchronous": latency("synchronous"),
    "longest": rate("longest"),
    "largest": rate("largest"),
    "half": rate("half_peak"),
    "twice": latency().model_copy(update={"times": 2.0}),
    "elsewhere": latency().model_copy(update={"place": "bus"}),
    "frames": StatementReading(read="frames", protocol="tcp"),
    "half a frame": StatementReading(read="half_frames", protocol="tcp_acknowledged"),
}


def judged(statement: Statement, made: list[Summary], **readings: StatementReading) -> ComparedValue:
    places = {"": ObservedRun(measured(made), [], 1e7)} if made else {}
    (row,) = compared([statement], KnownValues(READINGS | readings, places, {"bus": "no lab here"}))
    return row


def test_figures_are_read_off_a_run() -> None:
    made = ping_pong(1.0, 1.0)
    value = {
        name: judged(Statement(where="", of=name), made).measured for name in ("standard", "twice", "longest")
    }
    assert value["standard"] == pytest.approx(START_S)
    assert value["twice"] == pytest.approx(2 * START_S)
    assert value["longest"] == pytest.approx((1 << 20) / (START_S + (1 << 20) / RATE))
    assert judged(Statement(where="", of="largest"), made).measured == value["longest"]
    half = judged(Statement(where="", of="half", unit="B"), made)
    assert half.measured == pytest.approx(START_S * RATE, rel=0.01), "interpolated between 128 and 1024 bytes"


def test_frames_are_calculated_and_say_so() -> None:
    row = judged(
        Statement(where="A.2", of="frames", unit="B/s", published=1.186e6, factor=1.01), ping_pong(1.0, 1.0)
    )
    assert (row.holds, row.origin) == ("yes", "simulated")
    row = judged(
        Statement(where="A.2", of="half a frame", unit="B", published=132, factor=1.05), ping_pong(1.0, 1.0)
    )
    assert (row.measured, row.holds, row.says) == (133, "yes", "132 B")


@pytest.mark.parametrize(
    ("factors", "holding"), [((1.5, 1.2), "yes"), ((0.8, 0.9), "no"), ((0.9, 1.2), "undecided")]
)
def test_few_launches_must_agree(factors: tuple[float, float], holding: str) -> None:
    made = [*ping_pong(1.0, 1.0), *ping_pong(*factors, mode="synchronous")]
    statement = Statement(where="6.2", of="synchronous", over="standard", says="slower", above=1)
    row = judged(statement, made)
    assert row.measured == pytest.approx(np.median(factors))
    assert (row.holds, row.relation, row.unit, row.row) == (holding, "above 1", "1", "synchronous / standard")


def test_many_launches_have_an_interval() -> None:
    numbers = tuple(range(1, 9))
    slower = [1.1, 1.12, 1.13, 1.14, 1.1, 1.12, 1.13, 0.9]
    made = [*ping_pong(*[1.0] * 8, numbers=numbers), *ping_pong(*slower, mode="synchronous", numbers=numbers)]
    row = judged(Statement(where="6.2", of="synchronous", over="standard", above=1), made)
    assert row.holds == "undecided", "eight launches: the interval of the median reaches to the extremes"
    assert judged(Statement(where="6.2", of="synchronous", over="standard", above=0.5), made).holds == "yes"


def test_a_printed_quotient_and_its_factor() -> None:
    made = [*ping_pong(1.0, 1.0), *ping_pong(2.0, 2.0, mode="synchronous")]
    given = {"where": "7.4", "of": "synchronous", "over": "standard", "unit": "s"}
    printed = Statement(**given, published=1370e-6, published_over=526e-6, factor=1.4)
    row = judged(printed, made)
    assert row.published == pytest.approx(2.605, abs=0.001)
    assert (row.holds, row.says) == ("yes", "1.37 ms / 526 µs = 2.60")
    assert judged(printed.model_copy(update={"factor": 1.2}), made).holds == "no"


def test_what_was_not_measured_says_why() -> None:
    row = judged(Statement(where="7.4", of="elsewhere", over="standard", above=1), ping_pong(1.0))
    assert (row.measured, row.holds, row.origin) == (None, "", "published")
    assert "no lab here" in row.remark
    assert tally([row]).not_judged == 1


def test_hosts_that_wait_for_processors_are_not_judged() -> None:
    made = [one.model_copy(update={"origin": "emulated"}) for one in ping_pong(1.0)]
    statement = Statement(where="7.5", of="standard", unit="s", published=500e-6, factor=1.1)
    assert judged(statement, made).holds == "yes"
    crowded = judged(statement.model_copy(update={"processors": 1000}), made)
    assert crowded.holds == ""
    assert "share" in crowded.remark
    of_this_machine = judged(statement.model_copy(update={"processors": 1000}), ping_pong(1.0))
    assert of_this_machine.holds == "yes", "processors are counted where hosts are emulated"


def test_figures_of_another_network_than_the_declared_one_are_not_judged() -> None:
    statement = Statement(where="7.5", of="standard", unit="s", published=500e-6, factor=1.1)
    for off, holding in ((-0.01, "yes"), (-0.33, "")):
        link = EmulatedLink(
            link="ports of a", declared_bytes_per_s=1e6, measured_bytes_per_s=1e6 * (1 + off), processor_share=1
        )
        lab = EmulatedCluster(name="small", title="", links=[link], relayed=[], faults=[])
        made = measured(ping_pong(1.0))
        made = replace(made, machine=made.machine.model_copy(update={"lab": lab}))
        (row,) = compared([statement], KnownValues(READINGS, {"": ObservedRun(made, [], 1e7)}, {}))
        assert row.holds == holding
    assert "ports of a" in row.remark
    assert "67 %" in row.remark
    assert row.measured == pytest.approx(START_S), "what was measured is shown all the same"


def test_a_disturbed_run_is_not_judged() -> None:
    statement = Statement(where="", of="standard", above=1e-9)
    for disturbed, holding in (("", "yes"), ("Another process took a processor", "")):
        place = ObservedRun(measured(ping_pong(1.0)), [], 1e7, disturbed=disturbed)
        (row,) = compared([statement], KnownValues(READINGS, {"": place}, {}))
        assert row.holds == holding
        assert disturbed in row.remark


def test_a_run_without_any_figure_is_not_judged() -> None:
    known = KnownValues(READINGS, {"": ObservedRun(measured([]), [], 1e7)}, {})
    (row,) = compared([Statement(where="7.5", of="standard", over="longest", above=1)], known)
    assert (row.measured, row.holds) == (None, "")
    assert row.remark


def test_values_are_combined_launch_by_launch() -> None:
    given = {"read": "quotient", "of": ["synchronous", "standard"]}
    drift = [1.0, 2.0, 4.0]
    each = (1, 2, 3)
    made = [
        *ping_pong(*drift, numbers=each),
        *ping_pong(*(1.5 * each for each in drift), mode="synchronous", numbers=each),
    ]
    row = judged(
        Statement(where="6.2", of="slower", above=1.4, below=1.6),
        made,
        slower=StatementReading.model_validate(given),
    )
    assert row.measured == pytest.approx(1.5)
    assert row.holds == "yes", "what all of a launch shares cancels"
    assert row.row == "slower"


@pytest.mark.parametrize(
    ("read", "truth"),
    [
        *(("sum", 12.0), ("difference", 4.0), ("product", 32.0), ("quotient", 2.0)),
        *(("lost", -1.0), ("geometric_mean", 32**0.5), ("smallest", 4.0), ("largest", 8.0)),
    ],
)
def test_combinations(read: str, truth: float) -> None:
    made = [
        summary(launches(value, value), numbers=(1, 2), message_bytes=0, mode=mode)
        for mode, value in (("synchronous", 8.0), ("standard", 4.0))
    ]
    both = StatementReading.model_validate({"read": read, "of": ["synchronous", "standard"]})
    assert judged(Statement(where="", of="both", unit="s"), made, both=both).measured == pytest.approx(truth)
    alone = judged(Statement(where="", of="both", above=1), made[:1], both=both)
    assert (alone.measured, alone.holds) == (None, ""), "a part lacks"
    assert alone.remark


def test_an_unnamed_combination_of_nothing_is_no_value() -> None:
    made = [
        summary(launches(value, value), numbers=(1, 2), message_bytes=0, mode=mode)
        for mode, value in (("synchronous", 8.0), ("standard", 0.0))
    ]
    both = StatementReading(read="quotient", of=["synchronous", "standard"])
    assert judged(Statement(where="", of="both"), made, both=both).measured is None


def of_ranks(*values: tuple[int, int, float]) -> list[Summary]:
    """Products of a size on a number of ranks, and their times."""
    return [
        summary(
            launches(seconds, seconds),
            "algorithm.matmul_cannon",
            "time_s",
            "max_rank",
            ranks,
            n=n,
            variant="plain",
        )
        for n, ranks, seconds in values
    ]


def cannon(ranks: int, **more: object) -> StatementReading:
    given = {"benchmark": "algorithm.matmul_cannon", "metric": "time_s", "ranks": ranks}
    return StatementReading.model_validate(given | {"parameters": {"variant": "plain", "n": [840, 240]}} | more)


def test_the_published_size_goes_before_its_counterpart() -> None:
    statement = Statement(where="G.1", of="nine", unit="s", published=31.1)
    row = judged(statement, of_ranks((240, 9, 2.0)), nine=cannon(9))
    assert (row.measured, numbers(row.remark), row.size, row.ranks) == (2.0, [240], 240, 9)
    row = judged(statement, of_ranks((240, 9, 2.0), (840, 9, 30.0)), nine=cannon(9))
    assert (row.measured, row.remark, row.size) == (30.0, "", 840)


def test_fewer_ranks_stand_for_the_published_ones() -> None:
    statement = Statement(where="G.1", of="most", unit="s", published=31.1)
    made = of_ranks((240, 1, 9.0), (240, 4, 3.0), (240, 16, 1.0))
    row = judged(statement, made, most=cannon(9, fewer_ranks=True))
    assert (row.measured, row.ranks, numbers(row.remark)) == (3.0, 4, [240, 4])
    each = judged(statement, made, most=cannon(9, fewer_ranks=True, per_rank=True))
    assert each.measured == pytest.approx(0.75)
    assert judged(statement, made[:1], most=cannon(9, fewer_ranks=True)).measured is None, "one is not several"


def test_a_quotient_of_different_sizes_is_none() -> None:
    statement = Statement(where="G.1", of="one", over="four", above=1)
    readings = {"one": cannon(1), "four": cannon(4)}
    assert judged(statement, of_ranks((240, 1, 9.0), (240, 4, 3.0)), **readings).measured == pytest.approx(3.0)
    row = judged(statement, of_ranks((840, 1, 9.0), (240, 4, 3.0)), **readings)
    assert (row.measured, row.holds) == (None, "")


def test_a_bound_is_a_number_or_another_reading() -> None:
    made = ping_pong(1.0, 1.0)
    assert judged(Statement(where="", of="standard", unit="s", limit=2.0), made).limit == 2.0
    bound = judged(Statement(where="", of="standard", unit="s", limit="twice"), made)
    assert bound.limit == pytest.approx(2 * START_S)


def test_an_unknown_figure_is_named() -> None:
    with pytest.raises(UsageError, match=r"'slow': .*standard"):
        judged(Statement(where="", of="slow"), ping_pong(1.0))


def test_bounds() -> None:
    assert holds(Estimate(value=1.0), (None, None)) == ""
    assert holds(Estimate(value=1.0), (1.0, None)) == "no"
    assert holds(Estimate(value=1.5, low=1.2, high=1.9), (1.0, 2.0)) == "yes"
    assert holds(Estimate(value=1.5, low=1.2, high=2.1), (1.0, 2.0)) == "undecided"
    assert holds(Estimate(value=2.5, low=2.2, high=2.8), (1.0, 2.0)) == "no"
    assert holds(Estimate(value=1.5, low=1.2, high=float("nan")), (1.0, 2.0)) == "undecided"


def test_a_quotient_by_nothing_is_no_figure() -> None:
    # Launches whose median is 0: a clock that is too coarse.
    made = [summary(launches(2.0, 2.0), numbers=(1, 2), message_bytes=0, mode="synchronous")]
    made.append(summary(launches(0.0, 1.0), numbers=(1, 2), message_bytes=0, mode="standard"))
    row = judged(Statement(where="6.2", of="synchronous", over="standard", above=1), made)
    assert (row.measured, row.holds) == (None, "")


def test_a_fitted_figure_keeps_its_interval() -> None:
    reading = StatementReading(
        benchmark="mpi.latency", metric="latency_s", read="fitted", fitted="hockney.n_half_bytes"
    )
    found = FittedParameter(name="n_half_bytes", unit="B", value=500.0, low=300.0, high=700.0)
    (made, *_) = ping_pong(1.0)
    fit = Fit.model_construct(model="hockney", subject=made.case, metric="latency_s", parameters=[found])
    known = KnownValues({"half": reading}, {"": ObservedRun(measured([made]), [fit])}, {})
    statement = Statement(where="6.2", of="half", unit="B", published=400.0, factor=1.5)
    assert [row.holds for row in compared([statement], known)] == ["undecided"]
    (row,) = compared([statement.model_copy(update={"factor": 3.0})], known)
    assert row.holds == "yes"


@pytest.mark.parametrize("name", names())
def test_declared_statements_are_whole(name: str) -> None:
    reference: Reference = load(name)
    places = {place.name for place in reference.place} or {""}
    parts = [reading for reading in reference.reading.values() if not reading.of]
    assert {reading.place for reading in parts} <= places
    labs = {place.name for place in reference.place if place.link_bits_per_s}
    used = {each for reading in reference.reading.values() for each in reading.of}
    used |= {place.simulated.reading for place in reference.place if place.simulated}
    for place in reference.place:
        for full, lab in ((False, place.lab), (True, place.full_lab or place.lab)):
            room = (
                sum(group.hosts * group.ranks_per_host for group in description.read(lab)[1].group)
                if lab
                else None
            )
            cases = place.scale(full).cases
            assert fitting(Scale(launches=1, cases=cases), room) == cases, "each case has room in the lab"
    for one in reference.statement:
        named = (one.of, one.over, one.predicted, one.predicted_over, one.limit)
        used |= {each for each in named if isinstance(each, str)}
        assert one.where
        assert one.factor is None or one.published is not None, one.title
        judges = one.factor or one.law or one.above is not None or one.below is not None
        assert not judges or one.published is not None or one.says, one.title
    assert used - {""} == reference.reading.keys(), "each is there, and each is used"
    assert len({(one.title, one.where, one.published, one.says) for one in reference.statement}) == len(
        reference.statement
    )
    for reading in reference.reading.values():
        assert bool(reading.of) <= (reading.read in COMBINED)
        assert reading.read not in ("frames", "half_frames") or reading.place in labs | {""}
        cases = [case for place in reference.place for case in place.scale(False).cases] + reference.fitting.cases
        assert not reading.benchmark or any(case.startswith(reading.benchmark + " ") for case in cases)
