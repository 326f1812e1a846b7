"""The record of a search, `tune-storage.json`."""

from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict
from hpcscope.tune.storage.candidates import Direction, FileAccess

FILE = "tune-storage.json"


class StorageSearchSettings(Strict):
    """The settings of the search, as requested."""

    direction: Direction
    storage: str
    """The directory of the files."""
    file_bytes: int
    """Bytes of each rank's file."""
    ranks: list[int]
    """Numbers of ranks to choose from."""
    files: list[str]
    """`shared`, `per_process` or both."""
    trials: int
    time_s: float | None = None
    """Time of the search; None: the time that all trials need."""
    launches: int


class Trial(Strict):
    """A candidate that was measured."""

    candidate: FileAccess
    predicted_bytes_per_s: float | None
    """None for the measurements on which the predictions are based."""
    measured_bytes_per_s: Estimate | None = None
    """None: not measured, for the reason in `verdict`."""
    of_fastest: Estimate | None = None
    """Its bandwidth over the bandwidth of the fastest, launch by launch if they share launches."""
    kept: bool = False
    """Whether it is the fastest or within its noise."""
    verdict: str = ""

    @property
    def error(self) -> float | None:
        """Predicted over measured, minus 1."""
        if self.predicted_bytes_per_s is None or self.measured_bytes_per_s is None:
            return None
        return self.predicted_bytes_per_s / self.measured_bytes_per_s.value - 1


class PredictedBandwidth(Strict):
    """The predicted bandwidth of a candidate."""

    candidate: FileAccess
    bytes_per_s: float


class StorageConclusion(Strict):
    """The result of the search."""

    chosen: FileAccess
    bytes_per_s: Estimate
    winner: bool
    """Whether it is significantly faster than all others; if not, it is the simplest of those within the noise."""
    words: list[str]


class StorageTuning(Strict):
    """`tune-storage.json`."""

    format: int
    settings: StorageSearchSettings
    predicted: list[PredictedBandwidth] = []
    """All candidates, the fastest first."""
    enough_ranks: float | None = None
    """Number of ranks beyond which the predicted gain is less than a tenth. None if every measured number
    gains, or with fewer than three numbers of ranks, which do not test the law."""
    trials: list[Trial] = []
    conclusion: StorageConclusion | None = None
