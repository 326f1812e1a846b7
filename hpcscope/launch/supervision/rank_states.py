"""Where each rank was when a case was ended from outside, and which ranks the others waited for."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hpcscope.launch.diagnosis import Death, ended
from hpcscope.launch.supervision.progress import Slot
from hpcscope.names import several
from hpcscope.samples.records import RankState

SILENCE_S = 2.5
"""A rank renews its slot every half second; one that has not done so for this long is not running."""


def rank_states(
    ranks: int,
    slots: Mapping[int, Slot],
    silence_s: Mapping[int, float],
    states: Mapping[int, str],
    death: Death | None = None,
) -> list[RankState]:
    """Return the state of every rank and whether it arrived where the others waited.

    `silence_s` is the time since each rank last renewed its slot, `states` the kernel's state of its process. A
    rank is missing if it never appeared, died, is stopped or is silent. If none of this applies and the case was
    ended from outside, ranks behind the most advanced one are missing; if all are equally advanced, ranks that
    sleep while others spin in a call. After a death, slots show only when each rank last wrote its slot.
    """

    def absent(rank: int) -> bool:
        if rank not in slots:
            return True
        if death is not None:
            # The launcher killed all other ranks itself: only its message tells which died first.
            return rank in death.ranks
        return states.get(rank) in ("stopped", "gone") or silence_s.get(rank, 0.0) > SILENCE_S

    def state(rank: int, arrived: bool) -> RankState:
        slot = slots.get(rank) or Slot(
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

    missing = set(filter(absent, range(ranks)))
    if not missing and death is None:
        furthest = max(slot.advance for slot in slots.values())
        missing = {rank for rank, slot in slots.items() if slot.advance < furthest}
    if not missing and death is None and {"running", "sleeping"} <= set(states.values()):
        missing = {rank for rank, word in states.items() if word == "sleeping"}
    return [state(rank, rank not in missing) for rank in range(ranks)]


def named(death: Death, slots: Mapping[int, Slot], order: Sequence[int]) -> Death:
    """Return a death with its rank if the launcher named processes instead.

    `order`: the ranks in the order in which this host saw them end. The launcher kills the others only after one
    has died, perhaps with the same signal: so the rank is the first to end of those that it may be.
    """
    # Two hosts may use the same number; the launcher may name a host differently than the host names itself.
    known = [slot for slot in slots.values() if slot.pid == death.pid]
    process = min(known, key=lambda slot: slot.host != death.host, default=None)
    if process is None or not death.statuses:
        return death
    on_host = sorted(rank for rank, slot in slots.items() if slot.host == process.host)
    first = on_host.index(process.rank)
    statuses = {
        on_host[first + places]: status
        for places, status in death.statuses.items()
        if 0 <= first + places < len(on_host)
    }
    ranks = [rank for rank in order if rank in statuses][:1] or list(statuses)
    told = [f"rank {rank} on {slots[rank].host} (pid {slots[rank].pid}) {ended(statuses[rank])}" for rank in ranks]
    unknown = "; the launcher does not say which rank was first" if len(ranks) > 1 else ""
    return replace(death, text=several(told) + unknown, ranks=tuple(ranks), host=process.host)


def missing_ranks(states: list[RankState]) -> str:
    """Name the ranks that did not arrive, with their hosts."""
    late = [str(state) for state in states if not state.arrived]
    if not late:
        return "all ranks were alive and had made the same progress"
    return "did not arrive: " + ", ".join(late[:8]) + (f" and {len(late) - 8} more" if len(late) > 8 else "")
