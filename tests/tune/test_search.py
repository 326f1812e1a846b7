"""A search on machines of known truth: what it predicts, tries, keeps and says."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from hpcscope import units
from hpcscope.errors import ScopeError
from hpcscope.samples.records import LaunchRecord
from hpcscope.statistics.summary import Summary
from hpcscope.tune import calibration
from hpcscope.tune.candidates import BENCHMARK, Candidate, candidates, untuned
from hpcscope.tune.costs import LuCosts
from hpcscope.tune.memory import HostMemory, bytes_of_process, largest_n
from hpcscope.tune.record import LinpackSearchSettings, Tuning
from hpcscope.tune.search import FEWEST_EQUATIONS, SearchState, advanced
from tests import golden_run as golden
from tests.models.curves import measured
from tests.tune.truth import Truth, one_process, ping_pong, products, solved

BLOCKS = [32, 64, 96, 128, 256]
LAUNCHES = [LaunchRecord.model_validate(golden.launch_record(1, 2, "default", 0.0))]
GIB = float(1 << 30)


@dataclass
class Site:
    """A machine on which a search goes on until it ends; what it asks for is solved in the truth."""

    truth: Truth
    ranks: int = 4
    blocks: list[int] = field(default_factory=lambda: BLOCKS)
    memory: float = 4 * GIB
    asked: dict[str, object] = field(default_factory=lambda: {"n": 4000})
    solved: int = 0

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(5)
        self.summaries = one_process(self.truth, self.random, self.blocks) + ping_pong(self.truth, self.random)
        self.summaries += products(self.truth, self.random, self.ranks)

    def costs(self) -> LuCosts:
        return calibration.costs(measured(self.summaries, LAUNCHES), self.ranks, self.ranks)

    def begun(self) -> Tuning:
        given = {"ranks": self.ranks, "blocks": self.blocks, **self.asked}
        return Tuning(format=2, settings=LinpackSearchSettings.model_validate(given))

    def evidence(self) -> SearchState:
        return SearchState(self.summaries, self.costs(), [HostMemory(self.memory, self.ranks)])

    def run(self, tuning: Tuning) -> None:
        known = {(str(s.parameters), s.ranks) for s in self.summaries}
        for each in tuning.rounds[-1].tries:
            if (str(each.candidate.settings(each.n)), self.ranks) not in known:
                self.summaries.append(solved(self.truth, self.random, each.candidate, each.n))
                self.solved += 1

    def tuned(self) -> Tuning:
        tuning = self.begun()
        while tuning.conclusion is None:
            tuning = advanced(tuning, self.evidence())
            if tuning.conclusion is None:
                self.run(tuning)
        return tuning


def best_of(site: Site, n: int) -> Candidate:
    return min(candidates(site.ranks, site.blocks), key=lambda one: site.truth.seconds(one, n))


@pytest.mark.parametrize("ranks", [1, 2, 4, 6])
def test_times_are_predicted_as_a_simulation_of_every_column_has_them(ranks: int) -> None:
    site = Site(Truth(spread=1e-5), ranks=ranks)
    costs = site.costs()
    for one in candidates(ranks, BLOCKS):
        predicted, truth = costs.times(one, 3000).total_s, site.truth.seconds(one, 3000)
        assert predicted == pytest.approx(truth, rel=0.15 if ranks > 1 else 0.02), one


def test_the_best_block_and_grid_are_found_with_few_tries() -> None:
    site = Site(Truth())
    tuning = site.tuned()
    assert tuning.conclusion is not None
    chosen, best = tuning.conclusion.chosen, best_of(site, 4000)
    assert chosen.shape == best.shape
    assert site.truth.seconds(chosen, 4000) <= 1.01 * site.truth.seconds(best, 4000)
    assert site.solved < len(tuning.predicted) / 3
    assert len(tuning.predicted) == len(candidates(4, BLOCKS))


@pytest.mark.parametrize(("slow", "shape"), [("latency", (1, 4)), ("bandwidth", (2, 2))])
def test_the_grid_follows_the_network(slow: str, shape: tuple[int, int]) -> None:
    # A dear reduction for every pivot wants one row; dear bytes want a square, which sends the fewest.
    truth = Truth(latency_s=300e-6) if slow == "latency" else Truth(byte_s=8e-9, latency_s=1e-7)
    site = Site(truth)
    tuning = site.tuned()
    assert tuning.conclusion is not None
    chosen, best = tuning.conclusion.chosen, best_of(site, 4000)
    assert (best.rows, best.columns) == shape, "the truth is made so"
    assert (chosen.rows, chosen.columns) == shape


def test_a_prediction_that_is_wrong_is_corrected_by_the_tries_and_told() -> None:
    plain = Site(Truth())
    favorite = plain.tuned().predicted[0].candidate
    worse = {one: 1.5 for one in candidates(4, BLOCKS) if one.shape == favorite.shape}
    site = Site(Truth(unforeseen=worse))
    tuning = site.tuned()
    assert tuning.conclusion is not None
    assert tuning.predicted[0].candidate == favorite, "what is predicted does not know"
    assert tuning.conclusion.chosen.shape != favorite.shape
    tries = [each for each in tuning.rounds[0].tries if each.candidate.shape == favorite.shape]
    assert [each.kept for each in tries] == [False]
    assert tries[0].error == pytest.approx(1 / 1.5 - 1, abs=0.15)
    errors = [abs(each.error) for part in tuning.rounds for each in part.tries if each.error is not None]
    assert any(units.share(float(np.median(errors))) in words for words in tuning.conclusion.words)


def test_what_lies_within_the_noise_has_no_winner() -> None:
    site = Site(Truth(spread=0.1), ranks=2)
    tuning = site.tuned()
    assert tuning.conclusion is not None
    assert not tuning.conclusion.winner
    deciding = next(each for each in tuning.rounds if each.stage == "decide")
    assert len([each for each in deciding.tries if each.kept]) > 1


def test_a_clear_winner_is_named_with_what_was_gained() -> None:
    others = {one: 1.2 for one in candidates(4, BLOCKS) if one.shape != (96, 2, 2)}
    others |= {one: 1.1 for one in candidates(4, BLOCKS) if one.shape == (96, 2, 2) and one.look_ahead == 0}
    others |= {one: 1.1 for one in candidates(4, BLOCKS) if one.shape == (96, 2, 2) and one.swap == "binomial"}
    others |= {one: 1.1 for one in candidates(4, BLOCKS) if one.shape == (96, 2, 2) and one.broadcast == "long"}
    tuning = Site(Truth(unforeseen=others)).tuned()
    assert tuning.conclusion is not None
    assert tuning.conclusion.winner
    assert tuning.conclusion.chosen == Candidate(block=96, rows=2, columns=2)
    assert tuning.conclusion.chosen.label in tuning.conclusion.words[0]
    assert untuned(4).label in tuning.conclusion.words[1]


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_too_few_launches_name_no_winner(factor: float) -> None:
    best = Candidate(block=96, rows=2, columns=2)
    site = Site(Truth(unforeseen={one: factor for one in candidates(4, BLOCKS) if one != best}))
    tuning = site.begun()
    while tuning.conclusion is None:
        tuning = advanced(tuning, site.evidence())
        if tuning.conclusion is None:
            site.run(tuning)
            site.summaries = [
                one.model_copy(update={"launch_medians": [one.median if factor > 1 else 1.0] * 2})
                if one.metric == "time_s" and one.ranks == 4 and one.benchmark == BENCHMARK
                else one
                for one in site.summaries
            ]
    assert not tuning.conclusion.winner
    deciding = next(each for each in tuning.rounds if each.stage == "decide")
    kept = sum(each.kept for each in deciding.tries)
    alike = f"{kept} of {len(deciding.tries)} "
    assert (alike in tuning.conclusion.words[0]) == (factor == 1), "how many cannot be told apart"
    if factor > 1:
        assert kept == 1
        assert tuning.conclusion.chosen == best, "what is twice as fast is chosen all the same"
        assert best.label in tuning.conclusion.words[0]


def test_a_search_goes_on_from_its_record_as_it_would_have_gone() -> None:
    whole, broken = Site(Truth()), Site(Truth())
    expected = whole.tuned()
    tuning = broken.begun()
    while tuning.conclusion is None:
        tuning = Tuning.model_validate_json(tuning.model_dump_json())
        tuning = advanced(tuning, broken.evidence())
        if tuning.conclusion is None:
            broken.run(tuning)
    assert tuning == expected
    assert advanced(expected.model_copy(update={"conclusion": None}), whole.evidence()) == expected
    assert broken.solved == whole.solved


def test_n_comes_from_the_memory_or_from_the_time() -> None:
    by_memory = Site(Truth(), memory=0.6 * GIB, asked={"seconds": None}).tuned().size
    by_time = Site(Truth(), asked={"seconds": 0.5}).tuned().size
    assert by_memory is not None
    assert by_time is not None
    assert by_memory.n <= by_memory.memory_n < by_memory.n + 256
    assert by_memory.why == "80 % of the memory"
    site = Site(Truth())
    best = min(candidates(4, BLOCKS), key=lambda one: site.costs().times(one, by_time.n).total_s)
    assert 0.4 < site.costs().times(best, by_time.n).total_s <= 0.5
    assert by_time.memory_n > by_time.n


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("ranks", [1, 3, 8])
def test_the_largest_n_fits_and_one_block_more_does_not(fraction: float, ranks: int) -> None:
    one = untuned(ranks)
    n = largest_n([HostMemory(8 * GIB, ranks)], fraction, one)
    room = fraction * 8 * GIB / ranks - (96 << 20)
    assert n % one.block == 0
    assert bytes_of_process(n, one) <= room < bytes_of_process(n + one.block, one)


def test_a_memory_without_room_is_refused() -> None:
    with pytest.raises(ScopeError, match=f"n={FEWEST_EQUATIONS}$"):
        Site(Truth(), memory=1e6, asked={}).tuned()


def test_tries_that_fail_are_dropped_and_none_left_is_told() -> None:
    def failed(one: Summary) -> Summary:
        return one.model_copy(update={"valid": False, "reason": "failed: scaled residual 1e5, must be below 16"})

    site = Site(Truth())
    tuning = advanced(site.begun(), site.evidence())
    site.run(tuning)
    tried = tuning.rounds[-1].tries[0].candidate
    site.summaries = [
        failed(one) if one.ranks == 4 and one.parameters.get("block") == tried.block else one
        for one in site.summaries
    ]
    after = advanced(tuning, site.evidence()).rounds[0].tries
    assert not any(each.kept for each in after if each.candidate.block == tried.block)
    assert "scaled residual" in after[0].verdict
    site.summaries = [
        failed(one) if one.ranks == 4 and one.benchmark == BENCHMARK else one for one in site.summaries
    ]
    with pytest.raises(ScopeError, match=rf"{BENCHMARK} n=\d+: .*: scaled residual"):
        advanced(tuning, site.evidence())


def test_what_cannot_differ_is_not_possible_twice() -> None:
    assert len(candidates(1, [64, 128])) == 2
    assert len(candidates(2, [64])) == 2 * 2 + 2, "two ways to broadcast and look-ahead; two ways to exchange"
    for ranks in (1, 2, 6, 7):
        found = candidates(ranks, [64])
        assert len(set(found)) == len(found)
        assert all(one.ranks == ranks for one in found)
        assert Candidate(block=64, rows=1, columns=ranks) in found


@pytest.mark.parametrize(("factor", "told"), [(1.0, False), (2.0, True)])
def test_predictions_that_are_far_off_are_called_so(factor: float, told: bool) -> None:
    tuning = Site(Truth(unforeseen=dict.fromkeys(candidates(4, BLOCKS), factor))).tuned()
    assert tuning.conclusion is not None
    assert any(words.startswith("errors this large") for words in tuning.conclusion.words) == told


def test_what_predictions_lack_is_named() -> None:
    for benchmark, words in (
        ("node.matrix_multiply", "node.matrix_multiply"),
        ("mpi.latency", "message"),
        ("algorithm.linpack", "algorithm.linpack"),
    ):
        site = Site(Truth())
        site.summaries = [one for one in site.summaries if one.benchmark != benchmark]
        with pytest.raises(ScopeError, match=words):
            site.costs()


def test_products_that_slow_each_other_make_every_prediction_longer() -> None:
    site = Site(Truth())
    slow = [one.model_copy(update={"median": 1.3 * (one.median or 0.0)}) for one in site.summaries]
    mixed = [
        b if b.benchmark == "node.matrix_multiply" and b.ranks == 4 else a
        for a, b in zip(site.summaries, slow, strict=True)
    ]
    slowed = calibration.costs(measured(mixed, LAUNCHES), 4, 4)
    assert slowed.contention == pytest.approx(1.3, rel=0.01)
    one = untuned(4)
    assert 1.2 < slowed.times(one, 4000).total_s / site.costs().times(one, 4000).total_s < 1.31
