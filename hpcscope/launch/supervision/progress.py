"""The progress file of a launch: one slot of 256 bytes per rank, renewed twice a second by the rank itself."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from hpcscope.launch import processes

SLOT_BYTES = 256


@dataclass(frozen=True)
class Slot:
    """The progress that one rank reports."""

    rank: int
    host: str
    pid: int
    position: int
    """The position of the case in its launch."""
    stage: str
    """`connecting`, `synchronizing-clocks`, `preparing`, `warming-up`, `sampling`, `verifying`, `writing` or
    `finished`."""
    repetition: int
    heartbeat_unix_s: float

    @property
    def advance(self) -> tuple[int, int]:
        """How far the rank has come: case and repetition."""
        return self.position, self.repetition


def read(path: Path) -> list[Slot]:
    """Return the filled slots; one that is being written is left out."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    slots = (data[start : start + SLOT_BYTES] for start in range(0, len(data), SLOT_BYTES))
    return [slot for text in slots if (slot := _parse(text)) is not None]


@dataclass
class Watch:
    """When each rank last gave a sign of life, by the clock of this process (hosts' clocks may differ)."""

    path: Path
    slots: dict[int, Slot] = field(default_factory=dict)
    seen_s: dict[int, float] = field(default_factory=dict)
    _ends: processes.Ends = field(default_factory=processes.Ends)

    def __enter__(self) -> Self:
        """Watch until the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Watch no more."""
        self._ends.close()

    @property
    def argument(self) -> str:
        """The argument that identifies every process of the launch."""
        return f"--progress={self.path}"

    def ended(self) -> list[int]:
        """Return the ranks of this host that have ended, in the order in which they did."""
        return self._ends.order()

    def read(self, now_s: float) -> None:
        """Update the slots as they are at `now_s`."""
        for slot in read(self.path):
            if self.slots.get(slot.rank) != slot:
                if slot.rank not in self.slots and slot.host == os.uname().nodename:
                    self._ends.watch(slot.rank, slot.pid, self.argument)
                self.slots[slot.rank] = slot
                self.seen_s[slot.rank] = now_s


def _parse(text: bytes) -> Slot | None:
    try:
        fields = dict(word.split("=", 1) for word in text.decode().split())
        return Slot(
            rank=int(fields["rank"]),
            host=fields["host"],
            pid=int(fields["pid"]),
            position=int(fields["position"]),
            stage=fields["stage"],
            repetition=int(fields["repetition"]),
            heartbeat_unix_s=float(fields["beat_unix_s"]),
        )
    except (ValueError, KeyError):
        return None
