"""Where each rank was when a case was ended from outside, and which ranks the others waited for."""

from collections.abc import Mapping

from hpcscope.launch.diagnosis import Death
from hpcscope.launch.supervision.progress import Slot
from hpcscope.samples.records import RankState

SILENCE_S = 2.5
"""A rank renews its slot every half second; one that has not for so long is not running."""


def rank_states(
    ranks: int,
    slots: Mapping[int, Slot],
    silence_s: Mapping[int, float],
    states: Mapping[int, str],
    death: Death | None = None,
) -> list[RankState]:
    """Return the state of every rank and whether it arrived where the others waited.

    `silence_s` is the time since each rank last renewed its slot, `states` the kernel's state of its process. A
    rank is missing when it never appeared, died, is stopped or is silent. Where none is, and the case was ended
    from outside, the ranks behind the most advanced one are missing; where all are equally advanced, the one that
    sleeps while others spin in a call. After a death, slots show only when each rank wrote its last one.
    """
    missing = {rank for rank in range(ranks) if _absent(rank, slots, silence_s, states, death)}
    if not missing and death is None:
        furthest = max(slot.advance for slot in slots.values())
        missing = {rank for rank, slot in slots.items() if slot.advance < furthest}
    if not missing and death is None and {"running", "sleeping"} <= set(states.values()):
        missing = {rank for rank, word in states.items() if word == "sleeping"}
    return [_state(rank, slots.get(rank), silence_s, states, rank not in missing) for rank in range(ranks)]


def missing_ranks(states: list[RankState]) -> str:
    """Name the ranks that did not arrive, with their hosts."""
    late = [str(state) for state in states if not state.arrived]
    if not late:
        return "all ranks were alive and equally advanced"
    return "did not arrive: " + ", ".join(late[:8]) + (f" and {len(late) - 8} more" if len(late) > 8 else "")


def _absent(
    rank: int,
    slots: Mapping[int, Slot],
    silence_s: Mapping[int, float],
    states: Mapping[int, str],
    death: Death | None,
) -> bool:
    if rank not in slots:
        return True
    if death is not None:  # the launcher killed all other ranks itself: only its message tells which died first
        return rank == death.rank or (death.pid is not None and slots[rank].pid == death.pid)
    return states.get(rank) in ("stopped", "gone") or silence_s.get(rank, 0.0) > SILENCE_S


def _state(
    rank: int, slot: Slot | None, silence_s: Mapping[int, float], states: Mapping[int, str], arrived: bool
) -> RankState:
    slot = slot or Slot(
        rank, host="unknown", pid=0, position=0, stage="connecting", repetition=0, heartbeat_unix_s=0
    )
    return RankState(
        rank=rank,
        host=slot.host,
        pid=slot.pid,
        stage=slot.stage,
        repetition=slot.repetition,
        last_heartbeat_s=round(silence_s.get(rank, 0.0), 3),
        state=states.get(rank, "unknown"),
        arrived=arrived,
    )
