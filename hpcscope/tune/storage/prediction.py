"""Bandwidths of all candidates from a few: effects of the method, the transfer size and the number of ranks.

B = B(method, usual transfers, most ranks) x effect of the transfer size x effect of the ranks. A transfer of m
bytes takes a + b m (Hockney 1994, The communication challenge for MPP), so the effect of a size is m / (a + b m);
p ranks reach p / (c + p s), as in `hpcscope.models.scaling.saturation`. Effects are measured one at a time,
starting from the usual candidate, and are assumed to be the same for all methods: trials show how far that is
true.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hpcscope.errors import ScopeError
from hpcscope.models.scaling.amdahl import nonnegative
from hpcscope.models.scaling.saturation import ENOUGH
from hpcscope.samples.samples import Floats
from hpcscope.tune.storage.candidates import USUAL_TRANSFER, FileAccess, candidates

Rates = Mapping[FileAccess, float]
"""Measured bandwidths, in B/s."""


def calibration(ranks: Sequence[int], file_bytes: int, files: Sequence[str]) -> list[FileAccess]:
    """Return the candidates whose bandwidths the predictions need."""
    every = list(candidates(ranks, file_bytes, files))
    most, usual = max(ranks), min(USUAL_TRANSFER, file_bytes)
    at_most = [access for access in every if access.ranks == most]
    if not at_most:
        raise ScopeError("no way to access files satisfies the options")
    base = at_most[0].model_copy(update={"transfer_bytes": usual})
    methods = [access for access in at_most if access.transfer_bytes == usual]
    sizes = sorted({access.transfer_bytes for access in every})
    transfers = [base.model_copy(update={"transfer_bytes": size}) for size in (sizes[0], sizes[-1])]
    counts = [base.model_copy(update={"ranks": count}) for count in ranks if count < most]
    return list(dict.fromkeys([base, *methods, *transfers, *[access for access in counts if access in every]]))


@dataclass(frozen=True)
class Predictor:
    """Predicts the bandwidth of every candidate."""

    base: FileAccess
    rates: Rates
    transfer: tuple[float, float]
    """a and b of the time of a transfer, up to a common factor."""
    processes: tuple[float, float]
    """c and s of the time per byte, up to a common factor."""

    def rate(self, candidate: FileAccess) -> float:
        """Return the predicted bandwidth, in B/s; for a measured candidate, the measured bandwidth."""
        if candidate in self.rates:
            return self.rates[candidate]
        like = {"ranks": self.base.ranks, "transfer_bytes": self.base.transfer_bytes}
        method = self.rates.get(candidate.model_copy(update=like), self.rates[self.base])
        return (
            method
            * _effect(self.transfer, candidate.transfer_bytes)
            / _effect(self.transfer, self.base.transfer_bytes)
            * _effect(self.processes, candidate.ranks)
            / _effect(self.processes, self.base.ranks)
        )

    @property
    def enough_ranks(self) -> float:
        """The number of ranks that reach 90 % of the saturated bandwidth; infinite if no number does."""
        own, shared = self.processes
        return max(ENOUGH / (1 - ENOUGH) * own / shared, 1.0) if shared > 0 else float("inf")


def fitted(base: FileAccess, rates: Rates) -> Predictor:
    """Return the predictor from the measured calibration; raises ScopeError if its base was not measured."""
    if base not in rates:
        raise ScopeError(f"{base.label}: no valid sample, so that nothing can be predicted")
    of_size = {
        access.transfer_bytes: rate for access, rate in rates.items() if _differs(access, base, "transfer_bytes")
    }
    of_count = {access.ranks: rate for access, rate in rates.items() if _differs(access, base, "ranks")}
    sizes, counts = (np.array(sorted(numbers), dtype=np.float64) for numbers in (of_size, of_count))
    return Predictor(
        base,
        rates,
        _line(sizes, np.array([size / of_size[int(size)] for size in sizes])),
        _line(counts, np.array([count / of_count[int(count)] for count in counts])),
    )


def _differs(access: FileAccess, base: FileAccess, name: str) -> bool:
    """Return whether a candidate differs from the base in at most this one choice."""
    return access.model_copy(update={name: getattr(base, name)}) == base


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    """Fit y = a + b x by relative least squares, a and b nonnegative; one point gives y = b x."""
    if x.size < 2:
        return 0.0, float(y[0] / x[0])
    design = np.column_stack([np.ones_like(x), x]) / y[:, None]
    a, b = nonnegative(design, np.ones((x.size, 1)))[:, 0]
    return float(a), float(b)


def _effect(line: tuple[float, float], x: float) -> float:
    return x / (line[0] + line[1] * x)
