"""Published broadcasts and laws of growth beside figures of known truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hpcscope.models.fitting.model import fit_all
from hpcscope.statistics.summary import Summary
from tests.messages import mentions, numbers
from tests.models.curves import measured, noisy, summary
from tests.models.published import reproduced

FLAT, ASYNCHRONOUS, BLOCKING, PIPELINED = (
    f"collectives.broadcast.{name}"
    for name in ("flat_binomial", "multilevel_asynchronous", "multilevel_blocking", "multilevel_pipelined")
)
BARRIER = "collectives.barrier.flat_dissemination"
MEASURED = {FLAT: 44.0, ASYNCHRONOUS: 7.1, BLOCKING: 6.0, PIPELINED: 5.1, "default": 30.0}


def broadcast(seconds: float, transport: str) -> Summary:
    times = noisy(np.random.default_rng(1), seconds, spread=1e-6)
    one = summary(times, "mpi.broadcast", "time_s", "global", 24, transport, message_bytes=4_000_000)
    return one.model_copy(update={"origin": "emulated"})


def test_ratios_of_the_published_are_held_against_ours() -> None:
    made = [broadcast(seconds, transport) for transport, seconds in MEASURED.items()]
    rows = reproduced("grid-table2", made, broadcasts_s={FLAT: 42.5, "default": 30.4}, broadcast_limit_s=5.0)
    flat = rows["no topology, flat binomial"]
    assert (flat.published, flat.predicted, flat.limit) == (448, 42.5, 5.0)
    assert flat.measured == pytest.approx(44.0, rel=1e-3)
    assert flat.origin == "emulated"
    assert numbers(flat.remark) == [440, 4000000], "seconds as estimated there, bytes here"
    ratio = rows["no topology, flat binomial / multilevel, locally optimized"]
    assert ratio.published == pytest.approx(448 / 60)
    assert ratio.measured == pytest.approx(44 / 6, rel=1e-3)
    assert ratio.predicted is None, "the other was not estimated"
    ours = rows["multilevel, pipelined"]
    assert (ours.measured, ours.limit) == (pytest.approx(5.1, rel=1e-3), 5.0)
    assert rows["the MPI library's own"].published is None


def test_stages_are_what_a_broadcast_takes_longer_than_an_earlier_one() -> None:
    def staged(seconds: float, transport: str, ranks: int) -> Summary:
        times = noisy(np.random.default_rng(1), seconds, spread=1e-6)
        return summary(times, "mpi.broadcast", "time_s", "global", ranks, transport, message_bytes=4_000_000)

    made = [broadcast(seconds, transport) for transport, seconds in MEASURED.items()]
    made += [staged(2.0, ASYNCHRONOUS, 8), staged(1.0, BLOCKING, 8), staged(1.0, FLAT, 8), staged(4.5, FLAT, 16)]
    rows = reproduced("grid-table2", made, broadcasts_s={FLAT: 42.5, ASYNCHRONOUS: 6.9})
    for words, published, ours in (
        ("local broadcast on HPC, as LAM", 20, 2.0),
        ("local broadcast on HPC, optimized", 10, 1.0),
        ("from HPC to GIZA, multilevel as MPICH-G2", 49, 5.1),
        ("from HPC to GRID, no topology", 38, 3.5),
        ("from HPC and GRID to GIZA, no topology", 400, 39.5),
    ):
        row = rows[f"stage: {words}"]
        assert (row.published, row.remark.startswith("an estimate of the source")) == (published, True)
        assert row.measured == pytest.approx(ours, rel=1e-3)
        assert row.predicted is None, "the estimate is of all ranks"
    assert rows["multilevel as MPICH-G2"].predicted == 6.9
    assert rows["local broadcast on HPC: as LAM / optimized"].holds == "yes"
    assert rows["fraction of the broadcast in transfers to GIZA, no topology"].holds == "yes"
    assert rows["fraction of the broadcast in the transfer to GIZA, multilevel as MPICH-G2"].holds == "yes"


def test_what_was_not_measured_is_said() -> None:
    for row in reproduced("grid-table2", []).values():
        assert row.measured is None
        assert row.origin == "published"
        assert row.remark


@pytest.mark.parametrize(
    ("name", "printed_s"),
    [("scope-shared-bus", 1.34e-3), ("scope-switched", 0.6e-3)],
)
@pytest.mark.parametrize(
    ("law", "steps"), [("linear", lambda p: p), ("logarithmic", lambda p: int(p - 1).bit_length())]
)
def test_the_law_that_the_models_choose_is_told(
    name: str, printed_s: float, law: str, steps: Callable[[int], int]
) -> None:
    """Both sources print a barrier that grows logarithmically, on the shared bus too, and the cost of its step."""
    random = np.random.default_rng(3)
    made = [
        summary(noisy(random, 1e-4 + 1e-3 * steps(p)), "mpi.barrier", "time_s", "global", p, BARRIER)
        for p in range(2, 13)
    ]
    rows = reproduced(name, made, fits=fit_all(measured(made))[0])
    ratio, step = rows["barrier: all processes / half of them"], rows["barrier: cost of one step"]
    assert ratio.published is None, "no such ratio is printed"
    assert mentions(ratio.remark, f"12 ... 6 ... {law}")
    assert (ratio.relation, ratio.holds) == (
        "logarithmic in the number of ranks",
        "yes" if law == "logarithmic" else "no",
    )
    assert step.published == printed_s
    if law == "logarithmic":
        assert step.measured == pytest.approx(1e-3, rel=0.1)


def test_without_a_chosen_law_nothing_is_decided() -> None:
    random = np.random.default_rng(3)
    made = [
        summary(noisy(random, 1e-3 * (p % 2 + 1)), "mpi.barrier", "time_s", "global", p, BARRIER)
        for p in range(2, 13)
    ]
    fits = [
        fit.model_copy(update={"chosen": False, "reason": "does not fit"}) for fit in fit_all(measured(made))[0]
    ]
    ratio = reproduced("scope-switched", made, fits=fits)["barrier: all processes / half of them"]
    assert (ratio.holds, ratio.predicted) == ("undecided", None)
    assert ratio.measured is not None
    assert ratio.remark.endswith("does not fit")
