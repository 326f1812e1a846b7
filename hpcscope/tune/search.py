"""The search: many candidates at a small order, fewer at a larger one, the last ones at full order.

Predictions select what is measured at all, and measurements correct them: at the last size, a candidate is
expected to deviate from its prediction as it did at the measured size. The trials of a round share their launches,
so candidates are compared launch by launch.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from hpcscope import units
from hpcscope.errors import ScopeError
from hpcscope.statistics.summary import Summary
from hpcscope.tune.candidates import Candidate, candidates, plainness, untuned
from hpcscope.tune.conclusion import concluded
from hpcscope.tune.costs import SOURCE, LuCosts
from hpcscope.tune.judgement import chosen, judged
from hpcscope.tune.memory import HostMemory, largest_n
from hpcscope.tune.record import LinpackSearchSettings, PredictedTime, Round, Size, Stage, Try, Tuning, flops

SMALLEST_N = 500
"""Smaller orders say little about larger ones."""
VARIANTS = 2
"""Variants of the fastest shape that join it in the next round."""
SHARE_OF_N = {"screen": 0.25, "refine": 0.5, "decide": 1.0}
FAR_BELOW_HALF = 0.35
"""Sizes are measured down to this fraction of the best predicted rate, which brackets half of that rate."""
FEWEST_EQUATIONS = 32
MOST_EQUATIONS = 1_000_000


@dataclass(frozen=True)
class SearchState:
    """The state of the search."""

    summaries: list[Summary]
    costs: LuCosts
    memory: Sequence[HostMemory]


def advanced(tuning: Tuning, evidence: SearchState) -> Tuning:
    """Return the record with its last round judged, and with the next round or the conclusion.

    Raises ScopeError if no candidate can run.
    """
    if not tuning.rounds:
        return _begun(tuning, evidence)
    last = tuning.rounds[-1]
    if not last.judged:
        tuning = tuning.model_copy(
            update={"rounds": [*tuning.rounds[:-1], judged(last, tuning, evidence.summaries)]}
        )
    following = _next_round(tuning, evidence)
    if following is not None:
        return tuning.model_copy(update={"rounds": [*tuning.rounds, following]})
    return tuning.model_copy(update={"conclusion": concluded(tuning)})


def _begun(tuning: Tuning, evidence: SearchState) -> Tuning:
    """Choose the last size, predict all candidates there, and choose the first round."""
    asked, costs = tuning.settings, evidence.costs
    possible = [
        candidate for candidate in candidates(asked.ranks, asked.blocks) if candidate.block in costs.blocks
    ]
    size = _size(asked, possible, evidence)
    predicted = sorted(
        (
            PredictedTime(candidate=candidate, seconds=costs.times(candidate, size.n).total_s)
            for candidate in possible
        ),
        key=lambda prediction: (prediction.seconds, plainness(prediction.candidate)),
    )
    begun = tuning.model_copy(
        update={"size": size, "predicted": predicted, "contention": costs.contention, "source": SOURCE}
    )
    fastest: dict[tuple[int, int, int], tuple[int, PredictedTime]] = {}
    for place, time in enumerate(predicted, start=1):
        fastest.setdefault(time.candidate.shape, (place, time))
    chosen = {
        prediction.candidate: f"prediction ranks it {place} of {len(predicted)}"
        for place, prediction in list(fastest.values())[: asked.tries]
    }
    plain = untuned(asked.ranks)
    if any(prediction.candidate == plain for prediction in predicted):
        chosen.setdefault(plain, "the benchmark's defaults")
    return begun.model_copy(update={"rounds": [_round("screen", chosen, size.n, costs)]})


def _size(asked: LinpackSearchSettings, possible: list[Candidate], evidence: SearchState) -> Size:
    """Return the last size: the requested one, or the largest that memory and time allow."""
    plain = untuned(asked.ranks).model_copy(update={"block": max(asked.blocks)})
    memory_n = min(largest_n(evidence.memory, asked.memory_fraction, plain), MOST_EQUATIONS)
    share = units.share(asked.memory_fraction)
    if asked.n is not None:
        return Size(n=asked.n, memory_n=memory_n, why="as requested")
    if memory_n < FEWEST_EQUATIONS:
        raise ScopeError(f"{share} of the memory is too small for n={FEWEST_EQUATIONS}")
    best = min(possible, key=lambda candidate: evidence.costs.times(candidate, memory_n).total_s)
    in_memory = memory_n // best.block * best.block or memory_n
    if asked.seconds is None or evidence.costs.times(best, in_memory).total_s <= asked.seconds:
        return Size(n=in_memory, memory_n=memory_n, why=f"{share} of the memory")
    orders = range(best.block, max(in_memory, best.block) + 1, best.block)
    in_time = bisect_right(orders, asked.seconds, key=lambda n: evidence.costs.times(best, n).total_s)
    why = f"predicted to take {units.quantity(asked.seconds, 's')}; {share} of the memory allows n = {memory_n}"
    return Size(n=orders[max(in_time, 1) - 1], memory_n=memory_n, why=why)


def _round(stage: Stage, chosen: dict[Candidate, str], last_n: int, costs: LuCosts) -> Round:
    n = last_n
    if stage != "decide" and SHARE_OF_N[stage] * last_n >= SMALLEST_N:
        n = int(SHARE_OF_N[stage] * last_n)
    return Round(stage=stage, tries=[_try(candidate, n, why, costs) for candidate, why in chosen.items()])


def _try(candidate: Candidate, n: int, why: str, costs: LuCosts) -> Try:
    return Try(candidate=candidate, n=n, why=why, predicted_s=costs.times(candidate, n).total_s)


def _next_round(tuning: Tuning, evidence: SearchState) -> Round | None:
    """Return the next round; None after the last round."""
    last, size = tuning.rounds[-1], tuning.size
    assert size is not None
    kept = {trial.candidate: trial.verdict for trial in last.tries if trial.kept}
    if last.stage == "sizes":
        return None
    if last.stage == "decide" or last.tries[0].n == size.n:
        return _sizes(chosen(last)[0], size.n, evidence.costs)
    if last.stage == "screen":
        best = min(
            (trial for trial in last.tries if trial.kept), key=lambda each: each.expected_s or 0.0
        ).candidate
        variants = [p.candidate for p in tuning.predicted if p.candidate.shape == best.shape]
        fresh = [candidate for candidate in variants if candidate not in kept and candidate != best][:VARIANTS]
        for trial in fresh:
            kept[trial] = f"a variant of {best.label}"
        return _round("refine", kept, size.n, evidence.costs)
    return _round("decide", kept, size.n, evidence.costs)


def _sizes(candidate: Candidate, n: int, costs: LuCosts) -> Round | None:
    """Return a round at n/2, n/4, ... until the rate is far below half of the best; None if n is small."""
    best = flops(n) / costs.times(candidate, n).total_s
    sizes = []
    while (n := n // 2) >= FEWEST_EQUATIONS:
        sizes.append(n)
        if flops(n) / costs.times(candidate, n).total_s < FAR_BELOW_HALF * best:
            break
    tries = [_try(candidate, size, "rate by size", costs) for size in sizes]
    return Round(stage="sizes", tries=tries) if tries else None
