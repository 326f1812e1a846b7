"""The kernels of a BLAS compared in pairs with the kernels in use, and what to set: `tune-blas.json`."""

from hpcscope import units
from hpcscope.comparison.paired import PairedCase
from hpcscope.strict import Strict

FILE = "tune-blas.json"


class Rival(Strict):
    """Kernels that are not in use, interleaved with those in use."""

    kernels: str
    setting: str | None
    """The value of the variable that chooses them; None: the library chooses them by itself."""
    cases: list[PairedCase]
    """A: the kernels in use, B: these kernels. The first case shows what programs gain."""

    @property
    def measured(self) -> bool:
        """Whether the product in double precision, which comes first, has a result."""
        return bool(self.cases) and "precision=single" not in self.cases[0].a

    @property
    def faster(self) -> bool:
        """Whether the first case is faster with these kernels, and none is slower."""
        return (
            self.measured
            and self.cases[0].verdict == "better"
            and all(case.verdict != "worse" for case in self.cases)
        )


class KernelTuning(Strict):
    """`tune-blas.json`."""

    format: int
    library: str
    """Name and version."""
    variable: str
    """The environment variable that chooses kernels."""
    kernels: str
    """The kernels that were in use before."""
    setting: str | None
    """Value of the variable before; None: not set."""
    rivals: list[Rival] = []

    @property
    def best(self) -> Rival | None:
        """The rival with the greatest gain; None: keep the kernels in use."""
        return max(
            (rival for rival in self.rivals if rival.faster), key=lambda one: one.cases[0].ratio or 0, default=None
        )

    @property
    def words(self) -> list[str]:
        """What to do, with the values that support it."""
        best = self.best
        if best is not None:
            how = f"export {self.variable}={best.setting}" if best.setting else f"unset {self.variable}"
            return [f"Set: {how}", self._beside(best)]
        if not self.rivals:
            return [
                f"Keep the {self.kernels} kernels: Scope knows no other kernels of {self.library}"
                " that this processor can run"
            ]
        kept = f"Keep the {self.kernels} kernels: no other kernels are faster at 95 % confidence"
        return [kept, *map(self._beside, self.rivals)]

    def _beside(self, rival: Rival) -> str:
        rates = "; ".join(f"{case.label}: {_figure(case)}" for case in rival.cases)
        return f"{rival.kernels} kernels, rates relative to {self.kernels} kernels: {rates}"


def _figure(case: PairedCase) -> str:
    if case.ratio is None:
        return f"not known ({case.reason})"
    return f"{units.share(case.ratio, case.ratio_low, case.ratio_high)} ({case.verdict})"
