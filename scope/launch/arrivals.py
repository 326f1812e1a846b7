"""Who was where when a case was ended from outside: the ranks that waited, and the ones they waited for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scope.launch.diagnosis import Death
from scope.launch.progress import Slot

SILENCE_S = 2.5
"""A rank renews its slot every half second; one that is silent for so long does not run."""


@dataclass(frozen=True)
class Arrival:
    """What one rank was doing; the shape of `samples.records.Arrival`."""

    rank: int
    host: str
    pid: int
    stage: str
    repetition: int
    last_sign_s: float
    state: str
    arrived: bool

    def record(self) -> dict[str, Any]:
        """Return it as a part of a case's record."""
        return dict(vars(self))

    def __str__(self) -> str:
        return f"rank {self.rank} on {self.host} ({self.state})"


def judge(
    ranks: int,
    slots: Mapping[int, Slot],
    silence_s: Mapping[int, float],
    states: Mapping[int, str],
    death: Death | None = None,
) -> list[Arrival]:
    """Return every rank with whether it arrived where the others waited.

    `silence_s` is how long ago each rank last renewed its slot, `states` what its kernel says of it. A rank did
    not arrive when it never appeared, died, is stopped or fell silent. Where none did, the ranks behind the most
    advanced one are late; where all are equally far, the one that sleeps while others spin in a call.
    """
    suspects = {rank for rank in range(ranks) if _absent(rank, slots, silence_s, states, death)}
    if not suspects:
        furthest = max(slot.advance for slot in slots.values())
        suspects = {rank for rank, slot in slots.items() if slot.advance < furthest}
    if not suspects and {"running", "sleeping"} <= set(states.values()):
        suspects = {rank for rank, word in states.items() if word == "sleeping"}
    return [_arrival(rank, slots.get(rank), silence_s, states, rank not in suspects) for rank in range(ranks)]


def missing(arrivals: list[Arrival]) -> str:
    """Name the ranks that did not arrive, and their hosts."""
    late = [str(arrival) for arrival in arrivals if not arrival.arrived]
    if not late:
        return "all ranks were alive and equally far"
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
    if death is not None:  # the launcher ended all others itself: only its word tells who was first
        return rank == death.rank or (death.pid is not None and slots[rank].pid == death.pid)
    return states.get(rank) in ("stopped", "gone") or silence_s.get(rank, 0.0) > SILENCE_S


def _arrival(
    rank: int, slot: Slot | None, silence_s: Mapping[int, float], states: Mapping[int, str], arrived: bool
) -> Arrival:
    if slot is None:
        return Arrival(rank, "unknown", 0, "connecting", 0, 0.0, "unknown", False)
    return Arrival(
        rank=rank,
        host=slot.host,
        pid=slot.pid,
        stage=slot.stage,
        repetition=slot.repetition,
        last_sign_s=round(silence_s.get(rank, 0.0), 3),
        state=states.get(rank, "unknown"),
        arrived=arrived,
    )
