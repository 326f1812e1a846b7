"""For what a run is simulated or predicted, and the limits of that."""

from dataclasses import dataclass

from hpcscope.settings.kinds import DAY_S, Choice, Duration, Flag, Number, Several, Size, Text, Whole, parts
from hpcscope.settings.table import SettingsTable, setting

_count = Whole(1, 1 << 24)


class RankCounts(Several):
    """Numbers of ranks: a list such as `2,4,8`, or `1..64` for the powers of two and both ends."""

    def __init__(self) -> None:
        super().__init__(_count, metavar="2,4,8")

    def typed(self, text: str) -> tuple[int, ...]:
        """Return the numbers that were typed."""
        found: list[int] = []
        for part in parts(text):
            low, _, last = part.partition("..")
            first, high = _count.typed(low), _count.typed(last or low)
            if high < first:
                raise ValueError("must be numbers such as 2,4,8 or a range such as 1..64")
            powers = (1 << power for power in range(first.bit_length(), high.bit_length()))
            found += [first, *(power for power in powers if power < high), high]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class SimulationSettings(SettingsTable):
    """The platform and ranks for which a run is simulated, and the limits of that."""

    ranks: tuple[int, ...] = setting(
        (), RankCounts(), "Additional numbers of ranks: a list such as 16,64, or 16..1024."
    )
    hosts: int | None = setting(None, _count, "Number of hosts, each like the hosts of the run.")
    topology: str | None = setting(
        None, Choice("fat-tree", "dragonfly", "torus"), "Network to simulate, with links like the run's."
    )
    cost: float | None = setting(
        None, Number(above=True), "Cost of the change in any currency, to show the cost of each percent gained."
    )
    collectives: str | None = setting(
        None,
        Choice("openmpi", "mpich", "mvapich", "intelmpi"),
        "Library whose choice of algorithms is simulated; default: the run's library.",
    )
    share_memory: bool = setting(
        False,
        Flag(),
        "Let all ranks share one buffer in benchmarks that do not compute, even if each could have its own. "
        "Scope then does not verify data.",
    )
    own_cores: bool = setting(
        False, Flag(), "Give each host of a lab its own cores, as real hosts have; in the lab they share cores."
    )
    memory_bytes: int | None = setting(None, Size(1), "Memory limit; default: most of the free memory.")
    limit_s: float = setting(120.0, Duration(30 * DAY_S), "Time limit of a case, or of the program.")


@dataclass(frozen=True)
class PredictionSettings(SettingsTable):
    """The problem and ranks for which an algorithm is predicted."""

    ranks: tuple[int, ...] = setting(
        tuple(range(1, 17)),
        RankCounts(),
        "Numbers of ranks: a list such as 2,4,8, or 1..64 for 1, 64 and all powers of two between.",
    )
    grid_rows: int = setting(
        0, Whole(0, 1 << 24), "Rows of the process grid; 0: the algorithm's choice, usually a square."
    )
    grids: bool = setting(False, Flag(), "Predict all process grids of each number of ranks, best first.")
    transport: str = setting("default", Text(metavar="NAME"), "Transport of MPI messages: default or tcp.")
