"""How often the intervals that Scope prints hold the truth; promised are 95 %.

Simulated times of known truth go through the functions of the product: one launch, a few launches together, the
medians of launches, ratios of two cases, fitted models, breaks of curves and errors of predictions. Samples are
independent, depend on their predecessors (AR(1)), come from a machine that changes between two states, or from
launches that differ, independently or as a machine that drifts.
usage: python benchmarks/interval_coverage.py [--only NAME ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.signal import lfilter
from scipy.stats import norm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hpcscope.models.communication.hockney import Hockney
from hpcscope.models.fitting.curve import curves
from hpcscope.models.fitting.fit import Fit
from hpcscope.models.fitting.model import Model, all_models
from hpcscope.models.prediction.model_error import error_range
from hpcscope.plan.further import FEWEST_VISITS, VISITS
from hpcscope.samples.samples import Floats
from hpcscope.statistics.bootstrap import estimate, medians
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.figures import describe
from hpcscope.statistics.order_statistics import median_interval
from hpcscope.statistics.ratio import PerLaunch, ratio
from hpcscope.statistics.summary import Summary
from tests.declared import catalog
from tests.models.breaking import BASELINE, CONTINUOUS, claims, jumping, looked_at_again
from tests.models.curves import noisy, summary

TRIALS = 1000
CURVES = 300
BARRIER = ("mpi.barrier", "time_s", "global")
NOISE = 0.05
"""Standard deviation of the logarithm of a time within a launch."""
LAUNCH = 0.05
"""The same of the levels of launches."""
SLOW, SLOW_SHARE, DWELL = 1.5, 0.3, 10
"""A second state: its factor, its share of the time, and the repetitions that it lasts."""
STEPS = 20
"""Of the machine's drift between two launches of a case."""
VISIT, VISIT_FACTOR = 0.02, 1.7
"""Standard deviation of the logarithm of a visit's median, and the factor between two states of the machine."""
APART_S, SLOW_S = 6.0, 10.0
"""From one visit to the next, and how long a slow state lasts on average."""
PRECISION = 0.02
LOW, HIGH = 0.93, 0.97

Draw = Callable[[np.random.Generator, int], Floats]


def autoregressive(random: np.random.Generator, rows: int, count: int, coefficient: float) -> Floats:
    """Return stationary AR(1) series of standard deviation 1, shape (rows, count)."""
    shocks = random.normal(size=(rows, count)) * (1 - coefficient**2) ** 0.5
    start = random.normal(size=(rows, 1))
    series: Floats = lfilter([1.0], [1.0, -coefficient], shocks, axis=1, zi=coefficient * start)[0]
    return series


def two_states(random: np.random.Generator, rows: int, count: int) -> Floats:
    """Return which repetitions are slow; each state lasts for a geometrically distributed time."""
    leave = np.array([1 / (DWELL * (1 - SLOW_SHARE) / SLOW_SHARE), 1 / DWELL])
    slow = np.empty((rows, count), dtype=np.int64)
    slow[:, 0] = random.random(rows) < SLOW_SHARE
    for i in range(1, count):
        changes = random.random(rows) < leave[slow[:, i - 1]]
        slow[:, i] = np.where(changes, 1 - slow[:, i - 1], slow[:, i - 1])
    return slow.astype(np.float64)


def median_of_states() -> float:
    """Return the median of the logarithms of times that mix both states."""
    step = np.log(SLOW)

    def below(level: float) -> float:
        fast, slow = norm.cdf(level / NOISE), norm.cdf((level - step) / NOISE)
        return float((1 - SLOW_SHARE) * fast + SLOW_SHARE * slow - 0.5)

    return float(brentq(below, -1.0, 1.0 + step))


def median_of_mixture(levels: Floats) -> Floats:
    """Return the median of the logarithms of times of equally long launches, for each row of levels."""
    low, high = levels.min(axis=1), levels.max(axis=1)
    for _ in range(60):
        middle = (low + high) / 2
        below = norm.cdf((middle[:, None] - levels) / NOISE).mean(axis=1) < 0.5
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low


def covered(launches: Floats, truth: Floats) -> float:
    """Return the share of trials whose interval holds the truth; launches have the shape (trials, launches, n)."""
    hits = 0
    for trial, true in zip(launches, truth, strict=True):
        figures = describe(list(np.exp(trial)))
        hits += figures.ci_low is not None and figures.ci_low <= np.exp(true) <= (figures.ci_high or 0.0)
    return hits / len(truth)


def within_a_launch(random: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Judge the interval of one launch, on which sampling stops."""
    for count in (30, 100, 1000):
        independent = NOISE * random.normal(size=(TRIALS, 1, count))
        yield f"one launch of {count} repetitions, independent", covered(independent, np.zeros(TRIALS))
        for coefficient in (0.5, 0.8):
            series = NOISE * autoregressive(random, TRIALS, count, coefficient)[:, None, :]
            yield f"one launch of {count} repetitions, AR(1) {coefficient}", covered(series, np.zeros(TRIALS))
        states = np.log(SLOW) * two_states(random, TRIALS, count) + NOISE * random.normal(size=(TRIALS, count))
        truth = np.full(TRIALS, median_of_states())
        yield f"one launch of {count} repetitions, two states", covered(states[:, None, :], truth)


def few_launches(random: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Judge the interval of fewer than six launches, which speaks of these launches only."""
    for count in (2, 4):
        levels = LAUNCH * random.normal(size=(TRIALS, count))
        for coefficient in (0.0, 0.8):
            noise = autoregressive(random, TRIALS * count, 100, coefficient).reshape(TRIALS, count, 100)
            name = f"{count} launches that differ, AR(1) {coefficient} within each"
            samples = levels[:, :, None] + NOISE * noise
            yield f"{name}; truth: these launches", covered(samples, median_of_mixture(levels))
            yield f"{name}; truth: all launches", covered(samples, np.zeros(TRIALS))


def over_launches(random: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Judge the interval over the medians of at least six launches, of which neighbors may be alike."""
    for count in (6, 12):
        for correlation in (0.0, 0.3, 0.5, 0.8):
            drift = LAUNCH * autoregressive(random, TRIALS, count * STEPS, correlation ** (1 / STEPS))
            if correlation == 0.0:
                drift = LAUNCH * np.repeat(random.normal(size=(TRIALS, count)), STEPS, axis=1)
            levels = drift[:, STEPS // 2 :: STEPS]
            launches = levels[:, :, None] + NOISE * random.normal(size=(TRIALS, count, 30))
            name = f"{count} launches, correlation {correlation}"
            yield f"{name}; truth: all times", covered(launches, np.zeros(TRIALS))
            if correlation:
                yield f"{name}; truth: these minutes", covered(launches, np.median(drift, axis=1))


def in_states(random: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Judge what is printed of short visits to a machine that changes between two states, with the stopping rule.

    Where the states are told apart, the range must hold the medians of both; else the interval that of all times.
    """
    for share in (0.4, 0.5, 0.6):
        told = untold = 0
        for _ in range(TRIALS):
            state = states_at_visits(random, share)
            times = np.exp(VISIT * random.normal(size=VISITS)) * VISIT_FACTOR**state
            count = visits_until_narrow(times)
            launches = [np.array([time]) for time in times[:count]]
            seen = describe(launches, states=state[:count].tolist())
            low, high = seen.ci_low or 0.0, seen.ci_high or 0.0
            both = 0 < state[:count].sum() < count
            only = VISIT_FACTOR ** state[0]
            told += low <= 1.0 and high >= VISIT_FACTOR if both else low <= only <= high
            blind = describe(launches)
            truth = VISIT_FACTOR if share > 0.5 else 1.0
            untold += (blind.ci_low or 0.0) <= truth <= (blind.ci_high or 0.0)
        name = f"8 to 12 visits, {share:.0%} of the time {VISIT_FACTOR} times as slow"
        yield f"{name}; states told apart", told / TRIALS
        if share != 0.5:  # half and half have no median of their own
            yield f"{name}; not told apart; truth: all times", untold / TRIALS


def states_at_visits(random: np.random.Generator, share: float) -> NDArray[np.int64]:
    """Return the state during each visit; a slow state lasts for `SLOW_S` on average."""
    leave_slow = 1 - np.exp(-APART_S / SLOW_S)
    leave_fast = leave_slow * share / (1 - share)
    state = [int(random.random() < share)]
    for _ in range(VISITS - 1):
        leaves = random.random() < (leave_slow if state[-1] else leave_fast)
        state.append(1 - state[-1] if leaves else state[-1])
    return np.array(state)


def visits_until_narrow(times: Floats) -> int:
    """Return how many visits a case gets by the rule of `hpcscope.plan.further`."""
    for count in range(FEWEST_VISITS, VISITS):
        interval = median_interval(times[:count])
        assert interval is not None
        if (interval.high - interval.low) / 2 <= PRECISION * np.median(times[:count]):
            return count
    return VISITS


def ratios(random: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Judge the interval of a ratio of two cases, by the bootstrap."""
    for count in (6, 12):
        hits = 0
        for _ in range(TRIALS):
            one, other = (np.exp(LAUNCH * random.normal(size=count)) for _ in range(2))
            drawn = [medians(each, float(np.median(each)), 0.0, random) for each in (one, other)]
            found = estimate(drawn[0] / drawn[1])
            hits += found.low is not None and found.low <= 1.0 <= (found.high or 0.0)
        yield f"ratio of two cases of {count} launches", hits / TRIALS


def paired_ratios(random: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Judge ratios of cases of the same launches, of a machine that is three times as slow in half of them."""
    for count in (6, 12):
        for tails, noise in (("normal", random.normal), ("heavy-tailed", heavy_tails(random))):
            hits, widths = 0, []
            for _ in range(TRIALS):
                common = np.log(3) * random.integers(2, size=count)
                sides = (common + NOISE * noise(size=count) for _ in range(2))
                one, other = (in_launches(np.exp(side)) for side in sides)
                found = ratio(one, other)
                apart = ratio(PerLaunch(one.estimate), PerLaunch(other.estimate))
                hits += (found.low or 0.0) <= 1.0 <= (found.high or 0.0)
                widths.append([(each.high or 0.0) / (each.low or 1.0) for each in (found, apart)])
            paired, independent = np.median(widths, axis=0)
            name = f"ratio of two cases of the same {count} launches, {tails}"
            yield f"{name}; {paired:.2f} times wide (independent: {independent:.1f})", hits / TRIALS


def heavy_tails(random: np.random.Generator) -> Callable[..., Floats]:
    """Return draws of Student's t with 3 degrees of freedom, scaled to a standard deviation of 1."""
    return lambda size: random.standard_t(3, size) / 3**0.5


def in_launches(values: Floats) -> PerLaunch:
    """Return the figure of a case with one median for each launch."""
    found = describe([np.array([value]) for value in values])
    whole = Estimate(value=found.median or 0.0, low=found.ci_low, high=found.ci_high)
    return PerLaunch(whole, dict(enumerate(found.launch_medians)))


def fits(random: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Judge the parameters of fitted models, from six launches and from three."""
    sizes, counts = (0, 64, 1024, 4096, 16384, 65536, 262144, 1 << 20), (2, 4, 8, 16, 32)
    line = {"latency_s": 1e-6, "per_byte_s": 1 / 8e9, "r_inf_bytes_per_s": 8e9, "n_half_bytes": 8e3}
    tree = {"t_oc_s": 1e-6, "t_s_s": 4e-7}
    for launches in (6, 3):
        straight = [
            [summary(noisy(random, 1e-6 + n / 8e9, launches), message_bytes=n) for n in sizes]
            for _ in range(CURVES)
        ]
        yield from parameters(f"a line, {launches} launches", straight, Hockney(), line)
        steps = [
            [
                summary(noisy(random, 1e-6 + 4e-7 * np.ceil(np.log2(p)), launches), *BARRIER, ranks=p)
                for p in counts
            ]
            for _ in range(CURVES)
        ]
        model = next(one for one in all_models() if one.name == "logarithmic_collective")
        yield from parameters(f"steps of a tree, {launches} launches", steps, model, tree)


def parameters(
    name: str, measured: list[list[Summary]], model: Model, truth: dict[str, float]
) -> Iterator[tuple[str, float]]:
    """Yield for each parameter the share of fits with it whose interval holds the truth."""
    found = [fit for points in measured if isinstance(fit := model.fit(curves(points, catalog())[0]), Fit)]
    known = [{one.name: one for one in fit.parameters} for fit in found]
    for parameter, true in truth.items():
        held = [one[parameter].low <= true <= one[parameter].high for one in known if parameter in one]
        yield f"{name}: {parameter}", float(np.mean(held))


def errors_of_predictions(random: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Judge the range of the next error of predictions, from the errors of others."""
    draws: dict[str, Draw] = {
        "normal": lambda random, count: random.normal(0, 0.1, count),
        "biased by -0.16": lambda random, count: random.normal(-0.16, 0.1, count),
        "heavy-tailed": lambda random, count: 0.1 * heavy_tails(random)(size=count),
    }
    for count in (6, 13, 20):
        for name, draw in [*draws.items(), ("one of them -99 %", draws["normal"])]:
            hits, widths = 0, []
            for _ in range(TRIALS):
                *known, following = draw(random, count + 1)
                if name.startswith("one"):
                    known[0] = np.log(0.01)
                low, high = error_range(known)
                hits += low <= following <= high
                widths.append(np.exp((high - low) / 2))
            yield f"{count} errors, {name}; x/÷ {np.median(widths):.2f}", hits / TRIALS


def breaks(random: np.random.Generator) -> None:
    """Print how often a jump is claimed where there is none and where there is one, and how well it is sized."""
    print(
        "\n| curve on the sizes of the baseline | scatter | claimed | size within 10 % | interval holds the jump |"
    )
    print("|---|---|---|---|---|")
    for spread in (0.005, 0.02):
        for name, kind in CONTINUOUS.items():
            false = [any(claims(looked_at_again(random, kind(random), BASELINE, spread))) for _ in range(CURVES)]
            print(f"| {name} | {100 * spread:g} % | {100 * np.mean(false):.1f} % | | |", flush=True)
        for share in (0.3, 1.0, -0.3):
            near, held = [], []
            for _ in range(CURVES):
                limit, truth = jumping(random, share)
                for found, point in claims(looked_at_again(random, truth, BASELINE, spread)):
                    if point.last_before <= limit < point.first_after:
                        low, _, high = point.jump_s.bounds
                        near.append(abs(found / share - 1) <= 0.1)
                        held.append(low <= share * truth(limit) <= high)
            figures = " | ".join(
                f"{100 * one:.1f} %" for one in (len(near) / CURVES, np.mean(near), np.mean(held))
            )
            print(f"| a jump of {share:+.0%} | {100 * spread:g} % | {figures} |", flush=True)


STUDIES = (
    *(within_a_launch, few_launches, over_launches, in_states, ratios, paired_ratios),
    *(fits, errors_of_predictions),
)


def main() -> None:
    """Print a table in Markdown; shares outside 93-97 % are marked."""
    arguments = argparse.ArgumentParser(description=__doc__)
    names = [study.__name__ for study in STUDIES]
    arguments.add_argument("--only", nargs="*", choices=[*names, "breaks"], default=[*names, "breaks"])
    asked = arguments.parse_args().only
    for study in STUDIES:
        if study.__name__ in asked:
            print(f"\n| {study.__name__.replace('_', ' ')} | coverage |\n|---|---|")
            for name, share in study(np.random.default_rng(1)):
                mark = "" if LOW <= share <= HIGH else " (!)"
                print(f"| {name} | {100 * share:.1f} %{mark} |", flush=True)
    if "breaks" in asked:
        breaks(np.random.default_rng(1))


if __name__ == "__main__":
    main()
