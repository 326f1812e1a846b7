"""How much longer work takes while other ranks of a host work, too, from the rates that they share.

The part of a time in which data come from memory at the bandwidth of one rank grows as the bandwidth per rank
falls with the number of ranks; the rest grows as the arithmetic rate per rank falls.
"""

from collections import defaultdict

import numpy as np

from hpcscope.catalog.benchmark import Pattern
from hpcscope.models.fitting.draws import draw
from hpcscope.models.measurements import Measurements
from hpcscope.models.prediction.one_process import Rates, interpolated
from hpcscope.samples.samples import Floats
from hpcscope.statistics.bootstrap import DRAWS

SEED = 17


class Contention:
    """Rates of one and of several ranks on one host."""

    def __init__(self, measurements: Measurements) -> None:
        self._measurements = measurements
        self._random = np.random.default_rng(SEED)
        self._memory = self._rates("memory", "B/s")
        self._arithmetic = self._rates("arithmetic", "flop/s")

    def longer(self, time_s: Floats, processes: int, touched_bytes: float, passes: float) -> Floats:
        """Return the time of one rank's work when `processes` ranks of its host do such work at the same time.

        `touched_bytes`: memory of one rank, which the work passes through at least `passes` times.
        """
        if processes < 2:
            return time_s
        place = float(np.log(max(touched_bytes, 1.0)))
        from_memory = np.zeros_like(time_s)
        if 1 in self._memory and touched_bytes:
            rate = interpolated(*self._memory[1], place)
            from_memory = np.minimum(passes * touched_bytes / rate, time_s)
        in_cores = (time_s - from_memory) * self._slowdown(self._arithmetic, processes, 0.0)
        return np.asarray(
            in_cores + from_memory * self._slowdown(self._memory, processes, place), dtype=np.float64
        )

    def _slowdown(self, rates: dict[int, Rates], processes: int, place: float) -> Floats:
        """Interpolate over the measured numbers of ranks; 1 unless one rank and several ranks were measured."""
        each = {count: interpolated(*found, place) / count for count, found in sorted(rates.items())}
        if 1 not in each:
            return np.ones(1 + DRAWS)
        slower = np.array([each[1] / alone for alone in each.values()])
        return interpolated(np.array([*each], dtype=np.float64), slower, float(processes))

    def _rates(self, pattern: Pattern, unit: str) -> dict[int, Rates]:
        """Return the rates by number of ranks: the best for each number of bytes that a rank touches."""
        found: dict[int, dict[float, Floats]] = defaultdict(dict)
        for on in self._measurements.standing(pattern, "limit", unit):
            case = on.summary
            if len({*self._measurements.hosts(case)}) == 1 and not self._measurements.is_oversubscribed(case):
                touched = max(case.work.bytes / case.ranks if case.work else 0.0, 1.0)
                drawn, known = draw(case, self._random), found[case.ranks].get(touched)
                found[case.ranks][touched] = drawn if known is None or drawn[0] > known[0] else known
        return {
            count: (np.log(sorted(by_bytes)), np.array([by_bytes[size] for size in sorted(by_bytes)]))
            for count, by_bytes in found.items()
        }
